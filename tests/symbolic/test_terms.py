"""The terms for z3 have the meaning of their expressions."""

from __future__ import annotations

import pytest
import z3
from hypothesis import given

from isrcheck.checker.engines.symbolic.z3_terms import BITS, INTEGERS, Numbers, Terms
from isrcheck.model.semantics import expressions as e
from isrcheck.model.semantics.expressions import Expression, Leaf
from tests.agreement.profiles import examples
from tests.language.test_expressions import LEAVES, Pair, some_pair, states_of

NUMBERS = pytest.mark.parametrize("numbers", [BITS, INTEGERS], ids=["bit-vectors", "integers"])


def assert_terms_mean(node: Expression, numbers: Numbers) -> None:
    """Asserts that in every state the term has the value of the expression."""
    terms = Terms(numbers)
    state = terms.state(LEAVES, "s")
    (term,) = terms.fold([node], state)
    for values in states_of(e.topological([node])):
        pairs = [
            (x, terms.constant(leaf.kind, value, (leaf.low, leaf.high)))
            for leaf, x, value in zip(LEAVES, state, values, strict=True)
        ]
        found = terms.value(z3.simplify(z3.substitute(term, *pairs)), node.kind, (node.low, node.high))
        assert found == e.evaluate([node], values)[0], (node, values)


@NUMBERS
@examples(60)
@given(some_pair())
def test_a_term_has_the_value_of_its_expression(numbers: Numbers, pair: Pair) -> None:
    assert_terms_mean(pair[0], numbers)


@NUMBERS
@pytest.mark.parametrize("leaf", [*LEAVES, Leaf(9, "five", "number", 5, 5), Leaf(10, "far", "number", -9, -3)])
def test_a_leaf_has_just_the_values_of_its_interval(leaf: Leaf, numbers: Numbers) -> None:
    terms = Terms(numbers)
    state, solver, found = terms.state([leaf], "s"), z3.Solver(), []
    solver.add(terms.inside([leaf], state))
    while solver.check() == z3.sat:
        found.append(terms.values(solver.model(), [leaf], state))
        solver.add(z3.Not(z3.And(terms.equal([leaf], state, found[-1]))))
        assert len(found) < 20
    assert sorted(found) == [(x,) for x in range(leaf.low, leaf.high + 1)]
