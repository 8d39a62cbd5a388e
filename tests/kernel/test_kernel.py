"""A kernel's functions agree with `evaluate`, both on columns and compiled, and both give the same arrays."""

from __future__ import annotations

import random
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from isrcheck.checker.kernel.compiled import Compiled, Kernel
from isrcheck.checker.kernel.layout import Layout
from isrcheck.checker.kernel.llvm_module import kernel_text
from isrcheck.checker.kernel.llvm_words import partition_hash
from isrcheck.checker.kernel.programs import Columns
from isrcheck.checker.kernel.verdict_bits import ACTIONS, verdicts
from isrcheck.checker.kernel.vm import LANES
from isrcheck.model.semantics import expressions as e
from isrcheck.model.semantics.expressions import Expression, Kind, Leaf, constant, evaluate, leaf
from isrcheck.model.semantics.transition_system import TransitionSystem
from tests.agreement.profiles import examples
from tests.kernel.toys import explore, grid, leaves_of, number, predicate, ring, successors, system, transition

KINDS: list[tuple[Kind, int, int]] = [
    ("flag", 0, 1),
    ("number", -3, 4),
    ("set", 0, 15),
    ("broker", -1, 3),
    ("enum", 0, 2),
    ("number", 5, 5),
    ("broker", 0, 3),
    ("number", 0, 1 << 40),
    ("set", 0, (1 << 50) - 1),
    ("flag", 0, 1),
    ("number", -(1 << 30), 3),
    # At the edges of a byte, with room for one more bit or not.
    ("number", -128, 127),
    ("number", -129, 126),
    ("number", 1, 128),
    ("set", 0, 127),
    ("set", 0, 255),
    ("broker", -1, 8),
    ("enum", 0, 128),
]
LEAVES = leaves_of(*KINDS)


def both(toy: TransitionSystem) -> tuple[Kernel, Kernel]:
    """A kernel that runs on columns, and a kernel that runs compiled."""
    columns, compiled = Kernel(toy), Kernel(toy)
    assert compiled.code.addresses["evaluate"]
    return columns, compiled


def random_states(generator: random.Random, leaves: tuple[Leaf, ...], count: int) -> list[tuple[int, ...]]:
    ends = [[x.low, x.high] for x in leaves]
    return [tuple(generator.choice([a, b, generator.randint(a, b)]) for a, b in ends) for _ in range(count)]


def test_a_layout_gives_back_what_was_packed_and_word_0_is_never_zero() -> None:
    layout = Layout(LEAVES)
    states = random_states(random.Random(1), LEAVES, 200)
    packed = layout.pack(states)
    assert packed.shape == (200, layout.words)
    assert (packed[:, 0] & 1 == 1).all()
    assert list(map(tuple, layout.unpack(packed).tolist())) == states


def test_a_layout_straddles_no_word_and_wastes_no_word_that_a_later_leaf_fits_in() -> None:
    layout = Layout(leaves_of(("number", 0, (1 << 40) - 1), ("number", 0, (1 << 40) - 1), ("number", 0, 255)))
    assert [(p.word, p.shift) for p in layout.places] == [(0, 1), (1, 0), (0, 41)]
    assert layout.bits == 89


def test_a_layout_refuses_a_leaf_of_64_bits_and_values_outside_a_leaf() -> None:
    with pytest.raises(ValueError, match="x0 needs 64 bits"):
        Layout(leaves_of(("number", -(1 << 63), (1 << 63) - 1)))
    with pytest.raises(ValueError, match="leaf 0 holds a value outside its 2 bits from 0"):
        Layout(leaves_of(("number", 0, 3))).pack([(4,)])


def flags(draw: Callable[..., Any], depth: int) -> Expression:
    """A random flag over LEAVES that uses any operator."""
    pick = draw(st.integers(0, 9 if depth else 1))

    def a(kind: Kind) -> Expression:
        return terms(draw, kind, depth - 1)

    def b() -> Expression:
        return flags(draw, depth - 1)

    if pick < 2:
        return leaf(LEAVES[0 if pick else 9])
    if pick == 2:
        return e.not_(b())
    if pick == 3:
        return e.and_(b(), b(), b())
    if pick == 4:
        return e.or_(b(), b())
    if pick == 5:
        return e.le(a("number"), a("number"))
    if pick == 6:
        return e.has(a("set"), a("broker"))
    if pick == 7:
        return e.subset(a("set"), a("set"))
    if pick == 8:
        return e.eq(b(), b())
    kind: Kind = draw(st.sampled_from(["number", "set", "broker", "enum"]))
    return e.eq(a(kind), a(kind))


