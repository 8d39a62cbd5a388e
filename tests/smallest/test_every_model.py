"""Every design and published model, with every invariant that fits, in a very small state space.

After a failure, read these tests first: a test's name has the question and the invariant, and its message has the place
in the model or in the invariants. `python -m tests.smallest.regenerate` records intended changes.
"""

from __future__ import annotations

import json
from itertools import zip_longest
from typing import Any

import pytest

from isrcheck.checker.registry.loader import library_invariants, model_names
from tests.smallest.questions import QUESTIONS, answer
from tests.smallest.regenerate import RECORDED

WANTED: dict[str, dict[str, Any]] = json.loads(RECORDED.read_text())
ASKED = [(question, name) for question in QUESTIONS for name in WANTED.get(question, {}).get("judged", ())]


def test_every_model_has_a_question() -> None:
    missing = {*model_names()} - {model for model, _ in QUESTIONS.values()}
    assert not missing, f"write the smallest interesting settings of {missing} in tests/smallest/questions.py"
    assert QUESTIONS.keys() == WANTED.keys(), "record them: python -m tests.smallest.regenerate"


def test_every_invariant_is_asked() -> None:
    missing = library_invariants().keys() - {name for _, name in ASKED}
    assert not missing, f"{missing}: of no model at its smallest settings; see tests/smallest/questions.py"


@pytest.mark.parametrize("question", QUESTIONS)
def test_everything_has_a_value(question: str) -> None:
    assert (wrong := answer(question).without_value()) is None, f"{question}: {wrong}"


@pytest.mark.parametrize("question", QUESTIONS)
def test_what_can_happen(question: str) -> None:
    found, wanted = answer(question), WANTED[question]
    levels, generated = found.found.levels, found.data["generated"]
    assert generated.keys() == wanted["generated"].keys(), f"{question} has other actions"
    for level, (now, before) in enumerate(zip_longest(levels, wanted["levels"]), 1):
        for action, counts in generated.items():
            pair = tuple(x[level - 1] if level <= len(x) else 0 for x in (counts, wanted["generated"][action]))
            assert pair[0] == pair[1], (
                f"{question}: action {action} ({found.where(action)}) can happen {pair[0]} times in level {level}, "
                f"recorded {pair[1]}"
            )
        # A level is what the actions of the level before lead to: one of them leads elsewhere.
        assert now == before, f"{question}: level {level} has {now} states, recorded {before}"


@pytest.mark.parametrize(("question", "name"), ASKED, ids=[f"{question}-{name}" for question, name in ASKED])
def test_what_an_invariant_says(question: str, name: str) -> None:
    found, wanted = answer(question), WANTED[question]
    assert name in found.evaluated, f"{question} is not asked {name} any more"
    where, now = f"{question}: {name} ({found.where(name)})", found.data
    evaluated, recorded = now["judged"][name], wanted["judged"][name]
    assert evaluated == recorded, f"{where} is true, false, without a value in {evaluated} states, recorded {recorded}"
    length, before = now["violated"].get(name), wanted["violated"].get(name)
    assert length == before, f"{where} is first false in {length} states, recorded {before}"


@pytest.mark.parametrize("question", QUESTIONS)
def test_nothing_new_is_asked_in_silence(question: str) -> None:
    new = answer(question).evaluated.keys() - WANTED[question]["judged"].keys()
    assert not new, f"{question}: record {new}: python -m tests.smallest.regenerate"
