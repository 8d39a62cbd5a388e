"""In what two models differ as they are written, and which of their actions mean something else."""

from __future__ import annotations

import ast
import difflib
import hashlib
import inspect
import textwrap
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from types import FunctionType
from typing import Final, Literal

from isrcheck.checker.mutation.mutants import functions_of
from isrcheck.model.language import Model
from isrcheck.model.language.expressions import Expression, Leaf, topological
from isrcheck.model.language.system import TransitionSystem
from isrcheck.model.language.tracing import trace

Meaning = Literal["new", "gone", "requires otherwise", "does otherwise", "requires and does otherwise"]

LIKE: Final = 0.8
"""How alike names are, from 0 to 1, to be taken for what one thing was called and is called."""


@dataclass(frozen=True)
class Guard:
    """A condition that an action requires, as it is written, and where: `file:line`."""

    text: str
    where: str


@dataclass(frozen=True)
class ChangedFunction:
    """A function that both models have and that is not written alike: guards on one side alone, and the lines.

    `before` is what it was called, where a name that is most like it is taken for the same function.
    """

    name: str
    before: str
    where: str
    lost: tuple[Guard, ...]
    added: tuple[Guard, ...]
    lines: tuple[str, ...]


@dataclass(frozen=True)
class Differences:
    """Functions by name that are changed, new or gone, and actions that mean something else."""

    changed: tuple[ChangedFunction, ...]
    new: tuple[str, ...]
    gone: tuple[str, ...]
    actions: tuple[tuple[str, Meaning], ...]


def differences(old: Model, new: Model) -> Differences:
    """What of the text and of the meaning of two models differs. Sentences that are only told are left out."""
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


# --- as it is written -----------------------------------------------------------------------------------------------


def _functions(cls: type[Model]) -> dict[str, FunctionType]:
    """The functions that a model is written in by their names, those of the most special class first."""
    found: dict[str, FunctionType] = {}
    for function in (*functions_of(cls), *_beside(cls)):
        if not function.__name__.startswith("told_"):
            found.setdefault(function.__name__, function)
    return found


def _beside(cls: type[Model]) -> Iterator[FunctionType]:
    """The functions that stand beside a model in its file, which is no module that others import."""
    own = next((f for f in vars(cls).values() if isinstance(f, FunctionType)), None)
    for other in list(own.__globals__.values()) if own is not None else ():
        if isinstance(other, FunctionType) and other.__module__ == cls.__module__:
            yield other


def _renamed(gone: dict[str, FunctionType], come: dict[str, FunctionType]) -> list[tuple[str, str]]:
    """Names that are gone, each with the one that is most like it of a function with the same parameters."""
    scores = [(-_likeness(a, b), a, b) for a in gone for b in come if _parameters(gone[a]) == _parameters(come[b])]
    found: dict[str, str] = {}
    for score, a, b in sorted(scores):
        if -score >= LIKE and a not in found and b not in found.values():
            found[a] = b
    return [(name, found[name]) for name in gone if name in found]


def _likeness(a: str, b: str) -> float:
    """How alike two names are; above 1 where one has all the words of the other."""
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
    return ChangedFunction(new.__name__, old.__name__, _where(new, 1), tuple(lost), tuple(added), tuple(lines)[2:])


def _tree(function: FunctionType) -> ast.FunctionDef:
    (tree,) = ast.parse("\n".join(_lines(function))).body
    assert isinstance(tree, ast.FunctionDef)
    return tree


def _lines(function: FunctionType) -> list[str]:
    return textwrap.dedent(inspect.getsource(function)).splitlines()


def _code(function: FunctionType) -> str:
    """What a function is without its docstring, however it is laid out."""
    tree = _tree(function)
    if ast.get_docstring(tree) is not None:
        tree.body = tree.body[1:]
    return ast.dump(tree)


def _guards(function: FunctionType) -> Iterator[Guard]:
    """What a function requires, conjunct by conjunct."""
    for node in ast.walk(_tree(function)):
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
    code = function.__code__
    return f"{Path(code.co_filename).name}:{code.co_firstlineno + line - 1}"


# --- as it is meant -------------------------------------------------------------------------------------------------


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
    """For each action its instances, each with a digest of its guard and of what becomes of each scalar."""
    digests: dict[Expression, str] = {}
    found: dict[str, dict[str, tuple[str, tuple[tuple[str, str], ...]]]] = {}
    for t in system.transitions:
        updates = ((system.leaves[leaf].path, digest(e, digests)) for leaf, e in t.updates.items())
        found.setdefault(t.label.action, {})[str(t.label)] = digest(t.guard, digests), tuple(sorted(updates))
    return found


def digest(expression: Expression, known: dict[Expression, str]) -> str:
    """What an expression says, whatever numbers the scalars have."""
    for node in topological([expression]):
        if node not in known:
            value = node.value.path if isinstance(node.value, Leaf) else repr(node.value)
            known[node] = _hash([node.operator, value, *(known[x] for x in node.arguments)])
    return known[expression]


def _hash(parts: Iterable[str]) -> str:
    return hashlib.sha256("\0".join(parts).encode()).hexdigest()
