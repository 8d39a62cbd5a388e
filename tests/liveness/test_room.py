"""Shipped designs mark requirements that exist only for the search: otherwise a bound looks like a stuck protocol."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path

import pytest

from isrcheck.checker.registry.loader import load_model_class
from isrcheck.model.semantics.expressions import FALSE
from isrcheck.model.semantics.tracing import trace

DESIGNS = Path(__file__).parents[2] / "model/designs"
BOUNDS = frozenset({"max_leader_epoch", "max_version", "max_controller_epoch", "is_full"})
"""Names that requirements about the room of a search read: greatest numbers, and full channels, logs and queues."""
OF_THE_PROTOCOL = "v2_queues.py"
"""In this file a full queue makes the sender wait or drops a message, which is part of the protocol."""


def unmarked(path: Path) -> Iterator[str]:
    """`line: text` of each argument of `require` that reads a bound outside `s.room`, except in environment actions."""
    tree = ast.parse(path.read_text())
    for function in ast.walk(tree):
        if not isinstance(function, ast.FunctionDef) or "environment=True" in decorations(function):
            continue
        for call in ast.walk(function):
            if isinstance(call, ast.Call) and isinstance(call.func, ast.Attribute) and call.func.attr == "require":
                for argument in call.args:
                    names = {x.attr for x in ast.walk(argument) if isinstance(x, ast.Attribute)}
                    if names & BOUNDS and "room" not in names:
                        yield f"{path.name}:{argument.lineno}: {ast.unparse(argument)}"


def decorations(function: ast.FunctionDef) -> str:
    return " ".join(ast.unparse(each) for each in function.decorator_list)


def test_no_healing_action_of_a_design_is_stopped_by_a_bound_that_is_not_marked_as_room() -> None:
    found = [line for path in sorted(DESIGNS.rglob("*.py")) for line in unmarked(path)]
    assert {line.partition(":")[0] for line in found} == {OF_THE_PROTOCOL}, found


CUT = {
    "v1": {"create-leader-node"},
    "v2": {"create-leader-node", "read-epoch"},
    "v3": {"expand-isr", "on-broker-change", "on-broker-change-without-leader", "shrink-isr"},
    "alter-isr": {"grant-alter-isr", "on-broker-change", "on-broker-change-without-leader"},
    "majority": {"stand-for-election", "write-first-record"},
    "primary-backup": {"expand-isr", "shrink-isr"},
}
"""For each design, the actions that lack room at the default settings: those that begin an epoch or write a version."""


@pytest.mark.parametrize("name", CUT)
def test_what_wants_room_is_known(name: str) -> None:
    system = trace(load_model_class(name).cls())
    assert {t.label.action for t in system.transitions if t.cut is not FALSE and not t.environment} == CUT[name]
