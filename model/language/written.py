"""Conditions written as text: read by Python's grammar, computed step by step here, never evaluated as Python.

A text has the language's own words (`every`, `some`, `implies`, `when`), `and`, `or`, `not`, `in`, comparisons in
chains, sums, sets, and what a model's methods may read: `s.isr`, a variable by its bare name, settings, `brokers`,
the model's own functions. `every b: ...` and `some p in partitions: ...` are quantifiers in front. Nothing else of
Python can be reached: no name that begins with an underscore, no attribute but of the state and the model.
"""

from __future__ import annotations

import ast
import operator
import re
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any, Final

from isrcheck.model.language import logic
from isrcheck.model.language.brokers import BrokerId
from isrcheck.model.language.errors import OfTheState, TheState, UnknownName, nearest, running
from isrcheck.model.language.marks import marked_as
from isrcheck.model.language.plain import PlainFlag

LONGEST: Final = 2000
"""Characters of a text."""
MOST: Final = 1_000_000
"""Steps that a text takes in one state: a text of others is to end, too."""
QUANTIFIER: Final = re.compile(r"\s*(every|some)\s+([^:]*?)\s*:", re.DOTALL)
BINDER: Final = re.compile(r"\s*([A-Za-z]\w*)(?:\s+in\s+(.+?))?\s*", re.DOTALL)
CHANGES: Final = ("append", "truncate", "remove_first", "add", "remove")
COMPARED: Final[dict[type[ast.cmpop], Callable[[Any, Any], Any]]] = {
    ast.Eq: operator.eq,
    ast.NotEq: operator.ne,
    ast.Lt: operator.lt,
    ast.LtE: operator.le,
    ast.Gt: operator.gt,
    ast.GtE: operator.ge,
}
COMBINED: Final[dict[type[ast.operator], Callable[[Any, Any], Any]]] = {
    ast.Add: operator.add,
    ast.Sub: operator.sub,
    ast.Mult: operator.mul,
    ast.BitAnd: operator.and_,
    ast.BitOr: operator.or_,
}
FUNCTIONS: Final[dict[str, Callable[..., Any]]] = {
    "implies": logic.implies,
    "when": logic.when,
    "minimum": logic.minimum,
    "maximum": logic.maximum,
    "range": range,
}
QUANTIFIERS: Final = {"every": logic.every, "all": logic.every, "some": logic.some, "any": logic.some}


class NotRead(UnknownName):
    """A text that is no condition, or names what the model does not have: where, what, and what to write."""


def is_written(name: str) -> bool:
    """Whether what stands for an invariant is a condition rather than a name."""
    return re.fullmatch(r"[\w-]+", name.strip()) is None


def written(text: str) -> Callable[[Any, Any], Any]:
    """The invariant that a text says; raises `NotRead`, also later, when it is asked of a model."""
    condition = _whole(text)

    def holds(m: Any, s: Any) -> Any:
        answer = _computed(text, condition, m, s)
        if not isinstance(answer, bool) and not hasattr(type(answer), "choose"):
            raise _error(text, 0, f"{answer!r} is no condition", "compare it with something")
        return answer

    holds.__doc__ = "A condition that is asked as text."
    return marked_as("invariant")(holds)


def value_of(text: str, m: Any, s: Any) -> Any:
    """What a text says in a state of a model: a value as methods have it."""
    return _computed(text, _whole(text), m, s)


def _computed(text: str, condition: _Condition, m: Any, s: Any) -> Any:
    try:
        return _Reading(text, m, s).value(condition, {})
    except RecursionError:
        raise _error(text, 0, "it is nested too deeply", "write it with fewer brackets") from None


# --- grammar --------------------------------------------------------------------------------------------------------


_Binder = tuple[str, ast.expr | None, int]
"""A name, what it goes through (None: brokers), and the column of that."""


@dataclass(frozen=True)
class _Quantified:
    """A quantifier in front: `every b in brokers: ...`; without `in`, of brokers."""

    word: str
    binders: tuple[_Binder, ...]
    body: _Condition


