"""Reads trace files: results of a check as JSON, and files in the Informal Trace Format (ITF).

A file is only data. It is checked part by part, and never run or imported. The name of a model in the file is only
text. The caller decides which model is used.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final, Literal, NoReturn

from isrcheck.checker.results.result import FORMAT, Step, Trace
from isrcheck.checker.trace import itf
from isrcheck.model.language.domains import Domain
from isrcheck.model.language.errors import UnknownName, nearest
from isrcheck.model.language.fairness import Fairness
from isrcheck.model.semantics.interpreter import Interpreter
from isrcheck.model.semantics.transition_system import Label

LARGEST_FILE: Final = 64 * 2**20
LONGEST_TRACE: Final = 100_000

Claim = Literal["violation", "refinement", "liveness", "deadlock", "evaluation", "path"]
CLAIMS: Final[tuple[Claim, ...]] = ("violation", "refinement", "liveness", "deadlock", "evaluation", "path")
Read = Callable[[Domain, Any], Any]


def from_json(domain: Domain, data: Any) -> Any:
    """The value that the JSON data of a result represents in a domain."""
    return domain.from_json(data)


class DamagedFile(Exception):
    """Raised for a file that is damaged or not of the expected kind, with the reason in one line."""


@dataclass(frozen=True)
class RecordedTrace:
    """A recorded trace, in the form that it has in its file.

    `claim` says what the trace shows. `name` is the violated invariant, refinement or property, or None for other
    claims. `states` has an object for each state: the values of the state and, if the file gives them, the action and
    its parameters. `read` turns a value in the file into a value of a domain. For an evaluation error, `failing` has
    the action instance that is undefined in the last state. `failing` is None if a predicate is undefined there.
    Only a liveness property has `loop` (the position from 0 of the state where the loop of a lasso starts), `choice`
    (the values of the property's parameters) and `fairness`.
    """

    claim: Claim
    name: str | None
    states: tuple[dict[str, Any], ...]
    failing: dict[str, Any] | None
    read: Read
    loop: int | None = None
    choice: tuple[tuple[str, Any], ...] = ()
    fairness: Fairness = field(default_factory=Fairness)

    @property
    def title(self) -> str:
        return self.name or self.claim


@dataclass(frozen=True)
class Against:
    """The specification that a recorded refinement is about: its name, its settings, and the mapping.

    `at_most` is the most steps of the specification that one step of the model may represent, or None for any number.
    """

    specification: str
    settings: dict[str, Any]
    mapping: str
    at_most: int | None


@dataclass(frozen=True)
class TraceFile:
    """The traces of a file. `model` and `settings` are None if the file does not give them.

    `against` is set only for traces that a check of a refinement has found.
    """

    form: Literal["result", "ITF"]
    model: str | None
    settings: dict[str, Any] | None
    traces: tuple[RecordedTrace, ...]
    against: Against | None = None


def read(path: Path) -> TraceFile:
    """The traces of a file. The result of a check without a counterexample has no traces.

    Raises OSError if the file cannot be read, `DamagedFile` if it is not a trace file or is too large.
    """
    with path.open("rb") as file:
        content = file.read(LARGEST_FILE + 1)
    if len(content) > LARGEST_FILE:
        raise DamagedFile(f"it is larger than {LARGEST_FILE // 2**20} MiB")
    return recognised(content)


def recognised(content: bytes) -> TraceFile:
    """The traces of a file with this content. Raises `DamagedFile` if the content is not a trace file."""
    data = parsed(content)
    if isinstance(data, dict) and "states" in data and "vars" in data:
        return _itf_file(data)
    if isinstance(data, dict) and "invariants" in data and "format" in data:
        return _result_file(data)
    raise DamagedFile("it is neither an isrcheck result nor an ITF trace")


def parsed(content: bytes) -> Any:
    try:
        return json.loads(content.decode("utf-8"), parse_constant=_no_constant, object_pairs_hook=_object)
    except json.JSONDecodeError as error:
        raise DamagedFile(f"it is not JSON: {error.msg} at line {error.lineno}, column {error.colno}") from None
    except RecursionError:
        raise DamagedFile("it is nested too deeply") from None
    except UnicodeDecodeError:
        raise DamagedFile("it is not UTF-8 text") from None
    except ValueError as error:
        raise DamagedFile(f"it is not JSON: {error}") from None


def _no_constant(name: str) -> NoReturn:
    raise ValueError(f"{name} is not a JSON number")


def _object(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) < len(pairs):
        raise ValueError("an object has a duplicate key")
    return found


def _typed(data: dict[str, Any], key: str, kind: type, where: str) -> Any:
    """The entry `key` of an object. Raises `DamagedFile` if the entry is missing or has another type."""
    names: dict[type, str] = {dict: "an object", list: "a list", str: "a string"}
    if not isinstance(data.get(key), kind):
        raise DamagedFile(f"{where}{key} is missing or not {names[kind]}")
    return data[key]


# --- results --------------------------------------------------------------------------------------------------------


def _result_file(data: dict[str, Any]) -> TraceFile:
    _known_format(data["format"])
    found = []
    against = _against(data["refinement"], "refinement") if "refinement" in data else None
    for name, outcome in _typed(data, "invariants", dict, "").items():
        found += _recorded_invariant(
            "violation" if against is None else "refinement", name, outcome, f"invariants.{name}"
        )
    for name, outcome in _optional(data, "liveness").items():
        found += _lasso(name, outcome, data.get("fairness"))
    found += _recorded_invariant("deadlock", None, data.get("deadlock", {}), "deadlock")
    if "evaluation_error" in data:
        failure = _typed(data, "evaluation_error", dict, "")
        found.append(_recorded_trace("evaluation", None, failure, "evaluation_error", failure))
    model, settings = _typed(data, "model", str, ""), _typed(data, "settings", dict, "")
    return TraceFile("result", model, settings, tuple(found), against)


def _against(data: Any, where: str) -> Against:
    if not isinstance(data, dict):
        raise DamagedFile(f"{where} is not an object")
    at_most = data.get("at_most")
    if at_most is not None and not (type(at_most) is int and at_most > 0):
        raise DamagedFile(f"{where}.at_most is {at_most!r}, which is not a number of steps")
    specification, mapping = (_typed(data, name, str, f"{where}.") for name in ("specification", "mapping"))
    return Against(specification, _typed(data, "specification_settings", dict, f"{where}."), mapping, at_most)


def _known_format(form: Any) -> None:
    if form != FORMAT or isinstance(form, bool):
        raise DamagedFile(f"its format is {form!r}; this version of isrcheck reads format {FORMAT}")


def _recorded_invariant(claim: Claim, name: str | None, outcome: Any, where: str) -> list[RecordedTrace]:
    if not isinstance(outcome, dict):
        raise DamagedFile(f"{where} is not an object")
    return [_recorded_trace(claim, name, outcome, where, None)] if outcome.get("verdict") == "violated" else []


def _optional(data: dict[str, Any], key: str) -> dict[str, Any]:
    return _typed(data, key, dict, "") if key in data else {}


def _lasso(name: str, outcome: Any, fairness: Any) -> list[RecordedTrace]:
    where = f"liveness.{name}"
    if not isinstance(outcome, dict):
        raise DamagedFile(f"{where} is not an object")
    if outcome.get("verdict") != "violated":
        return []
    lasso = _typed(outcome, "lasso", dict, f"{where}.")
    states = [*_typed(lasso, "prefix", list, f"{where}.lasso."), *_typed(lasso, "cycle", list, f"{where}.lasso.")]
    _long_enough(states, f"{where}.lasso")
    about = {"choice": outcome.get("choice"), "fairness": fairness}
    return [_recorded_property(name, states, lasso.get("loop"), about, from_json, where)]


def _recorded_property(
    name: str, states: list[Any], loop: Any, about: dict[str, Any], read: Read, where: str
) -> RecordedTrace:
    """The recorded lasso. `about` has the values of the property's parameters (`choice`), and the fairness."""
    if loop is not None and not (type(loop) is int and 0 <= loop < len(states)):
        raise DamagedFile(f"{where}: loop is {loop!r}, which is not the position of a state")
    choice = about.get("choice")
    if not isinstance(choice, dict):
        raise DamagedFile(f"{where}: its choice of parameters is missing")
    try:
        fairness = Fairness.from_json(about.get("fairness"))
    except ValueError as error:
        raise DamagedFile(f"{where}: {error}") from None
    return RecordedTrace("liveness", name, tuple(states), None, read, loop, tuple(choice.items()), fairness)


def _recorded_trace(
    claim: Claim, name: str | None, holder: dict[str, Any], where: str, failing: dict[str, Any] | None
) -> RecordedTrace:
    states = _typed(holder, "trace", list, f"{where}.")
    _long_enough(states, f"{where}.trace")
    failing = failing if failing is not None and failing.get("action") is not None else None
    return RecordedTrace(claim, name, tuple(states), failing, from_json)


def _long_enough(states: list[Any], where: str) -> None:
    if not states or len(states) > LONGEST_TRACE:
        raise DamagedFile(f"{where} has {len(states)} states; a trace has 1 to {LONGEST_TRACE}")
    for i, state in enumerate(states, 1):
        if not isinstance(state, dict):
            raise DamagedFile(f"{where}: state {i} is not an object")


# --- ITF ------------------------------------------------------------------------------------------------------------


def _itf_file(data: dict[str, Any]) -> TraceFile:
    states = _typed(data, "states", list, "")
    _long_enough(states, "states")
    meta = data.get("#meta", {})
    about = meta.get("isrcheck") if isinstance(meta, dict) else None
    if data.get("loop") is not None and about is None:
        raise DamagedFile(
            "it is a lasso (loop) from another tool and does not name its property; isrcheck replays "
            "only its own lassos"
        )
    rows = tuple(_itf_state(state, i, about is not None) for i, state in enumerate(states, 1))
    if about is None:
        return TraceFile("ITF", None, None, (RecordedTrace("path", None, rows, None, itf.decoded),))
    if not isinstance(about, dict):
        raise DamagedFile("#meta.isrcheck is not an object")
    _known_format(about.get("format"))
    claim, name = about.get("claim"), about.get("name")
    named = claim in ("violation", "refinement", "liveness")
    if claim not in CLAIMS or not isinstance(name, str | None) or named != (name is not None):
        raise DamagedFile("#meta.isrcheck does not say why the trace was recorded")
    failing = about if about.get("action") is not None else None
    where = "#meta.isrcheck."
    recorded = RecordedTrace(claim, name, rows, failing, itf.decoded)
    if claim == "liveness":
        recorded = _recorded_property(str(name), list(rows), data.get("loop"), about, itf.decoded, where)
    model, settings = _typed(about, "model", str, where), _typed(about, "settings", dict, where)
    against = _against(about["refinement"], f"{where}refinement") if "refinement" in about else None
    if claim == "refinement" and against is None:
        raise DamagedFile("#meta.isrcheck does not name the specification of the trace (refinement)")
    return TraceFile("ITF", model, settings, (recorded,), against)


def _itf_state(state: dict[str, Any], position: int, ours: bool) -> dict[str, Any]:
    """Turns an ITF state into the form of a result: an object with `state` (the values), `action` and `parameters`.

    The action and its parameters are read only if isrcheck has written the file (`ours`).
    """
    values = {name: value for name, value in state.items() if not name.startswith("#")}
    if not ours:
        return {"state": values}
    meta = state.get("#meta")
    if not isinstance(meta, dict):
        raise DamagedFile(f"state {position} has no #meta object")
    return {"state": values, **{key: meta[key] for key in ("action", "parameters") if key in meta}}


# --- against a model ------------------------------------------------------------------------------------------------


def decoded(interpreter: Interpreter, recorded: RecordedTrace) -> Trace:
    """A recorded trace with values of the model's domains. A step has no label if the file names no action.

    Raises `UnknownName` for variables, actions, parameters and values that the model does not have, and for missing
    variables and parameters. Raises `DamagedFile` if an entry has the wrong type.
    """
    domains = interpreter.model.domains
    steps = []
    for i, entry in enumerate(recorded.states, 1):
        state = _values(domains, entry.get("state"), recorded.read, f"state {i}")
        named = i > 1 and "action" in entry
        label = label_of(interpreter, entry, f"state {i}") if named else None
        steps.append(Step(label, None, state))
    return Trace(tuple(domains.items()), tuple(steps), recorded.loop)


def label_of(interpreter: Interpreter, entry: dict[str, Any], where: str) -> Label:
    """The label with the action and the parameters of `entry`."""
    action, parameters = entry.get("action"), entry.get("parameters", {})
    if not isinstance(action, str) or not isinstance(parameters, dict):
        raise DamagedFile(f"{where}: action is not a string, or parameters is not an object")
    if action not in interpreter.actions:
        raise UnknownName(f"{where}: there is no action {action!r}; {nearest(action, interpreter.actions)}")
    domains = interpreter.model.parameter_domains(interpreter.model.actions()[action])
    values = _values(domains, parameters, from_json, f"{where}: {action}")
    return Label(action, tuple(zip(domains, values, strict=True)), tuple(domains.values()))


def _values(domains: dict[str, Domain], data: Any, read: Read, where: str) -> tuple[Any, ...]:
    if not isinstance(data, dict):
        raise DamagedFile(f"{where}: its values are missing or not an object")
    for name in data:
        if name not in domains:
            raise UnknownName(f"{where}: the model has no {name!r} here; {nearest(name, domains)}")
    for name in domains:
        if name not in data:
            raise UnknownName(f"{where}: {name} is missing")
    found = []
    for name, domain in domains.items():
        try:
            found.append(read(domain, data[name]))
        except (ValueError, RecursionError) as error:
            raise UnknownName(f"{where}: {name}: {error or 'nested too deeply'}") from None
    return tuple(found)
