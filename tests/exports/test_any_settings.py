"""The variables that models have for all their settings together."""

from __future__ import annotations

import ast
from pathlib import Path
from typing import Any

import pytest

from isrcheck.checker.export.state_class import Unlike, at_any_settings
from isrcheck.checker.registry.loader import load_model_class
from isrcheck.checker.scenarios.scenario import read
from isrcheck.model.language import (
    Model,
    broker,
    conflict,
    enum,
    flag,
    number,
    optional,
    per,
    record,
    sequence,
    setting,
)
from isrcheck.model.language import domains as d
from tests.designs.shipped import OF_SHARED_PARTS as DESIGNS
from tests.scenarios.shipped import FOLDERS

ROOT = Path(__file__).parent.parent.parent


class Switched(Model):
    """Variables behind one setting, behind two, and behind one that does not go with another."""

    abstract = True
    nodes = setting(2, at_least=1, at_most=3, counts=broker, meaning="brokers")
    queue = setting(False, meaning="there is a queue")
    kind = setting("plain", choices=("plain", "numbered"), meaning="what stands in it")
    size = setting(1, at_least=1, at_most=4, meaning="how large it is")
    alone = setting(False, meaning="goes with no other")
    setting_constraints = (conflict("alone", "size", where=lambda m: m.alone and m.size > 1, why="one is enough"),)

    def variables(self) -> dict[str, Any]:
        found: dict[str, Any] = {"holds": per(broker, flag)}
        if self.queue:
            numbers = {"at": number(0, 3)} if self.kind == "numbered" else {}
            places = {"place": number(0, self.size)} if self.size > 1 else {}
            found["queue"] = sequence(record(by=optional(broker), **numbers, **places), self.size)
        if self.alone:
            found["alone"] = flag
        if self.size > 1 and self.queue and self.kind == "plain":
            assert ["nobody asked for this"][self.nodes - 2]
        return found


class Other(Model):
    """Variables of the same names, of which one is another thing."""

    abstract = True

    def variables(self) -> dict[str, Any]:
        queue = sequence(record(kind=enum("a", "b")), 1)
        return {"queue": queue, "holds": per(number(0, 1), flag), "alone": number(0, 1)}


def fields(domain: d.Domain) -> tuple[str, ...]:
    assert isinstance(domain, d.Sequence_)
    assert isinstance(domain.element, d.Record)
    return domain.element.names


def test_what_needs_two_settings_is_found_and_a_clash_hides_nothing() -> None:
    found = at_any_settings([Switched])
    assert list(found) == ["holds", "queue", "alone"]
    assert fields(found["queue"]) == ("by", "at", "place")


def test_parts_of_several_models_are_joined_and_what_differs_is_said() -> None:
    found = at_any_settings([Switched, Other])
    assert fields(found["queue"]) == ("by", "at", "place", "kind")
    assert isinstance(found["alone"], Unlike)
    assert isinstance(found["holds"], d.Per)
    assert isinstance(found["holds"].index, Unlike)
    assert isinstance(found["holds"].element, d.Flag)


def missing(found: d.Domain, domain: d.Domain) -> list[str]:
    """The fields of a domain, at any depth, that another domain does not have."""
    if isinstance(domain, d.Record) and isinstance(found, d.Record):
        known = [(name, part) for name, (_, part) in domain.fields.items() if name in found.names]
        inside = [x for name, part in known for x in missing(found.fields[name][1], part)]
        return [name for name in domain.names if name not in found.names] + inside
    if isinstance(domain, d.Per | d.Sequence_ | d.Messages) and isinstance(found, d.Per | d.Sequence_ | d.Messages):
        return missing(found.element, domain.element)
    return []


@pytest.mark.parametrize(
    "names", [pytest.param(DESIGNS, id="designs", marks=pytest.mark.exhaustive), pytest.param(("kraft",), id="kraft")]
)
def test_nothing_that_a_scenario_of_a_design_has_is_missing(names: tuple[str, ...]) -> None:
    found, asked = at_any_settings([load_model_class(name).cls for name in names]), 0
    for folder in FOLDERS.values():
        scenario = read(folder)
        if scenario.model in names:
            variables = load_model_class(scenario.model).cls(**scenario.settings).domains
            assert not variables.keys() - found.keys(), scenario.name
            assert not [x for name in variables for x in missing(found[name], variables[name])], scenario.name
            asked += 1
    assert asked > 50


def states_read(path: Path) -> list[tuple[str, str]]:
    """The functions of a file with a parameter `s` for the state of a model, each with the annotated type."""
    functions = [f for f in ast.walk(ast.parse(path.read_text())) if isinstance(f, ast.FunctionDef)]
    return [
        (f"{path.name}: {f.name}", ast.unparse(a.annotation))
        for f in functions
        for a in f.args.args
        if a.arg == "s" and a.annotation is not None and (f.returns is None or ast.unparse(f.returns) != "str")
    ]


@pytest.mark.parametrize(
    ("folder", "state", "methods"), [("designs", "State", 400), ("designs/kraft", "KraftState", 80)]
)
def test_methods_of_designs_say_which_state_they_read(folder: str, state: str, methods: int) -> None:
    paths = sorted((ROOT / "model" / folder).glob("*.py"))
    found = [each for path in paths for each in states_read(path)]
    assert len(found) > methods
    assert [each for each in found if each[1] != state] == []
