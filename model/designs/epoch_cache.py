"""The leader-epoch cache: for each leader epoch the offset at which it starts.

A cache is a sequence of (epoch, start), ascending in both. The rules for updating a cache, and for answering a follower
that asks where an epoch ends, are those of KIP-101, KIP-279, KAFKA-7415 and the page "Kafka processing
OffsetForLeaderEpochRequest".
"""

from __future__ import annotations

from typing import Any

from isrcheck.model.language import count, every, number, record, sequence, some, when


def epoch_cache(greatest_epoch: int, log_size: int) -> Any:
    """The domain of a cache, which has each epoch at most once."""
    return sequence(record(epoch=number(0, greatest_epoch), start=number(0, log_size)), greatest_epoch + 1)


def entries(cache: Any, greatest_epoch: int) -> list[tuple[Any, Any]]:
    """A pair for each index of a cache: whether the cache has an entry there, and the entry."""
    return [(cache.length > i, cache.at(i)) for i in range(greatest_epoch + 1)]


def latest_epoch(cache: Any) -> Any:
    """The epoch of the last entry, or -1 if the cache is empty."""
    return when(cache.is_empty, -1, cache.last.epoch)


def assigned(cache: Any, epoch: Any, start: Any, greatest_epoch: int) -> Any:
    """The cache after adding that `epoch` starts at the offset `start`.

    Nothing changes if `epoch` is already the latest epoch and starts at or before `start`. Otherwise, entries that
    contradict the new entry are removed: those of `epoch` or later epochs, and those that start at or after `start`.
    """
    known = (latest_epoch(cache) == epoch) & (cache.last.start <= start)
    kept = count(there & (x.epoch < epoch) & (x.start < start) for there, x in entries(cache, greatest_epoch))
    return when(known, cache, cache.truncated(kept).appended({"epoch": epoch, "start": start}))


def truncated(cache: Any, length: Any, greatest_epoch: int) -> Any:
    """The cache of a log that keeps `length` records: entries that start at `length` or later are removed."""
    return cache.truncated(count(there & (x.start < length) for there, x in entries(cache, greatest_epoch)))


def retained(cache: Any, log_start: Any, greatest_epoch: int) -> Any:
    """The cache of a log whose records below `log_start` were deleted by age: no epoch starts below `log_start`.

    No model deletes records by age; the rule is here because it belongs to the cache.
    """
    gone = count(there & (x.start <= log_start) for there, x in entries(cache, greatest_epoch))
    kept: Any = cache.truncated(0)
    for i, (there, x) in enumerate(entries(cache, greatest_epoch)):
        start = when(x.start < log_start, log_start, x.start)
        stays = there & ((gone == 0) | (gone <= i + 1))
        kept = when(stays, kept.appended({"epoch": x.epoch, "start": start}), kept)
    return kept


def end_of_epoch(cache: Any, epoch: Any, log_end: Any, greatest_epoch: int) -> Any:
    """The offset at which an epoch ends, as in KIP-101; -1 if the cache does not say it.

    The latest epoch ends at the log end. Another epoch ends where the next greater epoch starts, if there is one.
    """
    end: Any = -1
    for there, x in reversed(entries(cache, greatest_epoch)):
        end = when(there & (x.epoch > epoch), x.start, end)
    return when(epoch < 0, -1, when(latest_epoch(cache) == epoch, log_end, end))


def floor_epoch(cache: Any, epoch: Any, greatest_epoch: int) -> Any:
    """The greatest epoch in the cache that is at most the given epoch, as in KIP-279.

    If the cache has only greater epochs, the answer is the given epoch. The answer is -1 if the given epoch is negative
    or greater than the latest epoch in the cache.
    """
    floor: Any = -1
    for there, x in entries(cache, greatest_epoch):
        floor = when(there & (x.epoch <= epoch), x.epoch, floor)
    later = some(there & (x.epoch > epoch) for there, x in entries(cache, greatest_epoch))
    answer = when((floor == -1) & later, epoch, floor)
    known = later | (latest_epoch(cache) == epoch)
    return when(known & (epoch >= 0), answer, -1)


def describes(cache: Any, log: Any, log_size: int, greatest_epoch: int) -> Any:
    """Whether a cache has the epochs of a log's records, with their first offsets, and besides at most one more epoch.

    The additional epoch starts at the log end: it is a leader's own epoch, before the leader has appended a record.
    """

    def starts(offset: int) -> Any:
        here, before = log.at(offset).epoch, None if offset == 0 else log.at(offset - 1).epoch
        return True if before is None else here != before

    def listed(offset: int) -> Any:
        found = some(
            there & (x.epoch == log.at(offset).epoch) & (x.start == offset)
            for there, x in entries(cache, greatest_epoch)
        )
        return (log.length <= offset) | ~(starts(offset) & (log.length > offset)) | found

    epochs = count((log.length > o) & starts(o) for o in range(log_size))
    extra = cache.length == epochs
    at_end = (cache.length == epochs + 1) & (cache.last.start == log.length)
    return every(listed(o) for o in range(log_size)) & (extra | at_end)
