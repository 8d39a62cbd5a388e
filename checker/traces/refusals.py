"""Explains why a model does not allow an action instance in a state: the false requirement and the values it reads."""

from __future__ import annotations

import ast
import linecache
import sys
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from types import CodeType, FrameType, TracebackType
from typing import Any, Final

import isrcheck.model.language
from isrcheck.checker.wording.values import text_of
from isrcheck.model.language.concrete import ConcreteState, Disabled
from isrcheck.model.language.domains import Domain, Record
from isrcheck.model.language.model import Model
from isrcheck.model.language.plain import CONCRETE, State, Undefined
from isrcheck.model.language.room import Room

LANGUAGE: Final = str(Path(isrcheck.model.language.__file__).parent)
Span = tuple[int, int, int, int]
"""A place in a source file: first line, first column, last line, last column."""


@dataclass(frozen=True)
class Unmet:
    """A condition of `require` that is false: its `file:line`, its text, and the parts of the state that it reads."""

    where: str
    condition: str
    values: tuple[tuple[str, str], ...]


def is_instance(model: Model, state: State, method: Callable[..., Any], arguments: list[Any]) -> bool:
    """Whether an action instance exists, enabled or not. An instance exists if it requires or assigns something."""
    s = ConcreteState(model, state, writable=True)
    try:
        method(model, s, *arguments)
    except Disabled:
        return True
    return s._acts


def unmet_requirement(model: Model, state: State, method: Callable[..., Any], arguments: list[Any]) -> Unmet | None:
    """The first requirement of an instance that is false in a state, or None if no requirement is false."""
    s, notes = ConcreteState(model, state, writable=True), _Notes()
    s.__dict__["_notes"] = notes
    try:
        method(model, s, *arguments)
    except Disabled as stop:
        traceback = stop.__traceback__
    else:
        return None
    assert traceback is not None
    return _unmet(model, state, traceback, notes)


def _unmet(model: Model, state: State, traceback: TracebackType, notes: _Notes) -> Unmet:
    before = traceback
    while traceback.tb_next is not None:
        before, traceback = traceback, traceback.tb_next
    # The last frame is the frame of `require`. The frame before it belongs to the model.
    frame, code = before.tb_frame, before.tb_frame.f_code
    index, given = _first_false(traceback.tb_frame.f_locals["conditions"])
    node = _argument(code, span_at(code, before.tb_lasti), index, given)
    paths = list(notes) if node is None else notes.inside(frame, node)
    return Unmet(
        where=f"{Path(code.co_filename).name}:{before.tb_lineno if node is None else node.lineno}",
        condition="a condition" if node is None else " ".join(ast.unparse(node).split()),
        values=tuple(_part(model, state, path) for path in paths),
    )


def _first_false(conditions: tuple[Any, ...]) -> tuple[int, int]:
    """The position of the first false condition, and how many conditions there are."""
    for i, condition in enumerate(conditions):
        found = condition._condition if isinstance(condition, Room) else condition
        if not isinstance(found, Undefined) and not getattr(found, "value", found):
            return i, len(conditions)
    raise AssertionError("no condition is false")


class _Notes(dict[Any, None]):
    """The parts of the state that were read, as paths.

    For each path, `places` has the places in the model's code that read this part of the state. A place is a frame and
    the position of an instruction in the frame's code.
    """

    def __init__(self) -> None:
        super().__init__()
        self.places: dict[Any, list[tuple[FrameType, int]]] = {}

    def __setitem__(self, path: Any, nothing: None) -> None:
        super().__setitem__(path, None)
        frame: FrameType | None = sys._getframe(1)
        while frame is not None:
            if not frame.f_code.co_filename.startswith(LANGUAGE):
                self.places.setdefault(path, []).append((frame, frame.f_lasti))
            frame = frame.f_back

    def inside(self, frame: FrameType, node: ast.expr) -> list[Any]:
        """The paths that an expression reads.

        Returns all paths if a local name in the expression stands for a value of the state. Such a value was read
        before the expression, so its path is not known.
        """
        names = {x.id for x in ast.walk(node) if isinstance(x, ast.Name)}
        if any(isinstance(frame.f_locals.get(name), CONCRETE) for name in names):
            return list(self)
        outer = _span(node)
        return [path for path, places in self.places.items() if any(_reads(frame, outer, x) for x in places)]


def _reads(frame: FrameType, outer: Span, place: tuple[FrameType, int]) -> bool:
    if place[0] is not frame:
        return False
    inner = span_at(frame.f_code, place[1])
    return inner is not None and outer[:2] <= inner[:2] and inner[2:] <= outer[2:]


def span_at(code: CodeType, instruction: int) -> Span | None:
    """The place of an instruction in the source file, or None if the place is not known."""
    line, end_line, column, end_column = list(code.co_positions())[instruction // 2]
    if line is None or end_line is None or column is None or end_column is None:
        return None
    return line, column, end_line, end_column


def _span(node: ast.expr) -> Span:
    assert node.end_lineno is not None
    assert node.end_col_offset is not None
    return node.lineno, node.col_offset, node.end_lineno, node.end_col_offset


def _argument(code: CodeType, call: Span | None, index: int, given: int) -> ast.expr | None:
    """The argument at position `index` of the call at the place `call` with `given` arguments. None if not found."""
    try:
        tree = ast.parse("".join(linecache.getlines(code.co_filename)))
    except SyntaxError:
        return None
    for node in ast.walk(tree):
        if isinstance(node, ast.Call) and _span(node) == call and len(node.args) == given:
            return node.args[index]
    return None


def _part(model: Model, state: State, path: tuple[Any, ...]) -> tuple[str, str]:
    """The part of a state at a path: its name and its value. A path is a variable, then positions and fields."""
    name, *steps = path
    domain: Domain = model.domains[name]
    value = state[model.positions[name]]
    text = name
    for step in steps:
        if isinstance(domain, Record):
            position, inner = domain.fields[step]
            text += f".{step}"
        else:
            position, inner = step, domain.element  # type: ignore[attr-defined]
            text += f"[{text_of(domain.index, list(domain.index.values())[step])}]"  # type: ignore[attr-defined]
        domain, value = inner, value[position]
    return text, text_of(domain, value)