def terms(draw: Callable[..., Any], kind: Kind, depth: int) -> Expression:
    """A random expression of a kind that is not a flag."""
    if depth <= 0 or draw(st.booleans()):
        candidates = [leaf(x) for x in LEAVES if x.kind == kind]
        candidates += [constant(kind, draw(st.integers(0 if kind in ("set", "enum") else -1, 2)))]
        chosen: Expression = draw(st.sampled_from(candidates))
        return chosen
    a, b = terms(draw, kind, depth - 1), terms(draw, kind, depth - 1)
    if kind == "set" and draw(st.booleans()):
        return e.only(terms(draw, "broker", depth - 1), 9)
    if kind == "number" and draw(st.booleans()):
        return e.size(terms(draw, "set", depth - 1))
    operators: dict[Kind, list[Callable[[Expression, Expression], Expression]]] = {
        "set": [e.union, e.intersection, e.difference],
        "number": [e.add, e.subtract, lambda x, y: e.multiply(x, constant("number", 3)), _product],
    }
    condition = flags(draw, depth - 1)
    options = [*operators.get(kind, []), lambda x, y: e.if_(condition, x, y)]
    operator: Callable[[Expression, Expression], Expression] = draw(st.sampled_from(options))
    return operator(a, b)


def _product(a: Expression, b: Expression) -> Expression:
    product = e.multiply(a, b)
    return product if max(-product.low, product.high) < 1 << 60 else e.subtract(a, b)


@examples(80)
@given(st.data())
def test_random_flags_mean_what_their_semantics_say(data: st.DataObject) -> None:
    wanted = [flags(data.draw, 3) for _ in range(12)]
    toy = system(LEAVES, [], [], invariants=[predicate(f"p{i}", x) for i, x in enumerate(wanted)])
    states = random_states(random.Random(data.draw(st.integers(0, 99))), LEAVES, 29)
    for kernel in both(toy):
        found = kernel.evaluate(kernel.layout.pack(states))
        for state, row in zip(states, found, strict=True):
            values = evaluate(wanted, state)
            assert [1 - (int(row[0]) >> 2 + i & 1) for i in range(12)] == values, state


@examples(50)
@given(st.data())
def test_random_updates_write_the_leaves_that_evaluate_says(data: st.DataObject) -> None:
    wide = [x for x in LEAVES if x.low < x.high]
    transitions = []
    for i in range(5):
        changed = data.draw(st.lists(st.sampled_from(wide), max_size=4, unique=True))
        updates = {x.index: _within(x, data) for x in changed}
        transitions.append(transition("move", flags(data.draw, 2), updates, flags(data.draw, 1), which=i))
    toy = system(LEAVES, [], transitions)
    compare_expansion(toy, random_states(random.Random(7), LEAVES, 27))


def _within(x: Leaf, data: st.DataObject) -> Expression:
    """A random expression whose values fit the leaf."""
    if x.kind == "flag":
        return flags(data.draw, 2)
    term = terms(data.draw, x.kind, 2)
    if x.low <= term.low and term.high <= x.high:
        return term
    low, high = constant(x.kind, x.low), constant(x.kind, x.high)
    inside = e.and_(e.le(low, term), e.le(term, high))
    return e.if_(inside, term, high)


