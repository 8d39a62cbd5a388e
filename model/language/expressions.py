"""Expressions over a symbolic state: hash-consed, typed, each with the interval of its values.

An *expression* is a node of a shared graph; two expressions that are built alike are the same object, so `is`
compares them. Every value is an integer: a *flag* is 0 or 1, a *number* itself, an *enum* the position of its
member, a *broker* its index (-1 is "none"), a *set* of brokers a bit mask.

`SEMANTICS` says what each operator means on integers. Engines translate operators, nothing else.

Every expression has a value in every state: where a model's own operation has none (the record at an offset past
the log's end), the layer above pairs the expression with the condition under which it means something.
"""

from __future__ import annotations

import operator
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property, lru_cache
from typing import Final, Literal
from weakref import WeakValueDictionary

Kind = Literal["flag", "number", "enum", "broker", "set"]
LARGEST: Final = 1 << 62
"""Numbers stay below this, so that sums, differences and shifts by one never leave the 64 bits of an engine."""


@dataclass(frozen=True)
class Leaf:
    """One scalar of a state: its position, its path for people (`log[1].length`), its kind and its interval."""

    index: int
    path: str
    kind: Kind
    low: int
    high: int

    @cached_property
    def expression(self) -> Expression:
        """The scalar as an expression; a method reads some leaves thousands of times."""
        if self.low == self.high:
            return constant(self.kind, self.low)
        return _node("leaf", (), self.kind, self.low, self.high, self)


