"""Lanes of compiled code: intervals at the limits of a width, ends of groups, and kinds of processors."""

from __future__ import annotations

import platform
import random
from collections.abc import Iterator
from contextlib import suppress
from functools import cache

import llvmlite.binding as llvm
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from isrcheck.checker.kernel import llvm_compiler
from isrcheck.checker.kernel.compiled import Kernel
from isrcheck.checker.kernel.llvm_expressions import stored_width, width
from isrcheck.checker.kernel.llvm_words import GROUP
from isrcheck.checker.kernel.verdict_bits import ACTIONS, FAILURES, GREATEST, LEAST
from isrcheck.checker.registry.loader import load_model_class
from isrcheck.model.language.errors import ModelError
from isrcheck.model.semantics import expressions as e
from isrcheck.model.semantics.expressions import LARGEST, Expression, Leaf, constant, evaluate, leaf
from isrcheck.model.semantics.operators import Kind, signed
from isrcheck.model.semantics.tracing import trace
from tests.agreement.profiles import examples
from tests.kernel.toys import leaves_of, number, predicate, system, transition
from tests.marks import one_in

NEEDED = {
    "x86-64": (),
    "x86-64-v3": ("avx2", "bmi2", "fma"),
    "x86-64-v4": ("avx2", "bmi2", "fma", "avx512f", "avx512bw", "avx512cd", "avx512dq", "avx512vl"),
}
"""Kinds of processors (without wide vectors, with AVX2, with AVX-512), and the features that their code needs."""


