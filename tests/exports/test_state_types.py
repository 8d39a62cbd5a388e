"""`isrcheck models MODEL --types` writes the types of a model's state for editors and type checkers."""

from __future__ import annotations

import subprocess
import sys
import typing
from pathlib import Path
from typing import Any

import pytest

from isrcheck.checker.export.state_class import state_types as class_of_states
from isrcheck.checker.registry.loader import load_model_class, model_names
from isrcheck.model.language import domains, state_types
from isrcheck.model.language.text_conditions import WORDS
from isrcheck.model.semantics.symbolic import structures, terms
from tests.cli.running import run
from tests.designs.shipped import OF_SHARED_PARTS

ROOT = Path(__file__).parent.parent.parent
MODEL = """
from __future__ import annotations

from typing import TYPE_CHECKING, Any

from isrcheck import Model, action, bag, broker, channel, enum, flag, messages, number, optional, per, record, sequence
from isrcheck import set_of, setting

if TYPE_CHECKING:
    from typed_state import EveryState


class Every(Model):
    '''A model with a variable of each kind.'''

    replicas = setting(2, at_least=1, at_most=3, counts=broker, meaning="brokers")

    def variables(self) -> dict[str, Any]:
        entry = record(id=number(0, 3), by=optional(broker))
        return {
            "state": record(role=enum("leader", "none"), log=sequence(entry, 2), up=flag),
            "known": per(broker, per(number(0, 1), entry)),
            "isr": set_of(broker),
            "sent": messages(number(0, 3)),
            "flying": bag(entry, 2),
            "coming": channel(number(0, 3), 2),
        }

    @action(b=broker, actor="b")
    def go(self, s: EveryState, b: Any) -> None:
        '''Everything changes.'''
        s.require(s.state.role == "none", ~s.state.up | (s.known[b][0].id < 3), s.isr.has(b))
        s.state.role = "leader"
        s.state.log.append({"id": s.known[b][1].id, "by": b})
        s.known[b][0].id += 1
        s.isr = s.isr - {b}
        s.sent.add(2)
        s.flying.put({"id": s.coming.head, "by": b})
        s.coming.take()
"""
TYPES = '''"""The state of Every, for editors and type checkers, as `isrcheck models every.py --types` writes it."""

from __future__ import annotations

from typing import Any

from isrcheck.model.language.scalarset_members import BrokerId, NoBroker
from isrcheck.model.language.state_types import (
    Bag,
    Broker,
    Brokers,
    Channel,
    Flag,
    Messages,
    Name,
    Number,
    Per,
    Place,
    Sequence,
    State,
    Value,
)


class StateLogRecord(Value):
    """A record: id, by."""

    id: Place[Number, int]
    by: Place[Broker, BrokerId | NoBroker | None]


class StateRecord(Value):
    """A record: role, log, up."""

    role: Place[Name, str]
    log: Place[Sequence[StateLogRecord], list[Any]]
    up: Place[Flag, bool]


class KnownRecord(Value):
    """A record: id, by."""

    id: Place[Number, int]
    by: Place[Broker, BrokerId | NoBroker | None]


class FlyingRecord(Value):
    """A record: id, by."""

    id: Place[Number, int]
    by: Place[Broker, BrokerId | NoBroker | None]


class EveryState(State):
    """The variables in each state of Every."""

    state: Place[StateRecord, dict[str, Any]]
    known: Place[Per[Broker | BrokerId, Per[Number | int, KnownRecord]], Any]
    isr: Place[Brokers, set[Any] | frozenset[Any]]
    sent: Place[Messages[Number], Any]
    flying: Place[Bag[FlyingRecord], list[Any]]
    coming: Place[Channel[Number], list[Any]]
'''


@pytest.fixture
def file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    path = tmp_path / "every.py"
    path.write_text(MODEL)
    return path


def test_a_variable_of_each_kind(file: Path) -> None:
    said = run("models", "every.py", "--types")
    assert (said.code, said.err, said.out) == (0, "", TYPES)


