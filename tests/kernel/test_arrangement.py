"""The choice of the words of leaves: it changes no result, and leaves that depend on each other share a word."""

from __future__ import annotations

import threading
import time
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from isrcheck.checker.engines.explicit.large_kernel import Arranged
from isrcheck.checker.kernel import vm, word_choice
from isrcheck.checker.kernel.compiled import Kernel
from isrcheck.checker.kernel.layout import Layout
from isrcheck.checker.kernel.word_choice import arranged
from isrcheck.checker.results.exploration import Limits
from isrcheck.model.semantics.expressions import TRUE, Leaf, add, leaf, lt
from isrcheck.model.semantics.transition_system import TransitionSystem
from tests.agreement.profiles import examples
from tests.kernel.large import search
from tests.kernel.test_checkpoints import comparable
from tests.kernel.toys import leaves_of, number, system, transition

QUESTION: dict[str, Any] = {"keep_going": True, "deadlock": False}


def pairs(count: int, width: int) -> TransitionSystem:
    """`2 * count` leaves of `width` bits. Leaf `count + i` always has the value of leaf i."""
    leaves = leaves_of(*(2 * count * [("number", 0, (1 << width) - 1)]))
    steps = []
    for i in range(count):
        more = add(leaf(leaves[i]), number(1))
        steps.append(transition(f"step-{i}", lt(leaf(leaves[i]), number(5)), {i: more, count + i: more}))
    return system(leaves, [[0] * (2 * count)], steps)


def test_leaves_with_the_same_values_come_into_one_word() -> None:
    toy = pairs(4, 15)  # 120 bits: the usual layout has leaves 0 to 3 in the first word and their doubles in the second
    usual = [place.word for place in Layout(toy.leaves).places]
    assert usual == [0, 0, 0, 0, 1, 1, 1, 1]
    chosen = [place.word for place in arranged(toy, []).layout.places]
    assert chosen[:4] == chosen[4:]
    assert sorted(chosen) == usual


def test_the_usual_layout_stays_if_no_choice_is_clearly_better() -> None:
    alone = system(leaves_of(("number", 0, 9)), [[0]], [])
    assert arranged(alone, []).layout.words == 1
    independent = leaves_of(*(2 * [("number", 0, (1 << 40) - 1)]))
    steps = [transition(f"s{i}", TRUE, {i: number(1)}) for i in (0, 1)]
    two = system(independent, [[0, 0]], steps)
    assert arranged(two, []).layout.places == Layout(two.leaves).places


def test_the_choice_depends_on_the_system_alone() -> None:
    toy = pairs(4, 15)
    kernel = Kernel(toy)
    first = kernel.layout.pack(toy.initial)
    second = np.unique(kernel.expand(first)[0], axis=0)
    places = [arranged(toy, levels).layout.places for levels in ([], [first], [first, second], [first, second])]
    assert places[0] == places[1]
    assert places[2] == places[3]


@examples(60)
@given(data=st.data())
def test_states_stay_the_same_in_another_layout(data: st.DataObject) -> None:
    widths = data.draw(st.lists(st.integers(0, 30), min_size=1, max_size=12))
    leaves = [Leaf(i, f"x{i}", "number", -3, (1 << width) - 4) for i, width in enumerate(widths)]
    some = Layout(leaves)
    room, words = [63, *([64] * 9)], list[int]()
    for width in widths:
        words.append(data.draw(st.sampled_from([w for w, bits in enumerate(room) if bits >= width])))
        room[words[-1]] -= width
    other = Layout(leaves, words)
    dice = np.random.default_rng(data.draw(st.integers(0, 1 << 32)))
    values = np.array([[int(dice.integers(-3, (1 << width) - 3)) for width in widths] for _ in range(20)])
    packed = some.moved(some.pack(values), other)
    assert np.array_equal(packed, other.pack(values))
    assert np.array_equal(other.unpack(packed), values)
    assert np.array_equal(other.moved(packed, some), some.pack(values))


def test_a_word_without_room_is_refused() -> None:
    with pytest.raises(ValueError, match="word 0 has no room for x1"):
        Layout(leaves_of(("number", 0, (1 << 40) - 1), ("number", 0, (1 << 40) - 1)), [0, 0])


@pytest.mark.parametrize("small", [0, 100])
@pytest.mark.parametrize("workers", [1, 3])
def test_the_search_uses_the_choice_and_finds_the_same(
    small: int, workers: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    toy = pairs(4, 15)
    found, levels = search(toy, **QUESTION, limits=Limits(), report=None, workers=workers, small=small)
    assert levels.kernel.layout.places != Layout(toy.leaves).places
    monkeypatch.setattr(word_choice, "WORTHWHILE", 0)
    same, usual = search(toy, **QUESTION, limits=Limits(), report=None, workers=workers, small=small)
    assert usual.kernel.layout.places == Layout(toy.leaves).places
    assert found.levels == same.levels
    assert sum(found.levels) == 6**4
    assert comparable(found) == comparable(same)
    for level in range(1, len(found.levels) + 1):
        assert sorted(levels.leaves(levels.level_states(level))) == sorted(usual.leaves(usual.level_states(level)))


def test_the_choice_is_made_once() -> None:
    large = Arranged(pairs(4, 15))
    large.begin([])
    kernel = large.kernel
    large.begin([])
    assert large.kernel is kernel


def test_two_threads_share_the_code_that_runs_programs(monkeypatch: pytest.MonkeyPatch) -> None:
    """If each made its own, one would be freed, perhaps while it runs."""
    text = vm.vm_text

    def slow() -> str:
        time.sleep(0.1)
        return text()

    monkeypatch.setattr(vm, "vm_text", slow)
    vm._code.cache_clear()
    made: list[Any] = []
    threads = [threading.Thread(target=lambda: made.append(vm.vm_functions()["run"])) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(made) == 4
    assert all(each is made[0] for each in made)


def test_no_more_is_tried_than_the_effort_allows(monkeypatch: pytest.MonkeyPatch) -> None:
    toy = pairs(4, 15)
    kernel = Kernel(toy)
    sample = kernel.layout.pack(np.random.default_rng(1).integers(0, 5, (300, 8)))
    tries = []
    for effort in (20, word_choice.EFFORT):
        monkeypatch.setattr(word_choice, "EFFORT", effort)
        choice = word_choice._Choice(toy.leaves, kernel.layout, sample)
        choice.improve()
        tries.append(choice._tries)
    assert tries[0] <= 20 + 2 * len(toy.leaves) < tries[1]
