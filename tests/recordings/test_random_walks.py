"""Recordings of walks through random models are always explained; answers for changed ones agree with brute force."""

from __future__ import annotations

from random import Random

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from isrcheck.checker.trace_validation.line_matches import Question, question
from isrcheck.checker.trace_validation.recording_file import Recording, recognised
from isrcheck.checker.trace_validation.rejected_lines import Allowance, Refusing
from isrcheck.checker.trace_validation.validate import explained
from isrcheck.checker.trace_validation.validation_search import SearchResult, search
from isrcheck.model.semantics.interpreter import Interpreter
from tests.agreement.engines import traced
from tests.agreement.profiles import examples
from tests.agreement.random_models import load, models
from tests.recordings.by_hand import TooMany, reached
from tests.recordings.walking import as_bytes, projected, tampered, walk

STATES = 3000


def asked(source: str, choose: Random, tampers: bool) -> tuple[Recording, Interpreter, Question, int]:
    """A recording of a random walk, its model, its question, and the most hidden steps in a row."""
    interpreter, system = traced(load(source))
    lines, at_most = projected(interpreter, walk(interpreter, choose, 8), choose)
    assume(len(lines) > 1)
    recording = recognised(as_bytes(tampered(interpreter, lines, choose) if tampers else lines))
    return recording, interpreter, question(recording, interpreter, system), at_most


def by_hand(recording: Recording, interpreter: Interpreter, at_most: int) -> tuple[set[tuple[int, ...]], bool]:
    try:
        return reached(recording, interpreter, at_most, STATES)
    except TooMany:
        assume(False)
        raise


def whole(recording: Recording) -> tuple[int, ...]:
    return tuple(map(len, recording.process_logs.values()))


@examples(20, shrink=False)
@given(models(), st.integers(0, 2**32))
def test_a_walk_is_explained(source: str, seed: int) -> None:
    _, _, wanted, at_most = asked(source, Random(seed), tampers=False)
    answer = search(wanted, at_most)
    assert answer.end is not None
    # What is shown is walked again there, and compared with what was seen.
    assert explained("random", wanted, answer.end).in_a_row <= at_most


def compare(recording: Recording, interpreter: Interpreter, wanted: Question, at_most: int) -> SearchResult:
    answer = search(wanted, at_most)
    all_ways, failed = by_hand(recording, interpreter, at_most)
    assert (answer.end is not None) == (whole(recording) in all_ways)
    if answer.end is not None:
        assert explained("random", wanted, answer.end).in_a_row <= at_most
        return answer
    most = max(map(sum, all_ways))
    assert {node.explained for node in answer.furthest} == {most}
    assert {node.positions for node in answer.furthest} == {x for x in all_ways if sum(x) == most}
    assert (answer.failing is not None) == failed
    refusing = Refusing(wanted, answer.furthest)
    for refused in refusing.refused(at_most, Allowance(10**6)):
        assert refused.reasons
        # One more than what is explained is the line itself, and by no way is it explained as well.
        process_log = list(recording.process_logs).index(refused.line.process_log)
        assert recording.process_logs[refused.line.process_log][refusing.positions[process_log]] == refused.line
    return answer


@examples(40, shrink=False)
@given(models(), st.integers(0, 2**32))
@pytest.mark.exhaustive
def test_what_was_tampered_with_is_refused_where_brute_force_says(source: str, seed: int) -> None:
    recording, interpreter, wanted, at_most = asked(source, Random(seed), tampers=True)
    compare(recording, interpreter, wanted, at_most)


@examples(20, shrink=False)
@given(models(), st.integers(0, 2**32))
def test_with_a_hidden_step_less_the_answer_is_that_of_brute_force(source: str, seed: int) -> None:
    recording, interpreter, wanted, at_most = asked(source, Random(seed), tampers=False)
    assume(at_most)
    compare(recording, interpreter, wanted, at_most - 1)
