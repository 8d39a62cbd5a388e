"""The memory of a replica in each role. A replica forgets the data of its former roles, so no step can use old data."""

from __future__ import annotations

from typing import Any

from isrcheck.model.designs.replicas import UNKNOWN
from isrcheck.model.language import UnknownName, every, for_all, invariant, needs


@invariant
@needs("replica", "state")  # "state" is not read: it selects the designs with an ISR
def who_is_down_has_no_role(m: Any, s: Any) -> Any:
    """A broker that is down leads nothing and follows nobody."""
    return for_all(
        lambda p, b: s.replica[p][b].role == "none",
        where=lambda p, b: ~m.is_up(s, b) if m.has_crashes else False,
        p=m.all_partitions,
        b=m.brokers,
    )


@invariant
@needs("replica", "state")  # "state" is not read: it selects the designs with an ISR
def leaders_follow_themselves(m: Any, s: Any) -> Any:
    """A leader knows itself as the leader, and truncates nothing."""

    def follows_itself(p: int, b: Any) -> Any:
        replica = s.replica[p][b]
        itself = replica.leader == b
        return itself & ~replica.truncating if "truncating" in m.replica_fields() else itself

    return for_all(follows_itself, where=lambda p, b: s.replica[p][b].role == "leader", p=m.all_partitions, b=m.brokers)


@invariant
@needs("replica", "state", "known_end")
def leaders_alone_know_followers(m: Any, s: Any) -> Any:
    """A replica that does not lead has in memory no ISR, no log ends of followers and no start of its epoch."""

    def leads(p: int, b: Any) -> Any:
        """Whether a replica leads, or in V2 has begun the steps by which it becomes leader."""
        replica = s.replica[p][b]
        leader = replica.role == "leader"
        return leader | (replica.step != "none") if "step" in m.replica_fields() else leader

    def knows_nobody(p: int, b: Any) -> Any:
        replica = s.replica[p][b]
        nothing = replica.isr.is_empty & every(s.known_end[p][b][f] == UNKNOWN for f in m.brokers)
        return nothing & (replica.epoch_start == 0) if "epoch_start" in m.replica_fields() else nothing

    return for_all(knows_nobody, where=lambda p, b: ~leads(p, b), p=m.all_partitions, b=m.brokers)


@invariant
@needs("replica", "state")  # "state" is not read: it selects the designs with an ISR
def who_has_no_role_has_forgotten(m: Any, s: Any) -> Any:
    """A replica that neither leads nor follows knows no leader, no epoch and no version, and truncates nothing."""

    def forgotten(p: int, b: Any) -> Any:
        replica, fields = s.replica[p][b], m.replica_fields()
        nothing = replica.leader.is_none & (replica.epoch == -1)
        if "version" in fields:
            nothing = nothing & (replica.version == 0)
        return nothing & ~replica.truncating if "truncating" in fields else nothing

    return for_all(forgotten, where=lambda p, b: s.replica[p][b].role == "none", p=m.all_partitions, b=m.brokers)


@invariant
@needs("replica", "seen_live")  # "seen_live" excludes v1 and v2
def who_has_a_role_knows_its_epoch(m: Any, s: Any) -> Any:
    """A replica that leads or follows knows the leader epoch of this role."""
    return for_all(
        lambda p, b: s.replica[p][b].epoch >= 0,
        where=lambda p, b: s.replica[p][b].role != "none",
        p=m.all_partitions,
        b=m.brokers,
    )


@invariant
@needs("replica", "state")  # "state" is not read: it selects the designs with an ISR
def who_is_down_has_what_is_on_disk(m: Any, s: Any) -> Any:
    """The high watermark of a broker that is down is at most the one on its disk, because the one in memory is lost."""
    if m.has_crashes and "checkpoint" not in m.domains:
        what = f"a variable for the disk, which model {m.name()} lacks"
        raise UnknownName(f"invariant who-is-down-has-what-is-on-disk is about {what}; leave it out")
    return for_all(
        lambda p, b: s.replica[p][b].high_watermark <= s.checkpoint[p][b],
        where=lambda p, b: ~m.is_up(s, b) if m.has_crashes else False,
        p=m.all_partitions,
        b=m.brokers,
    )