class Expression:
    """A node: `operator` over `arguments`, of `kind`, with values in `low..high`.

    `value` is the integer of a constant and the `Leaf` of a leaf; otherwise None.
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


def _node(
    op: str,
    arguments: tuple[Expression, ...],
    kind: Kind,
    low: int,
    high: int,
    value: int | Leaf | None = None,
) -> Expression:
    # The interval is part of the key: two models that name a leaf alike never share its range.
    key = (op, arguments, value, kind, low, high)
    found = _nodes.get(key)
    if found is None:
        found = Expression()
        found.operator, found.arguments, found.value = op, arguments, value
        found.kind, found.low, found.high, found.negation = kind, low, high, None
        _nodes[key] = found
    return found


def constant(kind: Kind, value: int) -> Expression:
    return _node("constant", (), kind, value, value, value)


def leaf(of: Leaf) -> Expression:
    return of.expression


FALSE: Final = constant("flag", 0)
TRUE: Final = constant("flag", 1)


def is_constant(a: Expression) -> bool:
    return a.operator == "constant"


def _flag(op: str, *arguments: Expression) -> Expression:
    return _node(op, arguments, "flag", 0, 1)


# --- flags ----------------------------------------------------------------------------------------------------------


def not_(a: Expression) -> Expression:
    """The negation, pushed inwards through `and` and `or`, so that equal conditions are equal nodes."""
    if a.negation is None:
        if is_constant(a):
            a.negation = FALSE if a is TRUE else TRUE
        elif a.operator == "not":
            a.negation = a.arguments[0]
        else:
            dual = {"and": or_, "or": and_}.get(a.operator)
            a.negation = dual(*map(not_, a.arguments)) if dual else _flag("not", a)
    return a.negation


def and_(*arguments: Expression) -> Expression:
    return _junction("and", arguments)


def or_(*arguments: Expression) -> Expression:
    return _junction("or", arguments)


def implies(a: Expression, b: Expression) -> Expression:
    return or_(not_(a), b)


@lru_cache(maxsize=1 << 15)  # a model asks for most junctions several times, and they cost more than all else
def _junction(op: str, given: tuple[Expression, ...]) -> Expression:
    """`and` and `or` at once: flat, without repetitions, simplified against each other."""
    dual, neutral, dominant = ("or", TRUE, FALSE) if op == "and" else ("and", FALSE, TRUE)
    parts: dict[Expression, None] = {}
    pending = list(reversed(given))
    while pending:
        part = pending.pop()
        if part.operator == op:
            pending.extend(reversed(part.arguments))
        elif part is dominant or not_(part) in parts:
            return dominant
        elif part is not neutral:
            parts[part] = None
    for part in [p for p in parts if p.operator == dual]:
        smaller = _absorbed(part, dual, neutral, parts)
        if smaller is not part:
            return _junction(op, tuple(smaller if p is part else p for p in parts))
    kept = _tightest(list(parts), conjunction=op == "and")
    if kept is None:
        return dominant
    if len(kept) < 2:
        return kept[0] if kept else neutral
    return _flag(op, *kept)


def _absorbed(part: Expression, dual: str, neutral: Expression, others: dict[Expression, None]) -> Expression:
    """`part`, an `or` in an `and` (or dually), without what its siblings `others` already decide."""
    if any(p in others for p in part.arguments):
        return neutral
    left = [p for p in part.arguments if not_(p) not in others]
    if len(left) == len(part.arguments):
        return part
    return and_(*left) if dual == "and" else or_(*left)


def _bound(part: Expression, conjunction: bool) -> tuple[Expression, int, int] | None:
    """`(x, low, high)` where a literal restricts a number x by constants; in a disjunction, where its negation does."""
    literal, positive = (part.arguments[0], False) if part.operator == "not" else (part, True)
    if literal.operator not in ("le", "eq") or literal.arguments[0].kind != "number":
        return None
    x, c = literal.arguments
    if not is_constant(c):
        return None
    positive = positive == conjunction
    if literal.operator == "le":
        return (x, x.low, c.low) if positive else (x, c.low + 1, x.high)
    return (x, c.low, c.low) if positive else None


def _comparison(part: Expression, conjunction: bool) -> list[tuple[Expression, int, int]]:
    """What a literal that compares two numbers implies of each: bounds as those of `_bound`."""
    literal, positive = (part.arguments[0], False) if part.operator == "not" else (part, True)
    if literal.operator != "le" or is_constant(literal.arguments[1]):
        return []
    x, y = literal.arguments
    if positive == conjunction:
        return [(x, x.low, y.high), (y, x.low, y.high)]
    return [(x, y.low + 1, x.high), (y, y.low, x.high - 1)]


def _tightest(parts: list[Expression], conjunction: bool) -> list[Expression] | None:
    """Without the bounds that other bounds imply; None where they contradict each other."""
    bounds = {part: bound for part in parts if (bound := _bound(part, conjunction))}
    compared = [bound for part in parts for bound in _comparison(part, conjunction)]
    if not bounds and not compared:
        return parts
    ranges: dict[Expression, tuple[int, int]] = {}
    literals: dict[Expression, list[tuple[Expression, int, int]]] = {}
    for part, (x, low, high) in bounds.items():
        literals.setdefault(x, []).append((part, low, high))
    for x, low, high in [*bounds.values(), *compared]:
        known = ranges.get(x, (x.low, x.high))
        ranges[x] = max(low, known[0]), min(high, known[1])
    if any(low > high for low, high in ranges.values()):
        return None
    implied = set()
    for part, (x, low, high) in bounds.items():
        if any(other is not part and other not in implied and low <= a and b <= high for other, a, b in literals[x]):
            implied.add(part)
    return [part for part in parts if part not in implied]


# --- comparisons ----------------------------------------------------------------------------------------------------


def eq(a: Expression, b: Expression) -> Expression:
    if a is b:
        return TRUE
    if a.high < b.low or b.high < a.low:
        return FALSE
    if is_constant(a):
        a, b = b, a
    if a.kind == "flag":
        return (a if b is TRUE else not_(a)) if is_constant(b) else _flag("eq", a, b)
    if is_constant(b) and a.operator == "if" and all(map(is_constant, a.arguments[1:])):
        condition, yes, no = a.arguments
        return condition if yes.low == b.low else not_(condition) if no.low == b.low else FALSE
    if is_constant(b) and a.kind == "number":
        if a.operator == "add" and is_constant(a.arguments[1]):
            return eq(a.arguments[0], constant("number", b.low - a.arguments[1].low))
        if b.low == a.low:
            return le(a, b)
        if b.low == a.high:
            return not_(le(a, constant("number", b.low - 1)))
    return _flag("eq", a, b)


def le(a: Expression, b: Expression) -> Expression:
    """a <= b. Against a constant it always has the form `x <= c` or its negation, so equal bounds are equal nodes."""
    if a is b or a.high <= b.low:
        return TRUE
    if a.low > b.high:
        return FALSE
    if is_constant(a):
        return not_(le(b, constant("number", a.low - 1)))
    if is_constant(b) and a.operator == "add" and is_constant(a.arguments[1]):
        return le(a.arguments[0], constant("number", b.low - a.arguments[1].low))
    return _flag("le", a, b)


def lt(a: Expression, b: Expression) -> Expression:
    return not_(le(b, a))


# --- numbers --------------------------------------------------------------------------------------------------------


def add(a: Expression, b: Expression) -> Expression:
    if is_constant(a):
        a, b = b, a
    if is_constant(b):
        if is_constant(a):
            return constant("number", a.low + b.low)
        if b.low == 0:
            return a
        if a.operator == "add" and is_constant(a.arguments[1]):
            return add(a.arguments[0], constant("number", a.arguments[1].low + b.low))
    return _node("add", (a, b), "number", a.low + b.low, a.high + b.high)


def subtract(a: Expression, b: Expression) -> Expression:
    if is_constant(b):
        return add(a, constant("number", -b.low))
    if a is b:
        return constant("number", 0)
    return _node("subtract", (a, b), "number", a.low - b.high, a.high - b.low)


def multiply(a: Expression, b: Expression) -> Expression:
    if is_constant(a):
        a, b = b, a
    if is_constant(b):
        if is_constant(a) or b.low == 0:
            return constant("number", a.low * b.low)
        if b.low == 1:
            return a
    ends = [x * y for x in (a.low, a.high) for y in (b.low, b.high)]
    return _node("multiply", (a, b), "number", min(ends), max(ends))


def if_(condition: Expression, yes: Expression, no: Expression) -> Expression:
    """`yes` where the condition holds, else `no`; of any kind."""
    if is_constant(condition):
        return yes if condition is TRUE else no
    if yes is no:
        return yes
    if condition.operator == "not":
        return if_(condition.arguments[0], no, yes)
    if yes.kind == "flag":
        return or_(and_(condition, yes), and_(not_(condition), no))
    low, high = min(yes.low, no.low), max(yes.high, no.high)
    if condition.arguments == (yes, no) and condition.operator == "le":  # the lesser of the two
        high = min(yes.high, no.high)
    if condition.arguments == (no, yes) and condition.operator == "le":  # the greater
        low = max(yes.low, no.low)
    return _node("if", (condition, yes, no), yes.kind, low, high)


# --- sets of brokers ------------------------------------------------------------------------------------------------


def has(members: Expression, broker: Expression) -> Expression:
    """Whether the set has the broker; "none" is in no set."""
    if is_constant(broker):
        if broker.low < 0 or not members.high >> broker.low:
            return FALSE
        if is_constant(members):
            return TRUE if members.low >> broker.low & 1 else FALSE
    if is_constant(members) and members.low == 0:
        return FALSE
    return _flag("has", members, broker)


def only(broker: Expression, size: int) -> Expression:
    """The set of this one broker, of `size` brokers; empty for "none"."""
    if is_constant(broker):
        return constant("set", 1 << broker.low if broker.low >= 0 else 0)
    return _node("only", (broker,), "set", 0, (1 << size) - 1)


def union(a: Expression, b: Expression) -> Expression:
    if is_constant(a):
        a, b = b, a
    if is_constant(b):
        if is_constant(a):
            return constant("set", a.low | b.low)
        if b.low == 0:
            return a
    return a if a is b else _node("union", (a, b), "set", 0, _ones(a.high | b.high))


def intersection(a: Expression, b: Expression) -> Expression:
    if is_constant(a):
        a, b = b, a
    if is_constant(b):
        if is_constant(a) or b.low == 0:
            return constant("set", a.low & b.low)
        if b.low & _ones(a.high) == _ones(a.high):
            return a
    return a if a is b else _node("intersection", (a, b), "set", 0, min(_ones(a.high), _ones(b.high)))


def difference(a: Expression, b: Expression) -> Expression:
    if is_constant(b):
        if is_constant(a):
            return constant("set", a.low & ~b.low)
        if b.low == 0:
            return a
    if a is b or (is_constant(a) and a.low == 0):
        return constant("set", 0)
    return _node("difference", (a, b), "set", 0, _ones(a.high))


def subset(a: Expression, b: Expression) -> Expression:
    if a is b or (is_constant(a) and a.low == 0):
        return TRUE
    if is_constant(a) and is_constant(b):
        return TRUE if a.low & ~b.low == 0 else FALSE
    return _flag("subset", a, b)


def size(a: Expression) -> Expression:
    if is_constant(a):
        return constant("number", a.low.bit_count())
    return _node("size", (a,), "number", 0, a.high.bit_length())


def _ones(high: int) -> int:
    return (1 << high.bit_length()) - 1


# --- meaning --------------------------------------------------------------------------------------------------------

SEMANTICS: Final[dict[str, Callable[..., int]]] = {
    "not": lambda a: 1 - a,
    "and": lambda *a: int(all(a)),
    "or": lambda *a: int(any(a)),
    "eq": lambda a, b: int(a == b),
    "le": lambda a, b: int(a <= b),
    "add": operator.add,
    "subtract": operator.sub,
    "multiply": operator.mul,
    "if": lambda condition, yes, no: yes if condition else no,
    "has": lambda members, broker: members >> broker & 1 if broker >= 0 else 0,
    "only": lambda broker: 1 << broker if broker >= 0 else 0,
    "union": operator.or_,
    "intersection": operator.and_,
    "difference": lambda a, b: a & ~b,
    "subset": lambda a, b: int(a & ~b == 0),
    "size": lambda a: a.bit_count(),
}


def topological(roots: Iterable[Expression]) -> list[Expression]:
    """Every expression below the roots, arguments before what uses them, in an order that depends on the roots only."""
    order: dict[Expression, None] = {}
    stack = [(root, False) for root in reversed(list(roots))]
    while stack:
        node, expanded = stack.pop()
        if node in order:
            continue
        if expanded:
            order[node] = None
        else:
            stack.append((node, True))
            stack.extend((x, False) for x in reversed(node.arguments) if x not in order)
    return list(order)


def evaluate(roots: Sequence[Expression], leaves: Sequence[int]) -> list[int]:
    """The integers that the roots stand for in a state given by the values of its leaves."""
    values: dict[Expression, int] = {}
    for node in topological(roots):
        if isinstance(node.value, Leaf):
            values[node] = leaves[node.value.index]
        elif isinstance(node.value, int):
            values[node] = node.value
        else:
            values[node] = SEMANTICS[node.operator](*(values[x] for x in node.arguments))
    return [values[root] for root in roots]


# --- reading --------------------------------------------------------------------------------------------------------

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


def _render_constant(a: Expression) -> str:
    if a.kind == "flag":
        return "true" if a is TRUE else "false"
    if a.kind == "set":
        return "{" + ", ".join(str(i) for i in range(a.low.bit_length()) if a.low >> i & 1) + "}"
    return "none" if a.kind == "broker" and a.low < 0 else str(a.low)
