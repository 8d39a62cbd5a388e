"""Scenarios that lose data do not refine a replicated log, at their own lengths; scenarios with fixes do."""

from __future__ import annotations

from functools import cache
from typing import Any

import pytest

from isrcheck.checker.analysis.check import check
from isrcheck.checker.analysis.refinement.refinement_check import refine
from isrcheck.checker.analysis.refinement.refinement_result import Refined
from isrcheck.checker.scenarios.scenario import Scenario, read
from tests.designs.shipped import DESIGNS
from tests.marks import EXHAUSTIVE, one_in
from tests.scenarios.shipped import FOLDERS

MISSED = frozenset(
    {
        "committed-records-are-stable",
        "elected-leader-has-what-is-committed",
        "no-acknowledged-loss",
        "no-committed-loss",
        "only-committed-records-are-read",
        "reads-are-repeatable",
    }
)
"""Invariants about records that clients know and that the present leader lacks."""
NOWHERE = frozenset({"acknowledged-is-not-lost-everywhere", "committed-is-not-lost-everywhere", "committed-survives"})
"""Invariants about records that are in no log at all, for the setting `must_keep`."""
EARLIER = {
    "kraft-late-truncation-and-a-crash": 26,
    "kraft-late-truncation-and-sessions-that-end": 28,
    "v1-zombie-and-reassignment": 11,
    "v2-zombie-overwrites-the-isr": 8,
    "v3-last-replica-standing": 10,
    "v3-reads-change": 11,
    "v3-two-leaders-and-unconditional-writes": 7,
    "v3-zombie-and-unclean-election": 6,
}
"""Scenarios whose own invariant breaks only after a committed record is missing, where refinement fails already."""
DELETED = {"v3-leader-of-a-deleted-topic-acknowledges": 4}
"""A leader that does not know that its topic is deleted acknowledges a record, which the deleted log cannot have."""
FAST = (
    "alter-isr-high-watermark-ignores-what-was-asked-for",
    "alter-isr-shrink-before-it-is-granted",
    "kraft-diverging-fetch-is-noted",
    "majority-forgets-its-vote-and-loses-a-record",
    "primary-backup-truncates-to-high-watermark",
    "v1-stale-read-before-election",
    "v1-zombie-and-reassignment",
    "v2-acknowledged-by-one-copy",
    "v2-stale-high-watermark",
    "v2-unclean-election",
    "v2-zombie-overwrites-the-isr",
    "v3-last-replica-standing",
    "v3-leader-of-a-deleted-topic-acknowledges",
    "v3-lost-zookeeper-reply",
    "v3-reads-change",
    "v3-stale-high-watermark",
)
"""Scenarios that take only a moment. All others are marked `exhaustive`."""


@cache
def scenario(name: str) -> Scenario:
    return read(FOLDERS[name])


def own_length(name: str, invariants: frozenset[str]) -> int | None:
    """The length of a scenario's shortest trace to some invariants, or None."""
    return min((length for n, length in scenario(name).lengths.items() if n in invariants), default=None)


LOSSES = sorted(name for name in FOLDERS if own_length(name, MISSED | NOWHERE) is not None)
MENDED = sorted(
    {c for name in LOSSES for c in scenario(name).fixed_versions if c in FOLDERS and scenario(c).expect == "holds"}
)
MENDED_FAST = sorted({c for name in FAST for c in scenario(name).fixed_versions} & {*MENDED})


def asked(name: str, **specification_settings: Any) -> Refined:
    about = scenario(name)
    return refine(
        about.specification(),
        about.settings,
        specification="replicated-log",
        specification_settings=specification_settings,
        profile="bare",
    )


def length(found: Refined) -> int | None:
    trace = found.result.invariants[found.name].trace
    assert (found.result.exit_code == 12) == (trace is not None)
    return None if trace is None else trace.length


def lost(name: str) -> None:
    """Compares the refinement of a scenario that loses data with its recorded lengths."""
    own, nowhere = own_length(name, MISSED), own_length(name, NOWHERE)
    found = asked(name)
    if name in DELETED:
        assert (length(found), [c.path for c in found.refused]) == (DELETED[name], ["acknowledged[0]"])
    elif name in EARLIER:
        assert length(found) == EARLIER[name] < (own or nowhere or 0)
        # It is what the invariant says of the same settings.
        about = scenario(name)
        missed = check(about.specification(), about.settings, invariants=["no-committed-loss"], profile="bare")
        assert len(missed.invariants["no-committed-loss"].trace.steps) == EARLIER[name]  # type: ignore[union-attr]
    elif own is not None:
        assert length(found) == own
    elif length(found) != nowhere:  # KAFKA-1148 acknowledges what is not committed: no log does that
        strictly = asked(name, must_keep=True)
        assert length(strictly) == nowhere
        assert [c.path for c in strictly.refused if c.said is not None] == ["kept[0]"]


@pytest.mark.parametrize("name", one_in(3, FAST, EXHAUSTIVE))
def test_a_loss_is_no_replicated_log(name: str) -> None:
    lost(name)


@pytest.mark.exhaustive
@pytest.mark.parametrize("name", one_in(8, sorted({*LOSSES} - {*FAST})))
def test_every_other_loss_is_none(name: str) -> None:
    lost(name)


@pytest.mark.parametrize("name", one_in(3, MENDED_FAST, EXHAUSTIVE))
def test_what_mends_a_loss_is_a_replicated_log(name: str) -> None:
    assert asked(name).result.verdict == "holds"


@pytest.mark.exhaustive
@pytest.mark.parametrize("name", one_in(8, sorted({*MENDED} - {*MENDED_FAST})))
def test_all_else_that_mends_a_loss_is_one(name: str) -> None:
    assert asked(name).result.verdict == "holds"


def test_there_are_losses_in_every_design() -> None:
    assert {scenario(name).model for name in LOSSES} == {*DESIGNS}
    assert len(LOSSES) >= 70
    assert len(MENDED) >= 50
    assert {*FAST, *EARLIER, *DELETED} <= {*LOSSES}
