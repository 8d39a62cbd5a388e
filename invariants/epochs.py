"""Leader epochs: which broker may lead, commit and write records in which epoch."""

from __future__ import annotations

from typing import Any

from isrcheck.model.designs.epoch_cache import describes
from isrcheck.model.language import UnknownName, for_all, implies, invariant, needs


@invariant
@needs("committed")
def single_committed_leader_per_epoch(m: Any, s: Any) -> Any:
    """No two brokers advance a high watermark over a record in the same leader epoch."""
    return for_all(lambda p: ~s.committed[p].by_two, p=m.all_partitions)


@invariant
@needs("replica", "state")
def latest_epoch_is_led_by_its_leader(m: Any, s: Any) -> Any:
    """In the present leader epoch only the broker that the partition's state names as leader leads."""
    return for_all(
        lambda p, b: s.state[p].leader == b,
        where=lambda p, b: m.leads(s, p, b) & m.serves_the_topic(s, p, b) & (s.replica[p][b].epoch == s.state[p].epoch),
        p=m.all_partitions,
        b=m.brokers,
    )


@invariant
@needs("replica", "state")
def one_leader_per_epoch(m: Any, s: Any) -> Any:
    """Two brokers that lead at the same time are in different leader epochs, except in epochs after the present one."""
    return for_all(
        lambda p, a, b: s.replica[p][a].epoch != s.replica[p][b].epoch,
        where=lambda p, a, b: (
            (m.leads(s, p, a) & m.leads(s, p, b) & (s.replica[p][a].epoch <= s.state[p].epoch)) if a != b else False
        ),
        p=m.all_partitions,
        a=m.brokers,
        b=m.brokers,
    )


@invariant
@needs("replica", "state")
def no_epoch_from_the_future(m: Any, s: Any) -> Any:
    """No broker knows a leader epoch that does not exist yet."""
    return for_all(
        lambda p, b: s.replica[p][b].epoch <= s.state[p].epoch,
        p=m.all_partitions,
        b=m.brokers,
    )


@invariant
@needs("log", "replica", "state")
def epoch_starts_before_its_records(m: Any, s: Any) -> Any:
    """A legitimate leader has no record of its epoch below the offset that it remembers as the epoch's start."""
    if not m.needs_epoch_start:
        raise UnknownName(
            "invariant epoch-starts-before-its-records is about the starts of epochs; set expand_guard to epoch-start"
        )
    return for_all(
        lambda p, b, offset: s.log[p][b].at(offset).epoch != s.replica[p][b].epoch,
        where=lambda p, b, offset: (
            m.is_legitimate(s, p, b) & (s.log[p][b].length > offset) & (s.replica[p][b].epoch_start > offset)
        ),
        p=m.all_partitions,
        b=m.brokers,
        offset=range(m.log_size),
    )


@invariant
@needs("log", "replica", "state")  # "state" is not read: it selects the designs with an ISR
def epoch_has_its_own_records(m: Any, s: Any) -> Any:
    """From the offset that a leader remembers as its epoch's start, its log has only records of that epoch."""
    if not m.needs_epoch_start:
        raise UnknownName(
            "invariant epoch-has-its-own-records is about the starts of epochs; set expand_guard to epoch-start"
        )
    return for_all(
        lambda p, b, offset: s.log[p][b].at(offset).epoch == s.replica[p][b].epoch,
        where=lambda p, b, offset: (
            m.leads(s, p, b) & (s.log[p][b].length > offset) & (s.replica[p][b].epoch_start <= offset)
        ),
        p=m.all_partitions,
        b=m.brokers,
        offset=range(m.log_size),
    )