@pytest.mark.parametrize(
    "options",
    [
        ("--types",),
        ("x.py", "--types", "--json"),
        ("kip-320", "-s", "replicas=2"),
        ("kip-320", "--as", "State"),
        ("v1", "v2"),
        ("v1", "v2", "--types"),
        ("v1", "v2", "--types", "--as", "Both", "-s", "replicas=2"),
        ("v1", "--types", "--as", "my state"),
        ("v1", "--types", "--as", "class"),
        ("v1", "--types", "--as", "State"),
    ],
)
def test_options_that_do_not_go_together(options: tuple[str, ...]) -> None:
    assert run("models", *options).code == 2


def test_settings_decide_which_variables_there_are() -> None:
    assert "assignment:" in run("models", "v3", "--types").out
    assert "assignment:" not in run("models", "v3", "--types", "-s", "replicas=2").out
    assert "assignment:" in run("models", "v3", "--types", "-s", "reassignments=1").out
    assert run("models", "v3", "--types", "-s", "reassignments=-1").code == 150


def test_an_identity_has_no_order() -> None:
    assert "version: Place[Value, int]" in run("models", "v3", "--types", "-s", "versions=identity").out


def test_one_class_for_models_that_share_methods() -> None:
    text = run("models", "truncate-to-hw", "async-isr", "--types", "--as", "AnyState").out
    assert "The variables in each state of any of truncate-to-hw, async-isr." in text
    last = text[text.index("class AnyState(State):") :]
    assert [line.split(":")[0].strip() for line in last.splitlines()[3:]] == [
        *load_model_class("truncate-to-hw").cls().domains,
        *(name for name in load_model_class("async-isr").cls().domains if name != "requests"),
    ]
    assert "    requests: Place[Any, Any]" in last


def test_records_whose_names_would_be_the_same_are_told_apart() -> None:
    one, other = (domains.Record((name,), (domains.Flag(),)) for name in ("here", "there"))
    text = class_of_states("TwoState", "Two", {"a": domains.Record(("b",), (one,)), "aB": other}, "x")
    assert "b: Place[ABRecord, dict[str, Any]]" in text
    assert "aB: Place[ABRecord2, dict[str, Any]]" in text


def names_of(kind: Any, domain: domains.Domain) -> None:
    """Asserts that a type has the fields of a domain, at any depth."""
    if isinstance(domain, domains.Record):
        hints = typing.get_type_hints(kind, vars(state_types) | {kind.__name__: kind} | CLASSES)
        assert list(hints) == list(domain.names)
        for name, part in zip(domain.names, domain.domains, strict=True):
            names_of(typing.get_args(hints[name])[0], part)
    elif isinstance(domain, domains.Per):
        assert typing.get_origin(kind) is state_types.Per
        names_of(typing.get_args(kind)[1], domain.element)
    elif isinstance(domain, domains.Sequence_ | domains.Messages):
        names_of(typing.get_args(kind)[0], domain.element)


CLASSES: dict[str, Any] = {}


@pytest.mark.parametrize("name", model_names())
def test_the_state_of_each_shipped_model(name: str) -> None:
    loaded = load_model_class(name)
    variables = loaded.cls().domains
    CLASSES.clear()
    exec(compile(class_of_states("Class", loaded.name, variables, ""), name, "exec"), CLASSES)
    hints = typing.get_type_hints(CLASSES["Class"], CLASSES)
    assert list(hints) == list(variables)
    for variable, domain in variables.items():
        names_of(typing.get_args(hints[variable])[0], domain)


@pytest.mark.parametrize(
    ("reported", "made"),
    [
        (state_types.Flag, terms.TracedFlag),
        (state_types.Number, terms.TracedNumber),
        (state_types.Broker, terms.TracedBroker),
        (state_types.Brokers, terms.TracedSet),
        (state_types.Sequence, structures.TracedSequence),
        (state_types.Messages, structures.TracedMessages),
        (state_types.Bag, structures.TracedBag),
        (state_types.Channel, structures.TracedChannel),
        (state_types.Per, structures.TracedPer),
    ],
)
def test_types_have_the_operations_of_the_language(reported: type, made: type) -> None:
    ours = {name for name in vars(reported) if not name.startswith("_")}
    theirs = {name for name in dir(made) if not name.startswith("_")}
    assert ours == theirs - {"node", "defined", "domain", "choose"}