@dataclass(frozen=True)
class _Plain:
    """What Python's grammar has read from column `at` on."""

    tree: ast.expr
    at: int


_Condition = _Quantified | _Plain


def _whole(text: str) -> _Condition:
    """A text by the grammar; `NotRead` for what is no text of one line."""
    if len(text) > LONGEST:
        raise NotRead(f"a condition of {len(text)} characters; {LONGEST} are the most")
    if not text.isprintable():
        raise _error(text, 0, "it has more than one line, or characters that cannot be seen", "write it in one line")
    return _parsed(text, 0)


def _parsed(text: str, at: int) -> _Condition:
    found = QUANTIFIER.match(text, at)
    if found is None:
        return _Plain(_tree(text, at, len(text)), at)
    binders, start = [], found.start(2)
    for piece in found[2].split(","):
        bound = BINDER.fullmatch(piece)
        if bound is None or bound[1] in ("every", "some"):
            raise _error(
                text, start, f"{piece.strip()!r} is no name", "write every b: ..., or some p in partitions: ..."
            )
        over = None if bound[2] is None else _tree(text, start + bound.start(2), start + bound.end(2))
        binders.append((bound[1], over, start + max(bound.start(2), 0)))
        start += len(piece) + 1
    return _Quantified(found[1], tuple(binders), _parsed(text, found.end()))


def _tree(text: str, begin: int, end: int) -> ast.expr:
    """The part of a text between two columns as a tree of Python's grammar."""
    try:
        return ast.parse(text[begin:end].strip() or "?", mode="eval").body
    except SyntaxError as error:
        column = begin + (len(text[begin:end]) - len(text[begin:end].lstrip())) + (error.offset or 1) - 1
        raise _error(text, min(column, len(text)), error.msg, "write a condition as Python does") from None
    except (ValueError, RecursionError, MemoryError):
        raise _error(text, begin, "it cannot be read", "write a shorter condition, without odd characters") from None


def _error(text: str, column: int, what: str, remedy: str) -> NotRead:
    return NotRead(f"{text.strip()!r}, column {column + 1}: {what}; {remedy}")


# --- values ---------------------------------------------------------------------------------------------------------


