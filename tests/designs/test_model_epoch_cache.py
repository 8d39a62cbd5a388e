"""The rules of the leader-epoch cache, on the examples of the page "Kafka processing OffsetForLeaderEpochRequest"."""

from __future__ import annotations

from typing import Any

import pytest

from isrcheck import check
from isrcheck.checker.registry.loader import LoadedModel
from isrcheck.checker.results.exploration import Limits
from isrcheck.model.designs import epoch_cache
from isrcheck.model.language import Model, action, number
from tests.designs.replaying import Story

EPOCHS, SIZE = 3, 8


class OneCache(Model):
    """A cache, what is done to it, and the answers that it gives."""

    def variables(self) -> dict[str, Any]:
        return {
            "cache": epoch_cache.epoch_cache(EPOCHS, SIZE),
            "end": number(-1, SIZE),
            "floor": number(-1, EPOCHS),
        }

    @action(epoch=number(0, EPOCHS), start=number(0, SIZE), actor="replica")
    def append(self, s: Any, epoch: int, start: int) -> None:
        """A record of an epoch is appended at an offset, or a leader's epoch begins there."""
        s.cache = epoch_cache.assigned(s.cache, epoch, start, EPOCHS)

    @action(length=number(0, SIZE), actor="replica")
    def truncate(self, s: Any, length: int) -> None:
        """The log is truncated."""
        s.cache = epoch_cache.truncated(s.cache, length, EPOCHS)

    @action(start=number(0, SIZE), actor="replica")
    def delete_before(self, s: Any, start: int) -> None:
        """Old records are deleted."""
        s.cache = epoch_cache.retained(s.cache, start, EPOCHS)

    @action(epoch=number(-1, EPOCHS), log_end=number(0, SIZE), actor="follower")
    def ask(self, s: Any, epoch: int, log_end: int) -> None:
        """A follower asks where an epoch ends."""
        s.end = epoch_cache.end_of_epoch(s.cache, epoch, log_end, EPOCHS)
        s.floor = epoch_cache.floor_epoch(s.cache, epoch, EPOCHS)


def reported(text: str) -> tuple[list[tuple[int, int]], int, int]:
    """The cache after a story, and the last answer: the end offset of the epoch, and the epoch itself."""
    story = Story(LoadedModel(OneCache, "one-cache", None, {}), ())
    story.tell(text)
    cache = [(x["epoch"], x["start"]) for x in story.value("cache")]
    return cache, story.value("end"), story.value("floor")


def test_the_new_leader_has_appended_nothing_and_its_log_end_is_the_answer() -> None:
    # B has offsets 0 to 3 of epoch 1. A, with six records, asks where epoch 1 ends and keeps four.
    assert reported("append(epoch=1, start=0)\nask(epoch=1, log_end=4)") == ([(1, 0)], 4, 1)
    # Since KAFKA-7415 the leader's epoch 2 is in its cache at once, and the answer is the same.
    at_once = "append(epoch=1, start=0)\nappend(epoch=2, start=4)\nask(epoch=1, log_end=4)"
    assert reported(at_once) == ([(1, 0), (2, 4)], 4, 1)


def test_the_new_leader_has_appended_and_the_start_of_its_epoch_is_the_answer() -> None:
    leader = "append(epoch=1, start=0)\nappend(epoch=2, start=4)\nappend(epoch=2, start=5)\nask(epoch=1, log_end=7)"
    assert reported(leader) == ([(1, 0), (2, 4)], 4, 1)
    # A truncates to offset 4 and fetches from there: its cache gets the new epoch with the first record of it.
    follower = "append(epoch=1, start=0)\ntruncate(length=4)\nappend(epoch=2, start=4)\nappend(epoch=2, start=5)"
    assert reported(follower)[0] == [(1, 0), (2, 4)]


LOG = "append(epoch=0, start=0)\nappend(epoch=1, start=2)\nappend(epoch=3, start=5)\n"


@pytest.mark.parametrize(
    ("epoch", "end", "floor"),
    [(-1, -1, -1), (0, 2, 0), (1, 5, 1), (2, 5, 1), (3, 7, 3)],
)
def test_an_epoch_ends_where_the_next_known_one_starts(epoch: int, end: int, floor: int) -> None:
    _, found_end, found_floor = reported(LOG + f"ask(epoch={epoch}, log_end=7)")
    assert (found_end, found_floor) == (end, floor)


def test_an_epoch_before_the_first_ends_where_that_starts_and_a_later_one_is_unknown() -> None:
    assert reported("append(epoch=2, start=1)\nask(epoch=0, log_end=3)") == ([(2, 1)], 1, 0)
    assert reported("append(epoch=2, start=1)\nask(epoch=3, log_end=3)") == ([(2, 1)], -1, -1)
    assert reported("ask(epoch=0, log_end=3)") == ([], -1, -1)


@pytest.mark.parametrize(
    ("step", "cache"),
    [
        ("truncate(length=0)", []),
        ("truncate(length=2)", [(0, 0)]),
        ("truncate(length=3)", [(0, 0), (1, 2)]),
        ("truncate(length=7)", [(0, 0), (1, 2), (3, 5)]),
        ("delete-before(start=0)", [(0, 0), (1, 2), (3, 5)]),
        ("delete-before(start=1)", [(0, 1), (1, 2), (3, 5)]),
        ("delete-before(start=2)", [(1, 2), (3, 5)]),
        ("delete-before(start=4)", [(1, 4), (3, 5)]),
        ("delete-before(start=8)", [(3, 8)]),
        ("append(epoch=3, start=6)", [(0, 0), (1, 2), (3, 5)]),
        ("append(epoch=3, start=4)", [(0, 0), (1, 2), (3, 4)]),
        ("append(epoch=2, start=5)", [(0, 0), (1, 2), (2, 5)]),
        ("append(epoch=1, start=1)", [(0, 0), (1, 1)]),
    ],
)
def test_what_a_step_leaves_of_a_cache(step: str, cache: list[tuple[int, int]]) -> None:
    assert reported(LOG + step)[0] == cache


def test_engines_agree_on_the_rules() -> None:
    found = [
        check(OneCache, profile="bare", engine=engine, limits=Limits(states=400, memory=1 << 30))
        for engine in ("local", "reference")
    ]
    assert len({(r.distinct, r.depth, r.verdict) for r in found}) == 1