@invariant
@needs("log", "state")
def epochs_never_fall_along_a_log(m: Any, s: Any) -> Any:
    """Along a log the leader epochs of records never fall, and none is later than the present leader epoch."""

    def fits(p: int, b: Any, offset: int) -> Any:
        log = s.log[p][b]
        known = log.at(offset).epoch <= s.state[p].epoch
        return known if offset == 0 else known & (log.at(offset - 1).epoch <= log.at(offset).epoch)

    return for_all(
        fits,
        where=lambda p, b, offset: s.log[p][b].length > offset,
        p=m.all_partitions,
        b=m.brokers,
        offset=range(m.log_size),
    )


@invariant
@needs("log", "committed")
def one_record_per_offset_and_epoch(m: Any, s: Any) -> Any:
    """Two logs, or a log and the committed records, have the same record where offset and leader epoch are equal."""

    def same(p: int, a: Any, b: Any, offset: int) -> Any:
        log, committed = s.log[p][a], s.committed[p].records
        agrees = _one_record(log, committed, offset)
        return agrees if a == b else agrees & _one_record(log, s.log[p][b], offset)

    return for_all(
        same,
        where=lambda p, a, b, offset: s.log[p][a].length > offset,
        p=m.all_partitions,
        a=m.brokers,
        b=m.brokers,
        offset=range(m.log_size),
    )


def _one_record(one: Any, other: Any, offset: int) -> Any:
    same_epoch = (other.length > offset) & (one.at(offset).epoch == other.at(offset).epoch)
    return implies(same_epoch, one.at(offset) == other.at(offset))


@invariant
@needs("log", family="designs")
def logs_that_meet_agree_before(m: Any, s: Any) -> Any:
    """Where two logs have the same record at an offset, they have the same records before it."""

    def same(p: int, a: Any, b: Any, offset: int) -> Any:
        one, other = s.log[p][a], s.log[p][b]
        return one.at(offset) == other.at(offset)

    def meet_later(p: int, a: Any, b: Any, offset: int) -> Any:
        """Whether two logs have the same record at `offset + 1`. By induction, neighbouring offsets are enough."""
        one, other, later = s.log[p][a], s.log[p][b], offset + 1
        both = (one.length > later) & (other.length > later)
        return both & (one.at(later) == other.at(later)) if a != b else False

    return for_all(
        same,
        where=meet_later,
        p=m.all_partitions,
        a=m.brokers,
        b=m.brokers,
        offset=range(m.log_size - 1),
    )


@invariant
@needs("log", "replica", "state")
def deposed_leader_commits_what_the_isr_has(m: Any, s: Any) -> Any:
    """A deposed broker that still believes it leads has committed only records that every member of the ISR has."""

    def held(p: int, deposed: Any, member: Any, offset: int) -> Any:
        log, own = s.log[p][member], s.log[p][deposed]
        return (log.length > offset) & (own.length > offset) & (log.at(offset) == own.at(offset))

    return for_all(
        held,
        where=lambda p, deposed, member, offset: (
            m.leads(s, p, deposed)
            & ~m.is_legitimate(s, p, deposed)
            & s.state[p].isr.has(member)
            & (s.replica[p][deposed].high_watermark > offset)
        ),
        p=m.all_partitions,
        deposed=m.brokers,
        member=m.brokers,
        offset=range(m.log_size),
    )


@invariant
@needs("log", "state")
def epoch_cache_describes_the_log(m: Any, s: Any) -> Any:
    """A leader-epoch cache has the log's epochs with their starts, and at most one more, which starts at the log end.

    No epoch in the cache is later than the present leader epoch.
    """
    if not m.has_epoch_cache:
        raise UnknownName(
            "invariant epoch-cache-describes-the-log is about leader-epoch caches; set truncation to kip-101, kip-279 "
            "or kip-320"
        )
    return for_all(
        lambda p, b: (
            describes(s.epoch_cache[p][b], s.log[p][b], m.log_size, m.max_leader_epoch)
            & (s.epoch_cache[p][b].is_empty | (s.epoch_cache[p][b].last.epoch <= s.state[p].epoch))
        ),
        p=m.all_partitions,
        b=m.brokers,
    )
