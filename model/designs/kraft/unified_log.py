"""UnifiedLog and LeaderEpochFileCache: the records of a replica, and where each leader epoch starts in them.

Offsets count from 0. The log end offset is one past the last record's offset. A record has the leader epoch in which it
was written.

Left out: batches of several records, segments, retention. Unlike in Kafka, the high watermark is part of `partition`,
and a move to another directory is one step.

Source: UnifiedLog.java, LeaderEpochFileCache.java of Kafka 4.3.
"""

from __future__ import annotations

from typing import Any, ClassVar

from isrcheck.model.designs import epoch_cache
from isrcheck.model.designs.kraft.state import KraftState
from isrcheck.model.language import (
    Part,
    action,
    broker,
    budget,
    goal,
    inert,
    number,
    per,
    record,
    sequence,
    setting,
    some,
    when,
)


def any_partition(m: Any) -> Any:
    return number(0, m.partitions - 1)


def any_end(m: Any) -> Any:
    return number(0, m.log_size)


class UnifiedLog(Part):
    """Logs, by partition and broker."""

    abstract = True

    replicas = setting(3, at_least=1, at_most=5, counts=broker, meaning="brokers, each a replica of the partition")
    log_size = setting(
        2,
        at_least=1,
        at_most=6,
        meaning="records a log can hold",
        bound=lambda m, s: some(s.log[p][b].is_full for p in m.all_partitions for b in m.brokers),
    )
    max_records = setting(
        1,
        at_least=1,
        at_most=6,
        meaning="records ever written",
        bound=lambda m, s: s.next_record_id == m.max_records,
    )
    max_leader_epoch = setting(
        2,
        at_least=0,
        at_most=9,
        meaning="greatest leader epoch; epochs count from 0",
        bound=lambda m, s: some(s.state[p].epoch == m.max_leader_epoch for p in m.all_partitions),
    )

    log_moves = budget(at_most=2, meaning="logs that move to another directory of their broker")
    moved_log = setting(
        "forgets-epochs",
        choices=("forgets-epochs", "keeps-epochs"),
        meaning="with log_moves: which leader epochs the copy of a log knows. forgets-epochs: those of its records "
        "(KAFKA-15608, KAFKA-20961); keeps-epochs: all that the log knew",
    )

    setting_constraints: ClassVar[tuple[Any, ...]] = (
        inert("moved_log", unless=lambda m: m.log_moves > 0, words="it needs log_moves>=1"),
    )

    partitions = 1
    has_epoch_cache = True

    def holds(self) -> dict[str, Any]:
        each: dict[str, Any] = {
            "log": sequence(self.any_record(), self.log_size),
            "epoch_cache": epoch_cache.epoch_cache(self.max_leader_epoch, self.log_size),
        }
        found: dict[str, Any] = {n: per(any_partition(self), per(broker, domain)) for n, domain in each.items()}
        if self.log_moves:
            found["log_moves"] = number(0, self.log_moves)
        return {**found, "next_record_id": number(0, self.max_records)}

    @property
    def all_partitions(self) -> range:
        return range(self.partitions)

    def any_record(self) -> Any:
        return record(id=number(0, self.max_records - 1), epoch=self.any_epoch())

    def any_epoch(self, least: int = 0) -> Any:
        return number(least, self.max_leader_epoch)

    # --- append and truncate ----------------------------------------------------------------------------------------

    def append_at(self, s: KraftState, p: int, b: Any, written: Any, where: Any = True) -> Any:
        """Appends a record if a condition holds, and returns the resulting log."""
        log, cache = s.log[p][b], s.epoch_cache[p][b]
        noted = epoch_cache.assigned(cache, written["epoch"], log.length, self.max_leader_epoch)
        longer = when(where, log.appended(written), log)
        s.log[p][b] = longer
        s.epoch_cache[p][b] = when(where, noted, cache)
        return longer

    def truncate_log(self, s: KraftState, p: int, b: Any, length: Any, where: Any = True) -> None:
        """truncateTo: removes the records at offset `length` or later, and the epochs that start there."""
        log, cache = s.log[p][b], s.epoch_cache[p][b]
        s.log[p][b] = when(where, log.truncated(length), log)
        s.epoch_cache[p][b] = when(where, epoch_cache.truncated(cache, length, self.max_leader_epoch), cache)

    def assign_epoch(self, s: KraftState, p: int, b: Any, epoch: Any, where: Any) -> None:
        """assignEpochStartOffset: if a condition holds, notes that an epoch starts at the log end (KAFKA-7415)."""
        cache = s.epoch_cache[p][b]
        noted = epoch_cache.assigned(cache, epoch, s.log[p][b].length, self.max_leader_epoch)
        s.epoch_cache[p][b] = when(where, noted, cache)

    def epoch_noted(self, cache: Any, epoch: Any, offset: Any) -> Any:
        """The epoch cache after a record of an epoch is appended at an offset."""
        return epoch_cache.assigned(cache, epoch, offset, self.max_leader_epoch)

    def epochs_below(self, cache: Any, length: Any) -> Any:
        """The epoch cache of a log that keeps `length` records."""
        return epoch_cache.truncated(cache, length, self.max_leader_epoch)

    @action(p=any_partition, b=broker, actor="operator", environment=True, where=lambda m: m.log_moves)
    def maybe_replace_current_with_future_replica(self, s: KraftState, p: int, b: Any) -> None:
        """maybeReplaceCurrentWithFutureReplica: the copy of a log, in another directory, takes the log's place.

        The copy has all records. With `moved_log = forgets-epochs`, its epoch cache lacks the epochs without records.
        """
        s.require(s.log_moves < self.log_moves)
        s.log_moves += 1
        if self.moved_log == "forgets-epochs":
            log = s.log[p][b]
            found = s.epoch_cache[p][b].truncated(0)
            for offset in range(self.log_size):
                epoch = log.at(offset).epoch
                begins = (log.at(offset - 1).epoch != epoch) if offset else True
                found = when((log.length > offset) & begins, found.appended({"epoch": epoch, "start": offset}), found)
            s.epoch_cache[p][b] = found

    def describe_maybe_replace_current_with_future_replica(self, old: Any, new: Any, p: int, b: Any) -> str:
        before, after = (" and ".join(f"{x.epoch}" for x in y.epoch_cache[p][b]) for y in (old, new))
        forgot = f", and knows of epochs {after or 'none'} where it knew of {before}" if after != before else ""
        return f"{b} has moved its log to another directory{forgot}"

    # --- where logs diverge -----------------------------------------------------------------------------------------

    def latest_epoch(self, s: KraftState, p: int, b: Any) -> Any:
        """latestEpoch: the last epoch in a broker's cache, or -1 if the cache is empty.

        A fetch names this epoch as the epoch of the last record, even if no record is of this epoch.
        """
        return epoch_cache.latest_epoch(s.epoch_cache[p][b])

    def end_for(self, s: KraftState, p: int, leader: Any, asked: Any) -> tuple[Any, Any]:
        """endOffsetFor: the greatest known epoch up to `asked`, and the end of epoch `asked`. -1 stands for unknown."""
        cache, end, top = s.epoch_cache[p][leader], s.log[p][leader].length, self.max_leader_epoch
        return epoch_cache.floor_epoch(cache, asked, top), epoch_cache.end_of_epoch(cache, asked, end, top)

    def truncation_point(self, s: KraftState, p: int, follower: Any, epoch: Any, end: Any) -> Any:
        """getOffsetTruncationState: where a follower truncates if its leader says that `epoch` ends at `end` (KIP-279).

        If the follower does not know the epoch, it truncates to the end of the last earlier epoch that it knows, or to
        `end` if it knows none. The follower's next fetch shows whether it has truncated enough.
        """
        top, cache, own_end = self.max_leader_epoch, s.epoch_cache[p][follower], s.log[p][follower].length
        floor = epoch_cache.floor_epoch(cache, epoch, top)
        floor_end = epoch_cache.end_of_epoch(cache, epoch, own_end, top)
        known = (floor >= 0) & (floor_end >= 0)
        back = when(floor_end < own_end, floor_end, own_end)
        shorter = when(end < back, end, back)
        return when(known, when(floor == epoch, shorter, back), when(end < own_end, end, own_end))

    # --- goals ------------------------------------------------------------------------------------------------------

    @goal
    def everything_is_replicated(self, s: KraftState) -> Any:
        """Every record ever written is in every log."""
        first = s.log[0][self.brokers[0]]
        same = [log == first for b in self.brokers for log in [s.log[0][b]]]
        found: Any = (s.next_record_id > 0) & (first.length == s.next_record_id)
        for agrees in same:
            found = found & agrees
        return found