class _Reading:
    """Computes a condition in one state of a model, traced or plain."""

    def __init__(self, text: str, m: Any, s: Any) -> None:
        self.text, self.m, self.s = text, m, s
        self.begin, self.steps = 0, 0

    def value(self, condition: _Condition, known: dict[str, Any]) -> Any:
        if isinstance(condition, _Plain):
            self.begin = condition.at
            return self.of(condition.tree, known)
        body = condition.body
        asked: list[Any] = []
        for chosen in self._choices(condition.binders, known):
            found = self.value(body, {**known, **chosen})
            if condition.word == "every" and isinstance(found, PlainFlag):  # a report says for which choice it is false
                found = found.because(chosen, [lambda **names: self.value(body, {**known, **names})])
            asked.append(found)
        return QUANTIFIERS[condition.word](asked)

    def _choices(self, binders: Sequence[_Binder], known: dict[str, Any]) -> Iterator[dict[str, Any]]:
        if not binders:
            yield {}
            return
        name, over, self.begin = binders[0]
        for x in self.m.brokers if over is None else self._plain(over, self.of(over, known)):
            for others in self._choices(binders[1:], {**known, name: x}):
                yield {name: x, **others}

    def of(self, node: ast.expr, known: dict[str, Any]) -> Any:
        """The value of a part of the condition; `known` are the names that quantifiers bind."""
        self.steps += 1
        if self.steps > MOST:
            raise self._error(node, f"more than {MOST:,} steps in one state", "go through fewer values")
        method = getattr(self, f"_{type(node).__name__.lower()}", None)
        if method is None:
            raise self._error(
                node, f"there is no {type(node).__name__} in a condition", "write comparisons, and, or, not"
            )
        return method(node, known)

    def _error(self, node: ast.expr, what: str, remedy: str) -> NotRead:
        return _error(self.text, self._column(node), what, remedy)

    def _column(self, node: ast.expr) -> int:
        before = self.text[self.begin :]
        return self.begin + len(before) - len(before.lstrip()) + node.col_offset

    @contextmanager
    def _at(self, node: ast.expr) -> Iterator[None]:
        """What goes wrong meanwhile is said of this column."""
        outer, running.written = running.written, f"{self.text.strip()!r}, column {self._column(node) + 1}"
        try:
            yield
        finally:
            running.written = outer

    def _constant(self, node: ast.Constant, known: dict[str, Any]) -> Any:
        if node.value is not None and type(node.value) not in (bool, int, str):
            raise self._error(
                node, f"{node.value!r} is no value of a state", "write a number, True, False, a name in quotes or None"
            )
        return node.value

    def _name(self, node: ast.Name, known: dict[str, Any]) -> Any:
        if node.id in known:
            return known[node.id]
        if node.id == "s":
            return self.s
        if node.id in ("self", "m", "model"):
            return self.m
        if node.id in self.m.domains:
            with self._at(node):
                return getattr(self.s, node.id)
        if node.id[0] != "_" and hasattr(self.m, node.id):
            return getattr(self.m, node.id)
        names = {*known, "s", "brokers", *self.m.domains, *self.m.settings, *FUNCTIONS, *QUANTIFIERS}
        raise self._error(node, f"there is no {node.id!r}", nearest(node.id, names))

    def _attribute(self, node: ast.Attribute, known: dict[str, Any]) -> Any:
        of = self.of(node.value, known)
        if node.attr.startswith("_") or not (isinstance(of, OfTheState | TheState) or of is self.m):
            raise self._error(node, f"there is no .{node.attr} here", "take what the state or the model has")
        if node.attr in CHANGES and isinstance(of, OfTheState):
            raise self._error(node, f".{node.attr} changes the state", "a condition only reads it")
        with self._at(node):
            return getattr(of, node.attr)

    def _subscript(self, node: ast.Subscript, known: dict[str, Any]) -> Any:
        of, index = self.of(node.value, known), self.of(node.slice, known)
        with self._at(node):
            try:
                return of[index]
            except (IndexError, KeyError, TypeError) as error:
                raise self._error(node, f"[{index!r}] cannot be taken: {error}", "index what is per(...)") from None

    def _compare(self, node: ast.Compare, known: dict[str, Any]) -> Any:
        left, parts = self.of(node.left, known), []
        for test, other in zip(node.ops, node.comparators, strict=True):
            right = self.of(other, known)
            parts.append(self._compared(node, test, left, right))
            left = right
        return logic.every(parts)

    def _compared(self, node: ast.Compare, test: ast.cmpop, left: Any, right: Any) -> Any:
        if isinstance(test, ast.Is | ast.IsNot):
            test = ast.Eq() if isinstance(test, ast.Is) else ast.NotEq()
        with self._at(node):
            if isinstance(test, ast.In | ast.NotIn):
                inside = right.has(left) if isinstance(right, OfTheState) else logic.some(left == x for x in right)
                return _not(inside) if isinstance(test, ast.NotIn) else inside
            return self._python(node, COMPARED[type(test)], left, right)

    def _boolop(self, node: ast.BoolOp, known: dict[str, Any]) -> Any:
        values = [self.of(x, known) for x in node.values]
        with self._at(node):
            return (logic.every if isinstance(node.op, ast.And) else logic.some)(values)

    def _unaryop(self, node: ast.UnaryOp, known: dict[str, Any]) -> Any:
        value = self.of(node.operand, known)
        with self._at(node):
            if isinstance(node.op, ast.USub):
                return self._python(node, operator.sub, 0, value)
            return value if isinstance(node.op, ast.UAdd) else _not(value)

    def _binop(self, node: ast.BinOp, known: dict[str, Any]) -> Any:
        left, right = self.of(node.left, known), self.of(node.right, known)
        if type(node.op) not in COMBINED:
            raise self._error(node, "there is no such operator", "write + - * of numbers, & | - of sets, and, or, not")
        with self._at(node):
            return self._python(node, COMBINED[type(node.op)], left, right)

    def _python(self, node: ast.expr, operation: Callable[[Any, Any], Any], left: Any, right: Any) -> Any:
        """An operation that Python may not have for two plain values."""
        try:
            return operation(left, right)
        except TypeError as error:
            raise self._error(node, str(error), "use values of one kind") from None

    def _ifexp(self, node: ast.IfExp, known: dict[str, Any]) -> Any:
        condition, yes, no = (self.of(x, known) for x in (node.test, node.body, node.orelse))
        with self._at(node):
            return logic.when(condition, yes, no)

    def _set(self, node: ast.Set, known: dict[str, Any]) -> Any:
        members = [self.of(x, known) for x in node.elts]
        if not all(isinstance(x, BrokerId) for x in members):
            raise self._error(node, "a set in braces has brokers alone", "write {b}, or .including(...) of a set")
        return frozenset(members)

    def _call(self, node: ast.Call, known: dict[str, Any]) -> Any:
        if node.keywords or any(isinstance(x, ast.Starred) for x in node.args):
            raise self._error(node, "a call with names or a star", "give each value in its place")
        if isinstance(node.func, ast.Name) and node.func.id in QUANTIFIERS:
            return self._quantifier(node, QUANTIFIERS[node.func.id], known)
        function = self._function(node.func, known)
        values = [self.of(x, known) for x in node.args]
        with self._at(node):
            try:
                return function(*values)
            except TypeError as error:
                raise self._error(node, str(error), "give what the function takes") from None

    def _function(self, node: ast.expr, known: dict[str, Any]) -> Callable[..., Any]:
        """What is called: a word of the language, a method of a value of the state, or one of the model."""
        if isinstance(node, ast.Name) and node.id in FUNCTIONS:
            return FUNCTIONS[node.id]
        found = self.of(node, known)
        if not callable(found) or isinstance(found, type):
            raise self._error(node, "what is called is no function", "write it without brackets")
        return found  # type: ignore[no-any-return]

    def _quantifier(self, node: ast.Call, fold: Callable[[Iterator[Any]], Any], known: dict[str, Any]) -> Any:
        if len(node.args) != 1 or not isinstance(node.args[0], ast.GeneratorExp):
            raise self._error(node, "a quantifier needs what it is about", "write every(... for b in brokers)")
        given = node.args[0]
        with self._at(node):
            return fold(self._generated(given, 0, known, fold is logic.every))

    def _generated(self, node: ast.GeneratorExp, at: int, known: dict[str, Any], of_all: bool) -> Iterator[Any]:
        """The conditions of a quantifier; what its `if` leaves out holds of all and is none of some."""
        if at == len(node.generators):
            yield self.of(node.elt, known)
            return
        each = node.generators[at]
        if not isinstance(each.target, ast.Name) or each.is_async:
            raise self._error(node, "a quantifier binds one name at a time", "write for b in brokers for c in brokers")
        for x, among in self._members(each.iter, known):
            inner = {**known, each.target.id: x}
            limits = [among, *(self.of(limit, inner) for limit in each.ifs)]
            for value in self._generated(node, at + 1, inner, of_all):
                asked = logic.every(limits)
                yield logic.implies(asked, value) if of_all else asked & value

    def _members(self, node: ast.expr, known: dict[str, Any]) -> Iterator[tuple[Any, Any]]:
        """What a name can be, each with the condition under which it is: of a set of brokers, that it is in the set."""
        values = self.of(node, known)
        if isinstance(values, OfTheState):
            with self._at(node):
                yield from [(b, values.has(b)) for b in self.m.brokers]
            return
        yield from ((x, True) for x in self._plain(node, values))

    def _plain(self, node: ast.expr, values: Any) -> list[Any]:
        if not isinstance(values, list | tuple | range) or len(values) > LONGEST:
            raise self._error(
                node, f"{values!r} has no members to go through", "write brokers, or range(...) of a setting"
            )
        return list(values)


def _not(value: Any) -> Any:
    return not value if isinstance(value, bool) else ~value
