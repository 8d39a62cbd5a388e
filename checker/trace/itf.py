"""The Informal Trace Format (ITF) of Apalache: writes traces for other tools, and reads traces of other tools.

Format: https://apalache-mc.org/docs/adr/015adr-trace.html. A set is `{"#set": [...]}`, and a variable with a value for
each index is `{"#map": [[key, value], ...]}`. A bag is a `#map` from elements to counts. A sequence is a list, a record
is an object, and the absence of a broker is the string "none". The other data that a replay needs (model, settings,
actions with their parameters) is in the `#meta` objects.
"""

from __future__ import annotations

import json
from typing import Any, Final

from isrcheck.checker.results.result import FORMAT, Result, Trace, counterexample
from isrcheck.model.language.domains import (
    Bag,
    Broker,
    BrokerSet,
    Domain,
    Messages,
    Number,
    Per,
    Record,
    Sequence_,
    Value,
)
from isrcheck.model.semantics.transition_system import Label

DESCRIPTION: Final = "https://apalache-mc.org/docs/adr/015adr-trace.html"
EXACT: Final = 2**53
"""Integers with at least this absolute value are written as `#bigint`. JSON readers may read numbers as doubles."""
NONE: Final = "none"
AGAINST: Final = ("specification", "specification_settings", "mapping", "at_most")
"""The entries of a result's `refinement` that are copied into the file, because a replay needs them."""


def to_itf(
    trace: Trace,
    model: str,
    settings: dict[str, Any],
    claim: str,
    name: str | None = None,
    failing: Label | None = None,
    promised: dict[str, Any] | None = None,
) -> dict[str, Any]:
    """A trace as ITF data. `claim` and `name` say what the trace shows, such as a violation of a named invariant.

    For an evaluation error, `failing` is the instance that is undefined in the last state, if there is one. `promised`
    has further entries that a replay needs. For a property, these are `choice` (the values of its parameters) and
    `fairness`. For a refinement, it is `refinement`, an object with the keys in `AGAINST`. The data of a lasso has
    `loop`, the index (from 0) of a state that equals the last state. The lasso repeats the steps from this state to the
    last state. If `loop` is the index of the last state, the lasso stays in the last state.
    """
    about: dict[str, Any] = {"format": FORMAT, "model": model, "settings": settings, "claim": claim, "name": name}
    if failing is not None:
        about |= {"action": failing.action, "parameters": failing.to_json()}
    about |= promised or {}
    loop = {} if trace.loop is None else {"loop": trace.loop}
    return {
        "#meta": {
            "format": "ITF",
            "format-description": DESCRIPTION,
            "source": model,
            "description": f"{name or claim}, shown by isrcheck",
            "isrcheck": about,
        },
        "params": [],
        "vars": [variable for variable, _ in trace.variables],
        "states": [_state(trace, i) for i in range(trace.length)],
        **loop,
    }


def as_text(data: dict[str, Any]) -> str:
    """ITF data as text, with one line for each key and for each state. So a diff compares traces state by state.

    >>> print(as_text({"vars": ["n"], "states": [{"n": 0}, {"n": 1}]}), end="")
    {
     "vars": ["n"],
     "states": [
      {"n": 0},
      {"n": 1}
     ]
    }
    """
    states = ",\n".join(f"  {json.dumps(state)}" for state in data["states"])
    lines = {key: json.dumps(value) for key, value in data.items()} | {"states": f"[\n{states}\n ]"}
    return "{\n" + ",\n".join(f" {json.dumps(key)}: {value}" for key, value in lines.items()) + "\n}\n"


def _state(trace: Trace, i: int) -> dict[str, Any]:
    step = trace.steps[i]
    meta: dict[str, Any] = {"index": i}
    if step.label is not None:
        meta |= {"action": step.label.action, "parameters": step.label.to_json(), "actor": step.actor}
    values = {name: encoded(d, x) for (name, d), x in zip(trace.variables, step.state, strict=True)}
    return {"#meta": meta, **values}


def encoded(domain: Domain, value: Value) -> Any:
    """A value of a domain as ITF data."""
    match domain:
        case Number():
            return value if -EXACT < value < EXACT else {"#bigint": str(value)}
        case Broker():
            return NONE if value is None else value
        case BrokerSet():
            return {"#set": sorted(value)}
        case Record():
            return {n: encoded(d, x) for n, d, x in zip(domain.names, domain.domains, value, strict=True)}
        case Sequence_():
            return [encoded(domain.element, x) for x in value]
        case Messages():
            return {"#set": [encoded(domain.element, x) for x in domain.elements if x in value]}
        case Bag():
            return {"#map": [[encoded(domain.element, x), value.count(x)] for x in dict.fromkeys(value)]}
        case Per():
            keys = [encoded(domain.index, key) for key in domain.index.values()]
            return {"#map": [[k, encoded(domain.element, x)] for k, x in zip(keys, value, strict=True)]}
        case _:
            return value


