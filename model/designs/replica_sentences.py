"""Sentences about replicas that designs share: records, log ends, what a new follower does to its log."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from isrcheck.model.language import becomes


def of_partition(m: Any, p: int) -> str:
    """Which partition, where there are several."""
    return f" of partition {p}" if m.partitions > 1 else ""


def for_partition(m: Any, p: int) -> str:
    return f" for partition {p}" if m.partitions > 1 else ""


def now(old: Any, new: Any) -> str:
    """A value, with what it was before if that is another."""
    return becomes(old, new) if old != new else str(new)


def records_in_words(records: Iterable[Any]) -> str:
    return " and ".join(f"record {r.id} of epoch {r.epoch}" for r in records)


def ends_in_words(s: Any, p: int, b: Any) -> str:
    """How far a replica is."""
    return f"log end {len(s.log[p][b])} and high watermark {s.replica[p][b].high_watermark}"


def truncates(m: Any, old: Any, new: Any, p: int, b: Any) -> str:
    """What a replica does with its log as it begins to follow."""
    end, kept = len(old.log[p][b]), len(new.log[p][b])
    if kept < end:
        lost = records_in_words(old.log[p][b][kept:])
        return f"truncates {lost}, back to its high watermark {kept}: log end {becomes(end, kept)}"
    if m.asks_where_epochs_end and new.replica[p][b].truncating:
        return f"keeps its log, log end {end}, until it has asked where the epoch of its last record ends"
    if m.has_epoch_cache or not end or old.replica[p][b].high_watermark < end:
        return f"keeps its log, log end {end}"
    return f"truncates nothing, for its high watermark {end} is its log end"


def deletes_log(old: Any, p: int, b: Any) -> str:
    """What is gone when a replica is deleted."""
    lost = records_in_words(old.log[p][b])
    return f"deletes its log with {lost}" if lost else "deletes its log, which is empty"
