"""Simplifications keep the meaning, intervals contain all values, and equal structures are the same object."""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Iterator
from typing import Any

import pytest
from hypothesis import find, given, reject
from hypothesis import strategies as st
from hypothesis.errors import NoSuchExample

from isrcheck.model.language.errors import ModelError
from isrcheck.model.semantics import expressions as e
from isrcheck.model.semantics import operators as junctions
from isrcheck.model.semantics.expressions import Expression, Leaf
from isrcheck.model.semantics.operators import OPERATORS, Kind, Operator, interned
from tests.agreement.profiles import attempts, examples

LEAVES = tuple(
    Leaf(i, path, kind, low, high)
    for i, (path, kind, low, high) in enumerate(
        [
            ("p", "flag", 0, 1),
            ("q", "flag", 0, 1),
            ("x", "number", -1, 2),
            ("y", "number", 0, 3),
            ("role", "enum", 0, 2),
            ("a", "broker", 0, 1),
            ("b", "broker", -1, 1),
            ("s", "set", 0, 3),
            ("t", "set", 0, 3),
        ]
    )
)
Meaning = Callable[[tuple[int, ...]], int]
Pair = tuple[Expression, Meaning]
"""An expression from the constructors, and its meaning by SEMANTICS alone."""

KINDS: tuple[Kind, ...] = ("flag", "number", "enum", "broker", "set")
MORE = {"only": {"size": 2}}
"""What constructors take besides expressions."""


def giving(kind: Kind) -> list[tuple[Operator, tuple[Kind, ...]]]:
    """The operators that give a value of a kind, with the kinds of their arguments."""
    found = []
    for of in OPERATORS.values():
        any_kinds = (kind,) if of.gives == "any" else KINDS if "any" in of.takes else ("flag",)
        if of.gives in (kind, "any"):
            found += [(of, tuple(each if x == "any" else x for x in of.takes)) for each in any_kinds]
    return found


def by(operator: str, *meanings: Meaning) -> Meaning:
    return lambda state: e.SEMANTICS[operator](*(meaning(state) for meaning in meanings))


@st.composite
def pairs(draw: Any, kind: Kind = "flag", depth: int = 4) -> Pair:
    """A random expression of a kind, with its meaning."""
    form = draw(st.sampled_from(["constant", "leaf", *["operator"] * 5] if depth else ["constant", "leaf"]))
    if form == "operator":
        of, kinds = draw(st.sampled_from(giving(kind)))
        arguments = [draw(pairs(x, depth - 1)) for x in kinds]
        try:
            built = of.build(*(x for x, _ in arguments), **MORE.get(of.name, {}))
        except ModelError:  # the operator is not defined for these arguments
            reject()
        return built, by(of.name, *(meaning for _, meaning in arguments))
    if form == "constant":
        low, high = min(x.low for x in LEAVES if x.kind == kind), max(x.high for x in LEAVES if x.kind == kind)
        value = draw(st.integers(low, high))
        return e.constant(kind, value), lambda state: value
    leaf = draw(st.sampled_from([x for x in LEAVES if x.kind == kind]))
    return e.leaf(leaf), lambda state: state[leaf.index]


def some_pair() -> st.SearchStrategy[Pair]:
    return st.one_of(*(pairs(kind) for kind in KINDS))


MANY = 1000
STEP = 7
"""Every seventh state is used if there are many. 7 is coprime to each leaf's number of values, so all values occur."""


def states_of(nodes: list[Expression]) -> Iterator[tuple[int, ...]]:
    """All states that differ in the leaves of these expressions; of many states every seventh."""
    used = {node.value for node in nodes if isinstance(node.value, Leaf)}
    values = [range(x.low, x.high + 1 if x in used else x.low + 1) for x in LEAVES]
    many = math.prod(map(len, values)) > MANY
    yield from itertools.islice(itertools.product(*values), 0, None, STEP if many else 1)


def assert_means(pair: Pair) -> None:
    node, meaning = pair
    order = e.topological([node])
    index = {x: i for i, x in enumerate(order)}
    for state in states_of(order):
        values: list[int] = []
        for x in order:
            if isinstance(x.value, Leaf):
                values.append(state[x.value.index])
            elif isinstance(x.value, int):
                values.append(x.value)
            else:
                values.append(e.SEMANTICS[x.operator](*(values[index[a]] for a in x.arguments)))
            assert x.low <= values[-1] <= x.high, x
        assert values[-1] == meaning(state), (node, state)