def test_conditions_as_text_may_use_every_operation_that_does_not_change_the_state() -> None:
    reading, changing = set(), set()
    for kind in state_types.Value.__subclasses__():
        for name, operation in vars(kind).items():
            if not name.startswith("_"):
                function = operation.fget if isinstance(operation, property) else operation
                returned = typing.get_type_hints(function, vars(state_types))["return"]
                (changing if returned is type(None) else reading).add(name)
    assert changing == {"append", "truncate", "remove_first", "add", "remove", "put", "take"}
    assert reading == WORDS


SLIPS = {
    "s.state.role = 3": "Incompatible types in assignment",
    "s.state.roles": '"StateRecord" has no attribute "roles"',
    "s.known[b][0].id.has(2)": '"Number" has no attribute "has"',
    "s.isr.length": '"Brokers" has no attribute "length"',
    "s.nothing = 1": '"EveryState" has no attribute "nothing"',
    "s.require(s.isr < 3)": "Unsupported",
}


VARIANT = """
from typing import Any

from isrcheck.model.designs import State
from isrcheck.model.designs.v3 import ControllerDesign


class Variant(ControllerDesign):
    def says(self, s: State, p: int, b: Any) -> Any:
        return s.replica[p][b].high_watermark > 0

    def slips(self, s: State, p: int, b: Any) -> Any:
        return s.replica[p][b].high_watermrk > 0
"""


@pytest.mark.exhaustive
def test_a_type_checker_sees_slips_and_nothing_else(file: Path, tmp_path: Path) -> None:
    (tmp_path / "typed_state.py").write_text(TYPES)
    lines = "".join(f"        {slip}\n" for slip in SLIPS)
    file.write_text(MODEL + lines)
    (tmp_path / "mypy.ini").write_text(f"[mypy]\nstrict = True\nfollow_imports = silent\nmypy_path = {ROOT}\n")
    (tmp_path / "variant.py").write_text(VARIANT)
    files = ("every.py", "typed_state.py", "variant.py")
    command = [sys.executable, "-m", "mypy", "--cache-dir", str(tmp_path / "cache"), *files]
    said = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=False).stdout.splitlines()
    first = MODEL.count("\n") + 1
    for number, (slip, message) in enumerate(SLIPS.items(), start=first):
        found = [line for line in said if line.startswith(f"every.py:{number}: ")]
        assert len(found) == 1, (slip, said)
        assert message in found[0]
    line = VARIANT[: VARIANT.index("watermrk")].count("\n") + 1
    of_design = [each for each in said if each.startswith("variant.py:")]
    assert len(of_design) == 1
    slip = '"ReplicaRecord" has no attribute "high_watermrk"; maybe "high_watermark"?'
    assert of_design[0].startswith(f"variant.py:{line}: error: {slip}")
    assert said[-1].startswith(f"Found {len(SLIPS) + 1} errors in 2 files")


KEPT = {
    "published/kip_320_state.py": ("kip-320", "--types"),
    "published/async_isr_state.py": ("async-isr", "--types"),
    "designs/state.py": ("v1", "v2", "v3", "alter-isr", "majority", "primary-backup", "--types", "--as", "DesignState"),
    "designs/kraft/state.py": ("kraft", "--types"),
}


@pytest.mark.parametrize("file", KEPT)
def test_types_that_are_kept_are_those_of_the_model(file: str) -> None:
    assert {*OF_SHARED_PARTS} <= {*KEPT["designs/state.py"]}, f"name the new design in KEPT of {__name__}"
    command = f"isrcheck models {' '.join(KEPT[file])}"
    assert (ROOT / "model" / file).read_text() == run("models", *KEPT[file]).out, f"{command} > model/{file}"
