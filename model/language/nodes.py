"""Nodes of the graph of expressions (leaves, constants, and operators that `expressions` builds) and their text.

Two nodes with equal contents are the same object. `expressions` documents the meaning of the nodes.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property, lru_cache
from typing import Final, Literal
from weakref import WeakValueDictionary

Kind = Literal["flag", "number", "enum", "broker", "set"]
LARGEST: Final = 1 << 62
"""Numbers stay below this limit, so sums, differences and shifts by one always fit into an engine's 64 bits."""


@dataclass(frozen=True)
class Leaf:
    """One scalar of a state: its position, its path in error messages (`log[1].length`), its kind and its interval.

    `of` is the scalarset of a leaf of kind "broker" or "set". The kind "broker" is for members of any scalarset.
    """

    index: int
    path: str
    kind: Kind
    low: int
    high: int
    of: str = "broker"

    @cached_property
    def expression(self) -> Expression:
        """The scalar as an expression; cached, because a method reads some leaves thousands of times."""
        if self.low == self.high:
            return constant(self.kind, self.low)
        return interned("leaf", (), self.kind, self.low, self.high, self)


class Expression:
    """A node: `operator` applied to `arguments`. The node's values have the kind `kind` and lie in `low..high`.

    `value` is the integer of a constant, the `Leaf` of a leaf, and None in other nodes.
    """

    __slots__ = ("operator", "arguments", "value", "kind", "low", "high", "negation", "__weakref__")

    operator: str
    arguments: tuple[Expression, ...]
    value: int | Leaf | None
    kind: Kind
    low: int
    high: int
    negation: Expression | None

    def __repr__(self) -> str:
        return render(self)


_Key = tuple[str, tuple[Expression, ...], int | Leaf | None, Kind, int, int]
_nodes: WeakValueDictionary[_Key, Expression] = WeakValueDictionary()


def interned(
    op: str,
    arguments: tuple[Expression, ...],
    kind: Kind,
    low: int,
    high: int,
    value: int | Leaf | None = None,
) -> Expression:
    # The interval is part of the key: leaves of two models with equal names and different ranges stay distinct.
    key = (op, arguments, value, kind, low, high)
    found = _nodes.get(key)
    if found is None:
        found = Expression()
        found.operator, found.arguments, found.value = op, arguments, value
        found.kind, found.low, found.high, found.negation = kind, low, high, None
        _nodes[key] = found
    return found


@lru_cache(maxsize=1 << 12)  # tracing uses few constants very often
def constant(kind: Kind, value: int) -> Expression:
    return interned("constant", (), kind, value, value, value)


def leaf(of: Leaf) -> Expression:
    return of.expression


FALSE: Final = constant("flag", 0)
TRUE: Final = constant("flag", 1)


def is_constant(a: Expression) -> bool:
    return a.operator == "constant"


def flag_node(op: str, *arguments: Expression) -> Expression:
    return interned(op, arguments, "flag", 0, 1)


_INFIX: Final = {
    "and": " and ",
    "or": " or ",
    "eq": " == ",
    "le": " <= ",
    "add": " + ",
    "subtract": " - ",
    "multiply": " * ",
    "union": " | ",
    "intersection": " & ",
    "difference": " - ",
    "subset": " <= ",
}


def render(a: Expression) -> str:
    """The expression as a modeller would write it."""
    if isinstance(a.value, Leaf):
        return a.value.path
    if a.operator == "constant":
        return _render_constant(a)
    inner = [render(x) if x.operator in ("leaf", "constant", "has") else f"({render(x)})" for x in a.arguments]
    if a.operator == "not" and a.arguments[0].operator == "le":
        return " > ".join(render(x) for x in a.arguments[0].arguments)
    if a.operator in _INFIX:
        return _INFIX[a.operator].join(inner)
    if a.operator == "if":
        return f"{inner[1]} if {inner[0]} else {inner[2]}"
    if a.operator == "has":
        return f"{inner[0]}.has({render(a.arguments[1])})"
    if a.operator == "only":
        return f"{{{render(a.arguments[0])}}}"
    return f"not {inner[0]}" if a.operator == "not" else f"{inner[0]}.{a.operator}"


def has_more_leaves(a: Expression, most: int) -> bool:
    """Whether `render` shows more than `most` leaves and constants; quick even for an expression with a long text."""
    pending = [a]
    while pending:
        one = pending.pop()
        most -= not one.arguments
        if most < 0:
            return True
        pending += one.arguments
    return False


def _render_constant(a: Expression) -> str:
    if a.kind == "flag":
        return "true" if a is TRUE else "false"
    if a.kind == "set":
        return "{" + ", ".join(str(i) for i in range(a.low.bit_length()) if a.low >> i & 1) + "}"
    return "none" if a.kind == "broker" and a.low < 0 else str(a.low)
