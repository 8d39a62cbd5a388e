"""Compares two models: the text of their functions, and the meaning of their actions."""

from __future__ import annotations

import ast
import copy
import difflib
import hashlib
import linecache
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from types import FunctionType
from typing import Final, Literal

from isrcheck.checker.changes.mutation.edits import definition_of
from isrcheck.checker.changes.mutation.mutants import functions_of
from isrcheck.model.language.model import Model
from isrcheck.model.semantics.expressions import Expression, Leaf, topological
from isrcheck.model.semantics.tracing import trace
from isrcheck.model.semantics.transition_system import TransitionSystem

Statement = ast.FunctionDef | ast.Assign | ast.AnnAssign
Meaning = Literal["new", "gone", "requires otherwise", "does otherwise", "requires and does otherwise"]

LIKE: Final = 0.8
"""The least `_similarity` at which two names count as the old and the new name of one function."""


@dataclass(frozen=True)
class Guard:
    """A condition that an action requires: its text in the file, and its place (`file:line`)."""

    text: str
    where: str


@dataclass(frozen=True)
class ChangedFunction:
    """A function whose text or name differs between two models.

    `name` and `where` are from the new model, and `before` is the name in the old model. `lost` has the guards that are
    only in the old text. `added` has the guards that are only in the new text. `lines` is a diff of the two texts.
    """

    name: str
    before: str
    where: str
    lost: tuple[Guard, ...]
    added: tuple[Guard, ...]
    lines: tuple[str, ...]


@dataclass(frozen=True)
class Differences:
    """The functions that are changed, new or gone.

    `actions` has the actions that are new or gone, or whose meaning differs.
    """

    changed: tuple[ChangedFunction, ...]
    new: tuple[str, ...]
    gone: tuple[str, ...]
    actions: tuple[tuple[str, Meaning], ...]


def differences(old: Model, new: Model) -> Differences:
    """The differences of two models in text and meaning, apart from the functions `describe_...`."""
    here, there = _functions(type(old)), _functions(type(new))
    gone = {n: f for n, f in here.items() if n not in there}
    come = {n: f for n, f in there.items() if n not in here}
    renamed = _renamed(gone, come)
    pairs = [(name, name) for name in here if name in there] + renamed
    changed = [found for a, b in pairs if (found := _changed(here[a], there[b])) is not None]
    return Differences(
        tuple(changed),
        tuple(n for n in come if n not in {b for _, b in renamed}),
        tuple(n for n in gone if n not in {a for a, _ in renamed}),
        tuple(_actions(trace(old, {}), trace(new, {}))),
    )


# --- text -----------------------------------------------------------------------------------------------------------


def _functions(cls: type[Model]) -> dict[str, FunctionType]:
    """The functions of a model's classes, by name. A function of a subclass replaces that of a base class.

    Generated functions and functions that describe steps (`describe_...`) are left out.
    """
    found: dict[str, FunctionType] = {}
    for function in functions_of(cls):
        if _written(function) is not None and not function.__name__.startswith("describe_"):
            found.setdefault(_name(function), function)
    return found


def _renamed(gone: dict[str, FunctionType], come: dict[str, FunctionType]) -> list[tuple[str, str]]:
    """The old and new name of each renamed function.

    Two functions count as one renamed function if they have the same parameters, and if the similarity of their names
    is at least `LIKE`. The most similar names are matched first.
    """
    scores = [(-_similarity(a, b), a, b) for a in gone for b in come if _parameters(gone[a]) == _parameters(come[b])]
    found: dict[str, str] = {}
    for score, a, b in sorted(scores):
        if -score >= LIKE and a not in found and b not in found.values():
            found[a] = b
    return [(name, found[name]) for name in gone if name in found]


def _similarity(a: str, b: str) -> float:
    """The similarity of two names, from 0 to 2. It is at least 1 if one name has all words of the other name."""
    words = set(a.split("_")), set(b.split("_"))
    within = words[0] <= words[1] or words[1] <= words[0]
    return difflib.SequenceMatcher(None, a, b, autojunk=False).ratio() + within


def _parameters(function: FunctionType) -> set[str]:
    code = function.__code__
    return set(code.co_varnames[: code.co_argcount])


def _changed(old: FunctionType, new: FunctionType) -> ChangedFunction | None:
    if old is new or (old.__name__ == new.__name__ and _code(old) == _code(new)):
        return None
    here, there = list(_guards(old)), list(_guards(new))
    lost = [g for g in here if g.text not in {x.text for x in there}]
    added = [g for g in there if g.text not in {x.text for x in here}]
    lines = difflib.unified_diff(_lines(old), _lines(new), lineterm="", n=2)
    where = _where(new, new.__code__.co_firstlineno)
    return ChangedFunction(_name(new), _name(old), where, tuple(lost), tuple(added), tuple(lines)[2:])


def _name(function: FunctionType) -> str:
    """The name of a function. For a lambda: the name to which the lambda is assigned."""
    node = _written(function)
    target = node.targets[0] if isinstance(node, ast.Assign) else getattr(node, "target", None)
    return target.id if isinstance(target, ast.Name) else function.__name__