def decoded(domain: Domain, data: Any) -> Value:
    """The value that ITF data represents in a domain. Raises `ValueError` if the data represents no value."""
    match domain:
        case Number():
            return domain.from_json(_integer(data))
        case Broker():
            return domain.from_json(None if data == NONE and domain.optional else _integer(data))
        case BrokerSet():
            return domain.from_json([_integer(x) for x in _inside(data, "#set", domain)])
        case Record():
            if not isinstance(data, dict) or set(data) != set(domain.names):
                raise ValueError(f"{data!r} does not have the fields {', '.join(domain.names)}")
            return tuple(decoded(d, data[n]) for n, d in zip(domain.names, domain.domains, strict=True))
        case Sequence_():
            elements = data if isinstance(data, list) else _inside(data, "#tup", domain)
            return _fitting(domain, tuple(decoded(domain.element, x) for x in elements))
        case Messages():
            return frozenset(decoded(domain.element, x) for x in _inside(data, "#set", domain))
        case Bag():
            return _bag(domain, data)
        case Per():
            return _per(domain, data)
        case _:
            return domain.from_json(data)


def _integer(data: Any) -> Any:
    if not (isinstance(data, dict) and set(data) == {"#bigint"}):
        return data
    text = data["#bigint"]
    if not isinstance(text, str) or not text.isascii() or not text.removeprefix("-").isdecimal():
        raise ValueError(f"{data!r} is not an integer")
    return int(text)


def _inside(data: Any, key: str, domain: Domain) -> list[Any]:
    if not isinstance(data, dict) or set(data) != {key} or not isinstance(data[key], list):
        raise ValueError(f'{data!r} is not {domain}: write {{"{key}": [...]}}')
    inside: list[Any] = data[key]
    return inside


def _fitting(domain: Domain, value: Value) -> Value:
    if not domain.contains(value):
        raise ValueError(f"{len(value)} elements are not {domain}")
    return value


def _bag(domain: Bag, data: Any) -> Value:
    """A bag from a map that says how often each element occurs, as the libraries of TLA+ represent bags."""
    pairs = [(decoded(domain.element, key), _integer(times)) for key, times in _pairs(domain, data)]
    if not all(isinstance(times, int) and not isinstance(times, bool) and times > 0 for _, times in pairs):
        raise ValueError(f"{data!r} is not {domain}: write how often each element occurs")
    if len({x for x, _ in pairs}) < len(pairs):
        raise ValueError(f"{data!r} has a duplicate element")
    return _fitting(domain, domain.of(x for x, times in pairs for _ in range(min(times, domain.capacity + 1))))


def _per(domain: Per, data: Any) -> Value:
    pairs = _pairs(domain, data)
    found = {decoded(domain.index, key): decoded(domain.element, value) for key, value in pairs}
    if len(found) < len(pairs) or set(found) != set(domain.index.values()):
        raise ValueError(f"{data!r} does not have each index once: {domain.index}")
    return tuple(found[key] for key in domain.index.values())


def _pairs(domain: Domain, data: Any) -> list[Any]:
    pairs = _inside(data, "#map", domain)
    if not all(isinstance(pair, list) and len(pair) == 2 for pair in pairs):
        raise ValueError(f"{data!r} is not a map: each element is [key, value]")
    return pairs


def itf_of(result: Result) -> dict[str, Any] | None:
    """The counterexample that `counterexample` chooses from a result, as ITF data. None if the result has none."""
    found = counterexample(result)
    if found is None:
        return None
    claim, name, trace = found
    promised, failing = dict[str, Any](), None
    if claim == "liveness":
        assert name is not None and result.fairness is not None
        promised = {"choice": dict(result.liveness[name].choice), "fairness": result.fairness.to_json()}
    if "refinement" in result.extra:
        promised["refinement"] = {k: result.extra["refinement"][k] for k in AGAINST}
        claim = "refinement" if claim == "violation" else claim
    if claim == "evaluation":
        assert result.evaluation is not None
        failing = result.evaluation.label
    settings = result.recorded_settings
    return to_itf(trace, result.model, settings, claim, name, failing=failing, promised=promised or None)
