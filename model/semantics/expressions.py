"""Expressions over a symbolic state: shared nodes, each with a kind and the interval of its values.

An *expression* is a node of a shared graph. Expressions with the same operator and arguments are the same object, so
`is` compares them. Every value is an integer. A *flag* is 0 or 1, and a *number* is itself. The value of an *enum* is
the position of the member, and the value of a *broker* is its index (-1 for "none"). A *set* of brokers is a bit mask.

Each constructor declares its operator (`operators`): its meaning on integers, its types, its interval and its forms in
texts. Engines only translate operators.

Every expression has a value in every state. An operation of a model may have no value: for example, the record at an
offset past the log's end. So `symbolic` pairs each expression with the condition under which the operation is defined.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Final

from isrcheck.model.semantics.operators import (
    FALSE,
    LARGEST,
    OPERATORS,
    TRUE,
    Expression,
    Interval,
    Kind,
    Leaf,
    Operator,
    and_,
    applied,
    constant,
    has_more_leaves,
    implies,
    interned,
    is_constant,
    leaf,
    not_,
    or_,
    render,
)

__all__ = [
    "FALSE", "LARGEST", "SEMANTICS", "TRUE", "Expression", "Kind", "Leaf", "add", "and_", "constant", "difference",
    "eq", "evaluate", "has", "has_more_leaves", "if_", "implies", "intersection", "is_constant", "le", "leaf", "lt",
    "multiply", "not_", "only", "or_", "render", "size", "subset", "subtract", "topological", "union",
]  # fmt: skip


# --- intervals ------------------------------------------------------------------------------------------------------


def _of_products(a: Expression, b: Expression) -> Interval:
    ends = [x * y for x in (a.low, a.high) for y in (b.low, b.high)]
    return min(ends), max(ends)


def _of_choice(condition: Expression, yes: Expression, no: Expression) -> Interval:
    low, high = min(yes.low, no.low), max(yes.high, no.high)
    if condition.arguments == (yes, no) and condition.operator == "le":  # the lesser of the two
        high = min(yes.high, no.high)
    if condition.arguments == (no, yes) and condition.operator == "le":  # the greater
        low = max(yes.low, no.low)
    return low, high


def _ones(high: int) -> int:
    return (1 << high.bit_length()) - 1


# --- comparisons ----------------------------------------------------------------------------------------------------


@Operator(
    name="eq", takes=("any", "any"), gives="flag", meaning=lambda a, b: int(a == b),
    text="==", wording=("=", "!="), promela="==", murphi="=", tla="=",
)  # fmt: skip
def eq(a: Expression, b: Expression) -> Expression:
    if a is b:
        return TRUE
    if a.high < b.low or b.high < a.low:
        return FALSE
    if is_constant(a):
        a, b = b, a
    if a.kind == "flag":
        return (a if b is TRUE else not_(a)) if is_constant(b) else applied("eq", a, b)
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
    return applied("eq", a, b)


@Operator(
    name="le", takes=("number", "number"), gives="flag", meaning=lambda a, b: int(a <= b),
    text="<=", wording=("<=", ">"), promela="<=", murphi="<=", tla="<=",
)  # fmt: skip
def le(a: Expression, b: Expression) -> Expression:
    """a <= b. If one side is constant, the result is `x <= constant` or its negation, so equal bounds share a node."""
    if a is b or a.high <= b.low:
        return TRUE
    if a.low > b.high:
        return FALSE
    if is_constant(a):
        return not_(le(b, constant("number", a.low - 1)))
    if is_constant(b) and a.operator == "add" and is_constant(a.arguments[1]):
        return le(a.arguments[0], constant("number", b.low - a.arguments[1].low))
    return applied("le", a, b)


def lt(a: Expression, b: Expression) -> Expression:
    return not_(le(b, a))


# --- numbers --------------------------------------------------------------------------------------------------------


@Operator(
    name="add", takes=("number", "number"), gives="number", meaning=lambda a, b: a + b,
    interval=lambda a, b: (a.low + b.low, a.high + b.high),
    sign="+", promela="+", murphi="+", tla="+",
)  # fmt: skip
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
    return applied("add", a, b)


@Operator(
    name="subtract", takes=("number", "number"), gives="number", meaning=lambda a, b: a - b,
    interval=lambda a, b: (a.low - b.high, a.high - b.low),
    sign="-", promela="-", murphi="-", tla="-",
)  # fmt: skip
def subtract(a: Expression, b: Expression) -> Expression:
    if is_constant(b):
        return add(a, constant("number", -b.low))
    if a is b:
        return constant("number", 0)
    return applied("subtract", a, b)


@Operator(
    name="multiply", takes=("number", "number"), gives="number", meaning=lambda a, b: a * b, interval=_of_products,
    sign="*", promela="*", murphi="*", tla="*",
)  # fmt: skip
def multiply(a: Expression, b: Expression) -> Expression:
    if is_constant(a):
        a, b = b, a
    if is_constant(b):
        if is_constant(a) or b.low == 0:
            return constant("number", a.low * b.low)
        if b.low == 1:
            return a
    return applied("multiply", a, b)


@Operator(
    name="if", takes=("flag", "any", "any"), gives="any", meaning=lambda condition, yes, no: yes if condition else no,
    interval=_of_choice, text="{1} if {0} else {2}",
    promela="({0} -> {1} : {2})", murphi="({0} ? {1} : {2})", tla="(IF {0} THEN {1} ELSE {2})",
)  # fmt: skip
def if_(condition: Expression, yes: Expression, no: Expression) -> Expression:
    """`yes` where the condition holds, else `no`; `yes` and `no` must have the same kind."""
    if is_constant(condition):
        return yes if condition is TRUE else no
    if yes is no:
        return yes
    if condition.operator == "not":
        return if_(condition.arguments[0], no, yes)
    if yes.kind == "flag":
        return or_(and_(condition, yes), and_(not_(condition), no))
    return applied("if", condition, yes, no)


# --- sets of brokers ------------------------------------------------------------------------------------------------


@Operator(
    name="has", takes=("set", "broker"), gives="flag",
    meaning=lambda members, broker: members >> broker & 1 if broker >= 0 else 0,
    text="{0}.has({bare[1]})", wording=("has", "lacks"), promela=None, murphi=None, tla="({1} \\in {0})",
)  # fmt: skip
def has(members: Expression, broker: Expression) -> Expression:
    """True where the set has the broker; "none" is in no set."""
    if is_constant(broker):
        if broker.low < 0 or not members.high >> broker.low:
            return FALSE
        if is_constant(members):
            return TRUE if members.low >> broker.low & 1 else FALSE
    if is_constant(members) and members.low == 0:
        return FALSE
    return applied("has", members, broker)


@Operator(
    name="only", takes=("broker",), gives="set", meaning=lambda broker: 1 << broker if broker >= 0 else 0,
    text="{{{bare[0]}}}", promela=None, murphi=None, tla="({{{0}}} \\ {{-1}})",
    more=lambda node: {"size": node.high.bit_length()},
)  # fmt: skip
def only(broker: Expression, size: int) -> Expression:
    """The set with this broker as its only member, or the empty set for "none". `size` is the number of brokers."""
    if is_constant(broker):
        return constant("set", 1 << broker.low if broker.low >= 0 else 0)
    return interned("only", (broker,), "set", 0, (1 << size) - 1)


@Operator(
    name="union", takes=("set", "set"), gives="set", meaning=lambda a, b: a | b,
    interval=lambda a, b: (0, _ones(a.high | b.high)),
    sign="|", promela="|", murphi="|", tla="\\union",
)  # fmt: skip
def union(a: Expression, b: Expression) -> Expression:
    if is_constant(a):
        a, b = b, a
    if is_constant(b):
        if is_constant(a):
            return constant("set", a.low | b.low)
        if b.low == 0:
            return a
    return a if a is b else applied("union", a, b)


@Operator(
    name="intersection", takes=("set", "set"), gives="set", meaning=lambda a, b: a & b,
    interval=lambda a, b: (0, min(_ones(a.high), _ones(b.high))),
    sign="&", promela="&", murphi="&", tla="\\intersect",
)  # fmt: skip
def intersection(a: Expression, b: Expression) -> Expression:
    if is_constant(a):
        a, b = b, a
    if is_constant(b):
        if is_constant(a) or b.low == 0:
            return constant("set", a.low & b.low)
        if b.low & _ones(a.high) == _ones(a.high):
            return a
    return a if a is b else applied("intersection", a, b)


@Operator(
    name="difference", takes=("set", "set"), gives="set", meaning=lambda a, b: a & ~b,
    interval=lambda a, b: (0, _ones(a.high)),
    sign="-", promela="({0} & ~{1})", murphi="({0} & !{1})", tla="\\",
)  # fmt: skip
def difference(a: Expression, b: Expression) -> Expression:
    if is_constant(b):
        if is_constant(a):
            return constant("set", a.low & ~b.low)
        if b.low == 0:
            return a
    if a is b or (is_constant(a) and a.low == 0):
        return constant("set", 0)
    return applied("difference", a, b)


@Operator(
    name="subset", takes=("set", "set"), gives="flag", meaning=lambda a, b: int(a & ~b == 0),
    text="<=", wording=("within", "not within"),
    promela="(({0} & ~{1}) == 0)", murphi="(!{0} | {1})", tla="\\subseteq",
)  # fmt: skip
def subset(a: Expression, b: Expression) -> Expression:
    if a is b or (is_constant(a) and a.low == 0):
        return TRUE
    if is_constant(a) and is_constant(b):
        return TRUE if a.low & ~b.low == 0 else FALSE
    return applied("subset", a, b)


@Operator(
    name="size", takes=("set",), gives="number", meaning=lambda a: a.bit_count(),
    interval=lambda a: (0, a.high.bit_length()), text="{0}.size", promela=None, murphi=None, tla="Cardinality({0})",
)  # fmt: skip
def size(a: Expression) -> Expression:
    if is_constant(a):
        return constant("number", a.low.bit_count())
    return applied("size", a)


# --- meaning --------------------------------------------------------------------------------------------------------

SEMANTICS: Final[dict[str, Callable[..., int]]] = {name: each.meaning for name, each in OPERATORS.items()}
"""The meaning of each operator on integers."""


def topological(roots: Iterable[Expression]) -> list[Expression]:
    """The roots and all expressions below them. Arguments come first, and the order depends on the roots only."""
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
    """The values of the roots in a state; `leaves` are the integers of the state's leaves."""
    values: dict[Expression, int] = {}
    for node in topological(roots):
        if isinstance(node.value, Leaf):
            values[node] = leaves[node.value.index]
        elif isinstance(node.value, int):
            values[node] = node.value
        else:
            values[node] = SEMANTICS[node.operator](*(values[x] for x in node.arguments))
    return [values[root] for root in roots]