@examples(200)
@given(some_pair())
def test_what_the_constructors_build_means_what_was_written(pair: Pair) -> None:
    assert_means(pair)


@st.composite
def comparisons(draw: Any) -> Pair:
    """Comparisons of numbers and constants, joined by one connective, so that some bounds imply others."""
    literals = []
    for _ in range(draw(st.integers(2, 4))):
        (x, mx), (y, my) = draw(pairs("number", 1)), draw(pairs("number", draw(st.sampled_from([0, 0, 1]))))
        name, build = draw(st.sampled_from([("le", e.le), ("eq", e.eq)]))
        literal, meaning = build(x, y), by(name, mx, my)
        literals.append((e.not_(literal), by("not", meaning)) if draw(st.booleans()) else (literal, meaning))
    name, join = draw(st.sampled_from([("and", e.and_), ("or", e.or_)]))
    return join(*(node for node, _ in literals)), by(name, *(meaning for _, meaning in literals))


@examples(400)
@given(comparisons())
def test_bounds_that_imply_or_contradict_each_other_are_simplified_rightly(pair: Pair) -> None:
    assert_means(pair)


@examples(100)
@given(some_pair())
def test_evaluate_is_the_meaning(pair: Pair) -> None:
    node, meaning = pair
    for state in itertools.islice(states_of(e.topological([node])), 20):
        assert e.evaluate([node, node], state) == [meaning(state)] * 2


def rebuilt(node: Expression) -> Expression:
    """The node, constructed again from its parts."""
    if isinstance(node.value, Leaf):
        return e.leaf(node.value)
    if isinstance(node.value, int):
        return e.constant(node.kind, node.value)
    return interned(node.operator, tuple(map(rebuilt, node.arguments)), node.kind, node.low, node.high)


@examples(200)
@given(some_pair())
def test_equal_structures_are_the_same_object_and_read_the_same(pair: Pair) -> None:
    again = rebuilt(pair[0])
    assert again is pair[0]
    assert e.render(again) == e.render(pair[0]) == repr(pair[0])


@examples(200)
@given(pairs("flag"))
def test_a_double_negation_is_the_flag_itself(pair: Pair) -> None:
    node = pair[0]
    assert e.not_(e.not_(node)) is node
    assert e.and_(node, e.not_(node)) is e.FALSE
    assert e.or_(node, e.not_(node)) is e.TRUE
    assert e.and_(node, node) is e.or_(node, node) is node


def leaf(path: str) -> Expression:
    return e.leaf(next(x for x in LEAVES if x.path == path))


def test_expressions_read_as_a_modeller_would_write_them() -> None:
    p, x, y, s, b = map(leaf, ("p", "x", "y", "s", "b"))
    one = e.constant("number", 1)
    texts = {
        e.and_(p, e.le(x, one)): "p and (x <= 1)",
        e.or_(e.not_(p), e.has(s, b)): "(not p) or s.has(b)",
        e.lt(one, x): "x > 1",
        e.lt(x, y): "y > x",
        e.add(x, y): "x + y",
        e.add(x, e.constant("number", -1)): "x + -1",
        e.subtract(x, y): "x - y",
        e.multiply(x, y): "x * y",
        e.if_(p, x, y): "x if p else y",
        e.eq(b, e.constant("broker", -1)): "b == none",
        e.union(s, e.constant("set", 3)): "s | {0, 1}",
        e.difference(s, e.only(b, 2)): "s - ({b})",
        e.not_(e.eq(x, one)): "not (x == 1)",
        e.subset(s, leaf("t")): "s <= t",
        e.size(s): "s.size",
    }
    assert {e.render(node): text for node, text in texts.items()} == {text: text for text in texts.values()}


def test_a_simplifier_that_is_wrong_is_noticed(monkeypatch: pytest.MonkeyPatch) -> None:
    tightest = junctions._tightest
    monkeypatch.setattr(junctions, "_tightest", lambda parts, conjunction: tightest(parts, not conjunction))

    def differs(pair: Pair) -> bool:
        try:
            assert_means(pair)
        except AssertionError:
            return True
        return False

    try:
        find(comparisons(), differs, settings=attempts(1500))
    except NoSuchExample:
        pytest.fail("nobody noticed")
