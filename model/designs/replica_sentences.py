"""Sentences about replicas, shared by the designs: records, log ends, and what a new follower does with its log."""

from __future__ import annotations

from typing import Any

from isrcheck.model.designs.sentences import of_partition, records_in_words
from isrcheck.model.language import becomes


def for_partition(m: Any, p: int) -> str:
    return f" for partition {p}" if m.partitions > 1 else ""


def now(old: Any, new: Any) -> str:
    """The new value or, if the old value differs, both values with an arrow between them."""
    return becomes(old, new) if old != new else str(new)


def ends_in_words(s: Any, p: int, b: Any) -> str:
    """Words for the log end and the high watermark of a replica."""
    return f"log end {len(s.log[p][b])} and high watermark {s.replica[p][b].high_watermark}"


def truncates(m: Any, old: Any, new: Any, p: int, b: Any) -> str:
    """Words for what a replica does with its log when it begins to follow."""
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
    """Words for the records that a deleted replica loses."""
    lost = records_in_words(old.log[p][b])
    return f"deletes its log with {lost}" if lost else "deletes its log, which is empty"