@pytest.fixture(params=["host", *(pytest.param(kind, marks=pytest.mark.exhaustive) for kind in NEEDED)])
def processor(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> str:
    """Makes the compiler use only this kind of processor."""
    kind = str(request.param)
    if kind != "host":
        has = llvm.get_host_cpu_features()
        if platform.machine() not in ("x86_64", "AMD64") or not all(has.get(x) for x in NEEDED[kind]):
            pytest.skip(f"this machine does not run code for {kind}")
        monkeypatch.setattr(llvm_compiler, "_processor", lambda: (kind, ""))
    return kind


# --- widths ---------------------------------------------------------------------------------------------------------


def test_a_lane_holds_its_interval_with_a_sign_and_no_narrower_one_does() -> None:
    borders = [0, 1, 127, 128, 255, 256, 32767, 32768, 65535, 65536, (1 << 31) - 1, 1 << 31, LARGEST]
    for low in [-x for x in borders] + [-129, -32769, -(1 << 31) - 1]:
        for high in borders:
            bits = width(low, high)
            assert bits in (8, 16, 32, 64)
            assert -(2 ** (bits - 1)) <= low and high <= 2 ** (bits - 1) - 1
            assert bits == 8 or low < -(2 ** (bits // 2 - 1)) or high > 2 ** (bits // 2 - 1) - 1
    assert [stored_width(bits) for bits in (1, 8, 9, 16, 17, 32, 33, 63)] == [8, 8, 16, 16, 32, 32, 64, 64]


NUMBERS = [
    (0, 1), (-1, 126), (0, 127), (-128, 127), (0, 128), (-129, 0), (1, 256), (0, 255), (0, 32767), (-32768, 32767),
    (0, 32768), (-32769, 5), (0, 65535), (-(1 << 31), (1 << 31) - 1), (0, 1 << 31), (-(1 << 31) - 1, 0),
    (-(1 << 60), 1 << 60), (0, 1 << 61),
]  # fmt: skip
BROKERS = [(-1, 2), (-1, 5), (0, 6), (-1, 6), (0, 7), (-1, 7), (-1, 13), (0, 14), (-1, 29), (-1, 30), (0, 61), (-1, 61)]
SETS = [3, 6, 7, 8, 14, 15, 16, 30, 31, 32, 62]
LEAVES = leaves_of(
    ("flag", 0, 1),
    ("flag", 0, 1),
    *(("number", low, high) for low, high in NUMBERS),
    *(("broker", low, high) for low, high in BROKERS),
    *(("set", 0, (1 << size) - 1) for size in SETS),
)
OF = {kind: [leaf(x) for x in LEAVES if x.kind == kind] for kind in ("flag", "number", "broker", "set")}
MAX = {"number": LARGEST, "set": (1 << 62) - 1}


def applied(kind: Kind, a: Expression, b: Expression) -> Iterator[Expression]:
    """The operators that models write with a sign, applied to two values of a kind, where they are defined."""
    for of in signed(kind):
        for arguments in ((a, b), (b, a)):
            with suppress(ModelError):
                yield of.build(*arguments)


def values() -> Iterator[Expression]:
    """Expressions of numbers and sets: each operator with operands of many widths."""
    numbers, sets, (flag, other) = OF["number"], OF["set"], OF["flag"]
    for i, a in enumerate(numbers):
        for b in {numbers[i], *numbers[i + 1 : i + 3], numbers[(7 * i + 3) % len(numbers)], number(-1), number(200)}:
            yield from applied("number", a, b)
            yield e.if_(e.le(a, b), a, b)
            yield e.if_(flag, e.subtract(a, b), b)
            yield e.if_(e.le(b, a), e.add(e.if_(other, number(127), number(128)), b), a)
    for i, a in enumerate(sets):
        yield e.size(a)
        for b in {*sets[i + 1 : i + 3], sets[(5 * i + 2) % len(sets)], constant("set", 0b10000001)}:
            yield from applied("set", a, b)
    yield from (e.only(broker, max(3, broker.high + 1)) for broker in OF["broker"])


def conditions() -> Iterator[Expression]:
    """Flags over operands of many widths, and their negations."""
    found = [e.eq(*OF["flag"])]
    for relation in (e.le, e.eq):
        for i, a in enumerate(OF["number"]):
            operands = [
                *OF["number"][i + 1 : i + 3],
                OF["number"][(11 * i + 5) % len(NUMBERS)],
                number(127),
                number(128),
            ]
            found += [relation(a, b) for b in operands] + [relation(b, a) for b in operands]
    for i, a in enumerate(OF["set"]):
        found += [e.subset(a, b) for b in OF["set"]]
        found += [e.has(a, broker) for broker in OF["broker"]]
        found += [e.has(a, constant("broker", k)) for k in (-1, 0, 6, 7, 8, i, 61)]
    for condition in (*OF["flag"], *found):
        yield from (condition, e.not_(condition))


def states(generator: random.Random, leaves: tuple[Leaf, ...], count: int) -> list[tuple[int, ...]]:
    """Random states, with many values at ends of intervals and at limits of widths."""
    near = [sign * (1 << k) + d for k in (0, 7, 8, 15, 16, 31, 32) for sign in (-1, 1) for d in (-1, 0, 1)]
    inside = [[x.low, x.high, *(v for v in near if x.low <= v <= x.high)] for x in leaves]

    def value(x: Leaf) -> int:
        return generator.choice([*inside[x.index], generator.randint(x.low, x.high)])

    return [tuple(map(value, leaves)) for _ in range(count)]


def place_for(expression: Expression) -> int | None:
    """The narrowest leaf that can store each value of an expression."""
    fitting = [x for x in LEAVES if x.kind == expression.kind and x.low <= expression.low and expression.high <= x.high]
    return min(fitting, key=lambda x: x.high - x.low).index if fitting else None


@cache
def all_of_them() -> tuple[list[Expression], list[Expression]]:
    """The values that fit a leaf, and the conditions."""
    return (
        [x for x in dict.fromkeys(values()) if x.value is None and place_for(x) is not None],
        [x for x in dict.fromkeys(conditions()) if x.value is None or isinstance(x.value, Leaf)],
    )


def drawn(generator: random.Random, given: list[Expression], most: int) -> list[Expression]:
    """At most `most` random expressions of each operator."""
    by_operator: dict[str, list[Expression]] = {}
    for x in given:
        by_operator.setdefault(x.operator, []).append(x)
    return [x for found in by_operator.values() for x in generator.sample(found, min(most, len(found)))]


def compare(written: list[Expression], asked: list[Expression], where: str) -> None:
    """Asserts that compiled code computes each value and each condition as the semantics do."""
    assert {x.operator for x in (*written, *asked)} >= e.SEMANTICS.keys() - {"and", "or"}
    for start in range(0, max(len(written), len(asked)), AT_ONCE):
        _compare(written[start : start + AT_ONCE], asked[start : start + AT_ONCE], where)


AT_ONCE = 40
"""The number of expressions compiled together. The time to compile a function grows faster than its length."""


def _compare(written: list[Expression], asked: list[Expression], where: str) -> None:
    places = [place_for(x) for x in written]
    moves = [
        transition("move", e.TRUE, {place: x}, which=i)
        for i, (x, place) in enumerate(zip(written, places, strict=True))
        if place is not None
    ]
    assert len(moves) == len(written)
    kernel = Kernel(system(LEAVES, [], moves, invariants=[predicate(f"p{i}", x) for i, x in enumerate(asked)]))
    assert kernel.code.addresses["expand"]
    begun = states(random.Random(11), LEAVES, 2 * GROUP + 5)
    packed = kernel.layout.pack(begun)
    after, sources, which, _ = kernel.expand(packed)
    meant = [evaluate([*written, *asked], state) for state in begun]
    assert len(after) == len(begun) * len(written)
    for i, t, row in zip(sources.tolist(), which.tolist(), kernel.layout.unpack(after).tolist(), strict=True):
        wanted = [meant[i][t] if place == places[t] else before for place, before in enumerate(begun[i])]
        assert row == wanted, f"{written[t]!r} on {where} in {begun[i]}"
    for state, bits, known in zip(begun, kernel.evaluate(packed).tolist(), meant, strict=True):
        # An invariant's bit says that it is violated; two other bits come first.
        for i, holds in enumerate(known[len(written) :], start=2):
            assert 1 - (bits[i // 64] >> i % 64 & 1) == holds, f"{asked[i - 2]!r} on {where} in {state}"


def test_each_operator_at_some_borders_of_widths(processor: str) -> None:
    generator = random.Random(processor)
    written, asked = (drawn(generator, given, 2) for given in all_of_them())
    compare(written, asked, processor)


@pytest.mark.exhaustive
@pytest.mark.parametrize("processor", one_in(4, ["host", *NEEDED]), indirect=True)
def test_each_operator_at_all_borders_of_widths(processor: str) -> None:
    compare(*all_of_them(), processor)


BORDERS = sorted(
    {sign * (1 << k) + d for k in (0, 6, 7, 8, 14, 15, 16, 30, 31, 32) for sign in (-1, 1) for d in (-1, 0, 1)}
)


@examples(24)
@given(st.data())
def test_sums_and_products_of_any_intervals(data: st.DataObject) -> None:
    ends = [sorted(data.draw(st.tuples(*[st.sampled_from(BORDERS)] * 2))) for _ in range(4)]
    leaves = leaves_of(*(("number", low, high) for low, high in ends), ("number", -(1 << 61), 1 << 61))
    a, b, c, d = map(leaf, leaves[:4])
    sums = [
        e.add(a, b),
        e.subtract(e.add(a, c), b),
        e.multiply(a, d),
        e.add(e.multiply(c, number(3)), e.subtract(d, a)),
    ]
    sums += [e.if_(e.le(a, b), e.subtract(b, a), e.subtract(c, d)), e.if_(e.eq(c, d), e.multiply(a, b), e.add(d, d))]
    fitting = [x for x in sums if x.low >= -(1 << 61) and x.high <= 1 << 61]
    toy = system(leaves, [], [transition("move", e.TRUE, {4: x}, which=i) for i, x in enumerate(fitting)])
    kernel = Kernel(toy)
    assert kernel.code.addresses["expand"]
    some = [(*state[:4], 0) for state in states(random.Random(5), leaves, 40)]
    after, sources, which, _ = kernel.expand(kernel.layout.pack(some))
    found = dict(
        zip(zip(sources.tolist(), which.tolist(), strict=True), kernel.layout.unpack(after)[:, 4].tolist(), strict=True)
    )
    assert found == {(i, t): evaluate([x], state)[0] for i, state in enumerate(some) for t, x in enumerate(fitting)}


# --- groups ---------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("count", [1, GROUP - 1, GROUP, GROUP + 1, 2 * GROUP + 9])
def test_nothing_is_read_or_written_past_the_last_state(count: int, processor: str) -> None:
    kernel, columns = counting(), Kernel(counting().system)
    there = [(i % 50, i % 3) for i in range(count)]
    # States behind the last one, which would have successors: were they read, there would be more of everything.
    packed = kernel.layout.pack([*there, *[(7, 0)] * 130])
    wanted, _, _, tally = columns.expand(packed[:count])
    canary = np.uint64(0x5A5A5A5A5A5A5A5A)
    out = np.full((len(wanted) + 9, kernel.words), canary)
    found_tally = kernel.tally()
    code = kernel.code.calls
    found = code["expand"](packed.ctypes.data, count, out.ctypes.data, 0, 0, found_tally.ctypes.data)
    assert found == len(wanted) and np.array_equal(out[:found], wanted) and (out[found:] == canary).all()
    assert np.array_equal(found_tally, tally)
    for name, meant in (
        ("evaluate", columns.evaluate(packed[:count])[:, 0]),
        ("hashes", columns.hashes(packed[:count])),
    ):
        column = np.full(count + 9, canary)
        code[name](packed.ctypes.data, count, column.ctypes.data)
        assert np.array_equal(column[:count], meant) and (column[count:] == canary).all(), name
    notes = np.full((2, count + 9), canary.astype(np.int64))
    found = code["failures"](packed.ctypes.data, count, notes[0].ctypes.data, notes[1].ctypes.data)
    assert notes[:, :found].tolist() == [x.tolist() for x in columns.failures(packed[:count])]
    assert (
        found == sum(y == 2 for _, y in there) == tally[FAILURES]
        and (notes[:, found:] == canary.astype(np.int64)).all()
    )


def counting() -> Kernel:
    x, y = (leaf(x) for x in leaves_of(("number", 0, 100), ("number", 0, 2)))
    moves = [
        transition("up", e.le(x, number(49)), {0: e.add(x, number(1))}, e.eq(y, number(2))),
        transition("far", e.le(x, number(20)), {0: e.add(x, e.multiply(y, number(40)))}),
    ]
    toy = system(
        leaves_of(("number", 0, 100), ("number", 0, 2)), [], moves, invariants=[predicate("low", e.le(x, number(40)))]
    )
    return Kernel(toy)


@pytest.mark.parametrize("count", [126, 127, 128, 256])
def test_degrees_of_more_instances_than_a_byte_counts(count: int) -> None:
    x = leaf(leaves_of(("number", 0, 1))[0])
    guards = [e.TRUE] * (count - 1) + [e.eq(x, number(1))]
    moves = [transition("move", guard, {0: number(0)}, which=i) for i, guard in enumerate(guards)]
    kernel = Kernel(system(leaves_of(("number", 0, 1)), [], moves))
    assert kernel.code.addresses["expand"]
    for given_states, least, greatest in (([(0,), (1,)] * 40, count - 1, count), ([(1,)], count, count)):
        _, _, _, tally = kernel.expand(kernel.layout.pack(given_states))
        assert (tally[LEAST], tally[GREATEST]) == (least, greatest)
        assert tally[ACTIONS:].sum() == sum(count - 1 + state[0] for state in given_states)


# --- processors -----------------------------------------------------------------------------------------------------


def test_a_model_of_kafka_is_the_same_on_each_processor(processor: str) -> None:
    loaded = load_model_class("kip-320")
    toy = trace(loaded.cls(replicas=2, log_size=2, max_records=2, max_leader_epoch=1), loaded.chosen(None))
    columns, compiled = Kernel(toy), Kernel(toy)
    assert compiled.code.addresses["expand"]
    level = columns.layout.pack(toy.initial)
    for _ in range(9):
        for found, other in zip(columns.expand(level), compiled.expand(level), strict=True):
            assert np.array_equal(found, other)
        assert np.array_equal(columns.evaluate(level), compiled.evaluate(level))
        level = np.unique(columns.expand(level)[0], axis=0)
    assert len(level) > 3 * GROUP