def compare_expansion(toy: TransitionSystem, states: list[tuple[int, ...]]) -> None:
    degrees = [len(successors(toy, state)) for state in states]
    failing = [
        (i, t)
        for i, state in enumerate(states)
        for t, x in enumerate(toy.transitions)
        if evaluate([x.failure], state)[0]
    ]
    wanted = [(i, t, s) for i, state in enumerate(states) for t, s in successors(toy, state)]
    # Successors of 64 states stand together, transition by transition.
    wanted.sort(key=lambda step: (step[0] // 64, step[1], step[0]))
    failing.sort(key=lambda step: (step[0] // 64, step[1], step[0]))
    for kernel in both(toy):
        following, source, which, tally = kernel.expand(kernel.layout.pack(states))
        rows = map(tuple, kernel.layout.unpack(following).tolist())
        assert list(zip(source.tolist(), which.tolist(), rows, strict=True)) == wanted
        assert tally[:3].tolist() == [min(degrees), max(degrees), len(failing)]
        assert tally[ACTIONS:].sum() == len(wanted)
        positions, transitions = kernel.failures(kernel.layout.pack(states))
        assert list(zip(positions.tolist(), transitions.tolist(), strict=True)) == failing


@pytest.mark.parametrize("count", [1, 7, 8, 9, 16, 50])
def test_every_count_of_states_is_expanded_whole(count: int) -> None:
    toy = ring(3)
    states = [s for level in explore(toy).levels for s in level][:count]
    compare_expansion(toy, states)


def test_counts_by_action() -> None:
    toy = ring(3)
    for kernel in both(toy):
        for states, counts in zip(explore(toy).levels, explore(toy).generated, strict=True):
            assert kernel.expand(kernel.layout.pack(states))[3][ACTIONS:].tolist() == counts


def test_more_states_than_a_column_has_lanes() -> None:
    toy = grid([60, 60])
    columns, compiled = both(toy)
    states = columns.layout.pack([(i, j) for i in range(60) for j in range(60)])
    assert len(states) > LANES
    for found, other in zip(columns.expand(states), compiled.expand(states), strict=True):
        assert np.array_equal(found, other)


def test_no_states_have_no_successors() -> None:
    for kernel in both(ring(3)):
        nothing = kernel.layout.pack(np.empty((0, len(ring(3).leaves)), dtype=np.int64))
        following, source, which, tally = kernel.expand(nothing)
        assert following.shape == (0, kernel.words) and len(source) == len(which) == 0
        assert tally.tolist() == [(1 << 63) - 1, *[0] * (len(tally) - 1)]
        assert kernel.evaluate(nothing).shape == (0, 1) and len(kernel.hashes(nothing)) == 0


def test_columns_are_taken_until_compiled_code_is_there() -> None:
    kernel = Kernel(ring(3))
    kernel.evaluate(kernel.layout.pack(ring(3).initial))
    assert "code" not in vars(kernel) and isinstance(kernel._functions, Columns)
    assert kernel.code.addresses["evaluate"] and isinstance(kernel._functions, Compiled)


@pytest.mark.parametrize("leaves", [1, 5, 9, 14])
def test_states_of_one_to_five_words(leaves: int) -> None:
    toy = grid([3] * leaves, low=(1 << 20))
    wide = system(leaves_of(*(("number", 0, (1 << 21) + 3) for _ in range(leaves))), [[0] * leaves], toy.transitions)
    generator = random.Random(3)
    states = [tuple(generator.randint(1 << 20, (1 << 20) + 2) for _ in range(leaves)) for _ in range(21)]
    assert Kernel(wide).words == (21 * leaves + leaves + 63) // 64 or leaves > 2
    compare_expansion(wide, states)


def test_the_owner_hash_is_the_one_that_is_written_down() -> None:
    for sides in ([5, 5], [1 << 40] * 2, [1 << 60] * 3):
        toy = grid(sides)
        for kernel in both(toy):
            states = kernel.layout.pack(random_states(random.Random(5), toy.leaves, 19))
            assert [int(h) for h in kernel.hashes(states)] == [partition_hash(map(int, row)) for row in states]


def test_the_owner_hash_never_changes() -> None:
    assert [hex(partition_hash(words)) for words in ([1], [3, 0], [3, 1 << 63])] == HASHES


HASHES = ["0xd8685893e3d7d0e9", "0x1d5ac3395e5fe78e", "0x6fea9825b129317e"]


def test_more_than_64_verdicts() -> None:
    x = leaves_of(("number", 0, 200))
    toy = system(x, [], [], invariants=[predicate(f"not-{i}", e.not_(e.eq(leaf(x[0]), number(i)))) for i in range(150)])
    for kernel in both(toy):
        found = kernel.evaluate(kernel.layout.pack([(i,) for i in range(150)]))
        assert found.shape == (150, 3)
        for i, row in enumerate(found):
            assert [(int(row[b // 64]) >> b % 64) & 1 for b in range(152)] == [int(b == i + 2) for b in range(152)]
    totals = np.zeros((1, 3), dtype=np.uint64)
    some = kernel.layout.pack([(3,), (149,)])
    kernel.code.calls["survey"](some.ctypes.data, 2, totals.ctypes.data)
    assert [int(t) for t in totals[0]] == [1 << 5, 0, 1 << 151 - 128]


def test_goals_are_asked_of_counted_states_only_and_failing_predicates_say_nothing() -> None:
    x = leaves_of(("number", 0, 7))
    small, big = e.le(leaf(x[0]), number(3)), e.lt(number(5), leaf(x[0]))
    toy = system(
        x,
        [],
        [],
        constraints=[predicate("small", small)],
        invariants=[predicate("never", e.FALSE, big)],
        goals=[predicate("any", e.TRUE, e.eq(leaf(x[0]), number(1)))],
    )
    failed, outside, never, reached = 1, 2, 4, 8
    counted = never | reached
    for kernel in both(toy):
        found = kernel.evaluate(kernel.layout.pack([(i,) for i in range(8)]))[:, 0].tolist()
        assert found == [counted, never | failed, counted, counted, *[never | outside] * 2, *[failed | outside] * 2]


def test_equal_systems_have_equal_texts_and_the_text_names_no_machine() -> None:
    first, second = Kernel(ring(4)), Kernel(ring(4))
    assert first.text == second.text and first.digest == second.digest
    assert "triple" not in first.text and "target-cpu" not in first.text
    assert Kernel(ring(3)).digest != first.digest


def test_numbers_that_do_not_fit_64_bits_are_refused() -> None:
    x = leaf(leaves_of(("number", 0, 1 << 40))[0])
    toy = system(leaves_of(("number", 0, 1 << 40)), [], [], invariants=[predicate("p", e.le(e.multiply(x, x), x))])
    with pytest.raises(ValueError, match="more than fits in 63 bits"):
        Kernel(toy)
    with pytest.raises(ValueError, match="more than fits in 63 bits"):
        kernel_text(toy, Layout(toy.leaves), verdicts(toy).bits)
