"""A search of a large space may choose other words for the variables. No answer depends on the choice.

The tests let small spaces be searched like large ones, with words filled from the last to the first.
"""

from __future__ import annotations

import sys
from collections.abc import Sequence
from typing import Any

import pytest

from isrcheck.checker.analysis.check import check
from isrcheck.checker.analysis.refinement.refinement_check import refine
from isrcheck.checker.engines.explicit.search_cache import Earlier
from isrcheck.checker.kernel import word_choice
from isrcheck.checker.kernel.compiled import Kernel
from isrcheck.checker.kernel.layout import WORD, Layout, Words
from isrcheck.checker.results.result import Exit
from isrcheck.model.semantics.transition_system import TransitionSystem
from tests.marks import one_in
from tests.refinement.test_known_figures import of_scenario

OF_A_RUN = ("seconds", "peak_rss_bytes", "store_bytes", "states_per_second", "workers", "store")


def filled_from_the_last(system: TransitionSystem, levels: Sequence[Words]) -> Kernel:
    kernel = Kernel(system)
    room, words = [WORD - 1] + [WORD] * (kernel.words - 1), list[int]()
    for place in kernel.layout.places:
        words.append(max(word for word, bits in enumerate(room) if bits >= place.width))
        room[words[-1]] -= place.width
    return Kernel(system, Layout(system.leaves, words))


def comparable(answer: Any) -> dict[str, Any]:
    return {name: value for name, value in answer.to_json().items() if name not in OF_A_RUN}


@pytest.fixture
def other_words(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """The numbers of words of the systems that were searched with other words."""
    arranged = list[int]()

    def noted(system: TransitionSystem, levels: Sequence[Words]) -> Kernel:
        kernel = filled_from_the_last(system, levels)
        if kernel.layout.places != Layout(system.leaves).places:
            arranged.append(kernel.words)
        return kernel

    monkeypatch.setattr(sys.modules["isrcheck.checker.engines.explicit.search"], "_small", lambda words: 0)
    monkeypatch.setattr(word_choice, "arranged", noted)
    monkeypatch.setattr(Earlier, "space", lambda self: None)  # words that an earlier test has kept are not wanted
    return arranged


REFINEMENTS = ("v2-unclean-election", "alter-isr-shrink-once-it-is-granted", "v3-stale-high-watermark")


@pytest.mark.parametrize("scenario", one_in(3, REFINEMENTS))
def test_a_refinement_is_the_same(scenario: str, request: pytest.FixtureRequest) -> None:
    model, settings = of_scenario(scenario)
    usual = refine(model, settings, specification="replicated-log")
    arranged = request.getfixturevalue("other_words")
    other = refine(model, settings, specification="replicated-log")
    assert arranged
    assert comparable(other) == comparable(usual)


LOSSES = ("v3-stale-high-watermark", "alter-isr-shrink-before-it-is-granted", "v1-zombie-and-reassignment")


@pytest.mark.parametrize("scenario", one_in(3, LOSSES))
def test_a_trace_is_the_same(scenario: str, request: pytest.FixtureRequest) -> None:
    model, settings = of_scenario(scenario)
    usual = check(model, settings, keep_going=True)
    arranged = request.getfixturevalue("other_words")
    other = check(model, settings, keep_going=True)
    assert arranged
    assert usual.exit_code == Exit.VIOLATED
    assert comparable(other) == comparable(usual)
