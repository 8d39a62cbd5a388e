"""Walks of random models, seen as recordings, are always explained; tampered ones are as brute force says."""

from __future__ import annotations

from random import Random

from hypothesis import assume, given
from hypothesis import strategies as st

from isrcheck.checker.recordings.explaining import _explanation
from isrcheck.checker.recordings.file import recognised
from isrcheck.checker.recordings.matching import question
from isrcheck.checker.recordings.refusing import Refusing
from isrcheck.checker.recordings.search import search
from tests.agreement.engines import traced
from tests.agreement.profiles import examples
from tests.agreement.random_models import load, models
from tests.recordings.by_hand import TooMany, reached
from tests.recordings.walking import as_bytes, projected, tampered, walk

STATES = 4000


@examples(60, shrink=False)
@given(models(), st.integers(0, 2**32), st.booleans())
def test_a_recording_is_explained_exactly_where_brute_force_finds_an_order(source: str, seed: int, tampers: bool) -> None:
    choose = Random(seed)
    interpreter, system = traced(load(source))
    taken = walk(interpreter, choose, 8)
    lines, at_most = projected(interpreter, taken, choose)
    assume(len(lines) > 1)
    lines = tampered(interpreter, lines, choose) if tampers else lines
    at_most = max(0, at_most - 1) if tampers and choose.random() < 0.3 else at_most
    recording = recognised(as_bytes(lines))
    asked = question(recording, interpreter, system)
    answer = search(asked, at_most)
    if answer.end is not None:
        # What is shown is walked again, and compared with what was seen.
        told = _explanation("random", asked, answer.end)
        assert told.in_a_row <= at_most
    if not tampers:
        assert answer.end is not None
        return
    try:
        by_hand, failed = reached(recording, interpreter, at_most, STATES)
    except TooMany:
        assume(False)
    assert (answer.end is not None) == (tuple(map(len, recording.lanes.values())) in by_hand)
    if answer.end is None:
        most = max(map(sum, by_hand))
        assert {node.explained for node in answer.furthest} == {most}
        assert {node.positions for node in answer.furthest} <= {x for x in by_hand if sum(x) == most}
        assert (answer.failing is not None) == failed
        refused = Refusing(asked, answer.furthest)
        assert refused.positions in by_hand