def _written(function: FunctionType) -> Statement | None:
    """The statement that defines and names a function in its file, or None if there is no such statement.

    If the function is defined inside another function, this is the statement inside the other function. A generated
    function has no such statement.
    """
    tree, code = _parsed("".join(_file(function))), function.__code__
    return definition_of(tree, code) or next(_named_lambdas(tree, code.co_firstlineno), None)


def _named_lambdas(tree: ast.Module, line: int) -> Iterator[ast.Assign | ast.AnnAssign]:
    """The assignments of the form `name = ...` that contain a lambda. The lambda begins in the given line."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Assign | ast.AnnAssign) and node.lineno <= line <= (node.end_lineno or 0):
            target = node.targets[0] if isinstance(node, ast.Assign) else node.target
            inside = (x for x in ast.walk(node) if isinstance(x, ast.Lambda))
            if isinstance(target, ast.Name) and any(x.lineno == line for x in inside):
                yield node


def _file(function: FunctionType) -> list[str]:
    """The lines of the file that defines a function. Empty if there is no file."""
    linecache.checkcache(function.__code__.co_filename)
    return linecache.getlines(function.__code__.co_filename)


@lru_cache(maxsize=64)
def _parsed(text: str) -> ast.Module:
    return ast.parse(text)


def _lines(function: FunctionType) -> list[str]:
    """The lines of a function, without the indentation of the whole function."""
    node = _written(function)
    if node is None:
        return []
    first, indent = function.__code__.co_firstlineno, node.col_offset
    lines = [line.rstrip("\n") for line in _file(function)[min(first, node.lineno) - 1 : node.end_lineno]]
    # A line of a docstring may be indented less than the function.
    return [line[indent:] if line[:indent].isspace() else line for line in lines]


def _code(function: FunctionType) -> str:
    """The syntax tree of a function as text. The docstring and the layout of the source do not count."""
    node = _written(function)
    if isinstance(node, ast.FunctionDef) and ast.get_docstring(node) is not None:
        node = copy.copy(node)
        node.body = node.body[1:]
    return "" if node is None else ast.dump(node)


def _guards(function: FunctionType) -> Iterator[Guard]:
    """The conditions that a function requires. Each conjunct is one guard."""
    written = _written(function)
    for node in () if written is None else ast.walk(written):
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr == "require":
            for conjunct in (part for argument in node.args for part in _conjuncts(argument)):
                yield Guard(" ".join(ast.unparse(conjunct).split()), _where(function, conjunct.lineno))


def _conjuncts(node: ast.expr) -> Iterator[ast.expr]:
    if isinstance(node, ast.BinOp) and isinstance(node.op, ast.BitAnd):
        yield from _conjuncts(node.left)
        yield from _conjuncts(node.right)
    else:
        yield node


def _where(function: FunctionType, line: int) -> str:
    return f"{Path(function.__code__.co_filename).name}:{line}"


# --- meaning --------------------------------------------------------------------------------------------------------


def _actions(old: TransitionSystem, new: TransitionSystem) -> Iterator[tuple[str, Meaning]]:
    here, there = _meanings(old), _meanings(new)
    for action in sorted({*here, *there}):
        if action not in there:
            yield action, "gone"
        elif action not in here:
            yield action, "new"
        else:
            guards, effects = (
                [(label, meaning[i]) for label, meaning in here[action].items()]
                != [(label, meaning[i]) for label, meaning in there[action].items()]
                for i in (0, 1)
            )
            if guards or effects:
                yield action, _meaning(guards, effects)


def _meaning(guards: bool, effects: bool) -> Meaning:
    if guards and effects:
        return "requires and does otherwise"
    return "requires otherwise" if guards else "does otherwise"


def _meanings(system: TransitionSystem) -> dict[str, dict[str, tuple[str, tuple[tuple[str, str], ...]]]]:
    """For each action, its instances by label.

    Each instance has a digest of its guard, and a digest for each scalar of the state that it assigns.
    """
    digests: dict[Expression, str] = {}
    found: dict[str, dict[str, tuple[str, tuple[tuple[str, str], ...]]]] = {}
    for t in system.transitions:
        updates = ((system.leaves[leaf].path, digest(e, digests)) for leaf, e in t.updates.items())
        found.setdefault(t.label.action, {})[str(t.label)] = digest(t.guard, digests), tuple(sorted(updates))
    return found


def digest(expression: Expression, known: dict[Expression, str]) -> str:
    """A digest of an expression's meaning. A leaf is named by its path, because its index may differ between models."""
    for node in topological([expression]):
        if node not in known:
            value = node.value.path if isinstance(node.value, Leaf) else repr(node.value)
            known[node] = _hash([node.operator, value, *(known[x] for x in node.arguments)])
    return known[expression]


def _hash(parts: Iterable[str]) -> str:
    return hashlib.sha256("\0".join(parts).encode()).hexdigest()
