"""Partition: what a broker does as leader or follower of a partition.

A leader knows the committed ISR. While a leader's request for another ISR is *pending*, the leader commits a record
only if the members of both ISRs have the record (`maximal_isr`). A leader raises its high watermark, if it can, when it
notes a new fetch offset, appends a record, applies a metadata record, or learns that its request is granted. When a
leader handles a fetch, it also asks the controller to add the follower to the ISR if the follower may join.

Each rule is a method, and the docstring of the method gives the reason for the rule. The steps for fetches are in
`replica_fetcher`, and the steps for metadata in `broker_metadata_publisher`.

Left out: copies of a log in another directory (future replicas) while they catch up; log start offsets; the recovery
state of a leader that was elected uncleanly (in Kafka, a leader always asks for RECOVERED and does nothing to recover).

Source: Partition.scala of Kafka 4.3.
"""

from __future__ import annotations

from typing import Any, NamedTuple

from isrcheck.model.designs.kraft.alter_partition_manager import IN_LATER_EPOCH, AlterPartitionManager
from isrcheck.model.designs.kraft.configuration_control import ConfigurationControl
from isrcheck.model.designs.kraft.metadata_log import MetadataLog
from isrcheck.model.designs.kraft.produce_purgatory import ProducePurgatory
from isrcheck.model.designs.kraft.replica import UNKNOWN, Followers, Replica
from isrcheck.model.designs.kraft.state import KraftState
from isrcheck.model.designs.kraft.unified_log import any_end, any_partition
from isrcheck.model.language import (
    action,
    becomes,
    broker,
    enum,
    listed,
    minimum,
    none,
    number,
    optional,
    per,
    record,
    set_of,
    setting,
    when,
)


class Leading(NamedTuple):
    """A leader's state of a partition before or after a step, with the leader's image of the metadata."""

    image: Any
    registration: Any
    min_isr: Any
    log: Any
    epoch: Any
    version: Any
    epoch_start: Any
    isr: Any
    pending: Any
    high_watermark: Any
    followers: Followers


class Partition(Replica, ProducePurgatory, AlterPartitionManager, MetadataLog, ConfigurationControl):
    """Leaders and followers of a partition."""

    abstract = True

    equal_version = setting(
        "overrides",
        choices=("overrides", "keeps-pending"),
        meaning="what a leader does when it reads a metadata record whose version it has already learnt from the "
        "controller's answer. overrides: the record's ISR becomes its committed ISR, and its pending request is "
        "dropped; keeps-pending: the pending request stays",
    )
    pending_isr = setting(
        "awaited",
        choices=("awaited", "passed", "obeyed"),
        meaning="which replicas a leader waits for before it commits, while its request for another ISR is pending. "
        "awaited: all members of the requested ISR and of the committed ISR (KIP-497); passed: only members of the "
        "committed ISR; obeyed: only members of the requested ISR",
    )
    caught_up_outside = setting(
        "eligible-awaited",
        choices=("eligible-awaited", "awaited", "passed"),
        meaning="whether a leader, before it commits, also waits for a follower outside the ISR that has caught up. "
        "eligible-awaited: if the follower may join (KAFKA-15021); awaited: always; passed: never",
    )
    high_watermark_min_isr = setting(
        True,
        meaning="a leader with an ISR smaller than min.insync.replicas does not raise its high watermark (KAFKA-15583)",
    )
    looks_again = setting(
        False,
        meaning="a leader checks from time to time whether it can raise its high watermark, since it may no longer "
        "have to wait for a follower outside the ISR (for example, a fenced one). Kafka has no such check",
    )
    expand_guard = setting(
        "epoch-start",
        choices=("epoch-start", "high-watermark"),
        meaning="how far a follower's log must reach before it joins the ISR. epoch-start: to the high watermark and "
        "to the start of the leader's epoch (KAFKA-7128); high-watermark: to the high watermark",
    )
    epoch_begins = setting(
        "with-a-leader-epoch",
        choices=("with-a-leader-epoch", "with-a-partition-epoch"),
        meaning="when a leader starts anew, as in a new epoch. with-a-leader-epoch: when the leader epoch rises; "
        "with-a-partition-epoch: when the partition epoch rises, as before KAFKA-13790",
    )
    refused_request = setting(
        "waits",
        choices=("waits", "goes-back"),
        meaning="what a leader does when its request is refused for an old version or epoch. waits: it waits for the "
        "metadata record, which is on its way; goes-back: it goes back to the last committed ISR that it knew",
    )
    followers_lag = setting(
        True,
        meaning="a follower may stay behind the leader's log end for longer than replica.lag.time.max.ms",
        leaves_out={False: "followers that lag for longer than replica.lag.time.max.ms"},
    )

    def holds(self) -> dict[str, Any]:
        return {"replica": per(any_partition(self), per(broker, record(**self.replica_fields())))}

    def replica_fields(self) -> dict[str, Any]:
        """Fields for what a broker knows about a partition as its leader or follower."""
        return {
            "role": enum("none", "follower", "leader"),
            "leader": optional(broker),
            "epoch": number(-1, self.max_leader_epoch),
            "version": self.any_version(),
            "isr": set_of(broker),
            "pending": set_of(broker),
            "high_watermark": any_end(self),
            "epoch_start": any_end(self),
        }

    def begins(self, s: KraftState) -> None:
        leader, isr = self.brokers[0], self.first_isr()
        assigned = self.first_registration().get("replicas", set(self.brokers))
        for p in self.all_partitions:
            for b in self.brokers:
                if b not in assigned:
                    continue
                replica = s.replica[p][b]
                replica.role = "leader" if b == leader else "follower"
                replica.leader = leader
                replica.epoch = 0
                if b == leader:
                    replica.isr = isr
            s.epoch_cache[p][leader] = [{"epoch": 0, "start": 0}]
            s.caught_up[p][leader] = isr - {leader}

    # --- words ------------------------------------------------------------------------------------------------------

    def leads(self, s: KraftState, p: int, b: Any) -> Any:
        """Whether a broker believes that it leads, even if the controller has elected another leader."""
        return (s.replica[p][b].role == "leader") & self.runs(s, b)

    def follows(self, s: KraftState, p: int, follower: Any, leader: Any) -> Any:
        replica = s.replica[p][follower]
        return (replica.role == "follower") & (replica.leader == leader) & self.runs(s, follower)

    def leading(self, s: KraftState, p: int, b: Any) -> Leading:
        """The state of a leader before a step."""
        replica, image = s.replica[p][b], self.image_of(s, b)
        return Leading(
            image=image,
            registration=image.partition[p],
            min_isr=self.min_isr_of(image, image.partition[p]),
            log=s.log[p][b],
            epoch=replica.epoch,
            version=replica.version,
            epoch_start=replica.epoch_start,
            isr=replica.isr,
            pending=replica.pending,
            high_watermark=replica.high_watermark,
            followers=self.followers_of(s, p, b),
        )

    def quorum_isr(self, s: KraftState, p: int, leader: Any) -> Any:
        return self.maximal_isr(self.leading(s, p, leader))

    # --- the high watermark -----------------------------------------------------------------------------------------

    def maximal_isr(self, x: Leading) -> Any:
        """maximalIsr: by default (`pending_isr`), the union of the committed ISR and the pending ISR.

        The controller may have granted the pending request, or not yet. Any member of the controller's ISR may lead
        next (KIP-497).
        """
        if self.pending_isr == "passed":
            return x.isr
        if self.pending_isr == "obeyed":
            return when(x.pending.is_empty, x.isr, x.pending)
        return x.isr | x.pending

    def is_awaited(self, x: Leading, f: Any) -> Any:
        """Whether a leader's high watermark waits for a follower.

        The high watermark waits for the members of the maximal ISR. By default it also waits for a caught-up follower
        outside the ISR, if the follower may join (KAFKA-15021). Without this wait, the high watermark could always be
        ahead of this follower, so that the follower never joins.
        """
        member = self.maximal_isr(x).has(f) & self.is_replica(x.registration, f)
        if self.caught_up_outside == "passed":
            return member
        near = self.is_caught_up(x.followers, f, x.log.length)
        if self.caught_up_outside == "eligible-awaited":
            near = near & self.is_isr_eligible(x.image, x.followers, f)
        return member | near

    def raised(self, b: Any, x: Leading, where: Any = True) -> Leading:
        """maybeIncrementLeaderHW: raises the high watermark to the least log end of the leader and awaited followers.

        The high watermark rises only if `where` holds, and never goes back. With `high_watermark_min_isr`, it
        does not rise while the ISR is smaller than min.insync.replicas (KAFKA-15583). So a replica that makes the ISR
        too small by leaving it still has all committed records, and may lead.
        """
        end = x.log.length
        for f in self.brokers:
            if f != b:
                end = when(self.is_awaited(x, f), minimum(end, x.followers.ends[f]), end)
        rises = (end > x.high_watermark) & where
        if self.high_watermark_min_isr:
            rises = rises & (x.isr.size >= x.min_isr)
        return x._replace(high_watermark=when(rises, end, x.high_watermark))

    def store(
        self, s: KraftState, p: int, b: Any, x: Leading, where: Any = True, written: tuple[Any, Any] | None = None
    ) -> None:
        """If a condition holds, stores a leader's state after a step and answers the producers of committed records.

        The caller writes the log itself. If the step appended a record, `written` is the record's id and end offset.
        """
        old = s.replica[p][b]
        before = self.followers_of(s, p, b)
        committed = when(where, x.high_watermark, 0)
        self.note_committed(s, p, b, when(where, x.epoch, 0), x.log, old.high_watermark, committed)
        enough = self.maximal_isr(x).size >= x.min_isr
        self.complete_delayed(s, b, committed, enough, written)
        for name in ("version", "epoch_start", "isr", "pending", "high_watermark", "epoch"):
            setattr(old, name, when(where, getattr(x, name), getattr(old, name)))
        self.store_followers(s, p, b, self.chosen_followers(where, x.followers, before))

    @action(p=any_partition, b=broker, actor="b", where=lambda m: m.looks_again)
    def look_again(self, s: KraftState, p: int, b: Any) -> None:
        """A leader checks again, and raises its high watermark because it no longer has to wait for some follower.

        Kafka has no such step.
        """
        x = self.leading(s, p, b)
        after = self.raised(b, x)
        s.require(self.leads(s, p, b), after.high_watermark > x.high_watermark)
        self.store(s, p, b, after)

    def describe_look_again(self, old: Any, new: Any, p: int, b: Any) -> str:
        return f"{b} looks at its high watermark{self.commit_in_words(old, new, p, b)}"

    # --- who joins the ISR ------------------------------------------------------------------------------------------

    def is_in_sync(self, x: Leading, end: Any) -> Any:
        """isFollowerInSync: whether a follower's log reaches the high watermark and the start of the leader's epoch.

        A follower that reaches only the high watermark may lack records that an earlier leader committed, because a new
        leader's high watermark may be lower than the earlier leader's (KAFKA-7128). With `expand_guard =
        high-watermark`, the high watermark is enough.
        """
        reached = end >= x.high_watermark
        return reached & (end >= x.epoch_start) if self.expand_guard == "epoch-start" else reached

    def may_expand(self, s: KraftState, p: int, b: Any, x: Leading, f: Any, end: Any) -> Any:
        """canAddReplicaToIsr: whether a leader may ask that a follower joins the ISR.

        No request may be pending or in flight. The follower must be an eligible replica outside the ISR, and in sync.
        """
        free = x.pending.is_empty & ~x.isr.has(f) & self.may_submit(s, p, b)
        if self.reassigns:
            free = free & self.is_replica(x.registration, f)
        return free & self.is_isr_eligible(x.image, x.followers, f) & self.is_in_sync(x, end)

    def expanded(self, s: KraftState, p: int, b: Any, x: Leading, f: Any, end: Any, where: Any) -> Leading:
        """maybeExpandIsr: asks for an ISR with follower `f` after its fetch, if a condition holds and `f` may join."""
        grows = where & self.may_expand(s, p, b, x, f, end)
        self.submit(s, p, b, self.request(s, b, x, x.isr | {f}), grows)
        return x._replace(pending=when(grows, x.isr | {f}, x.pending))

    def request(self, s: KraftState, b: Any, x: Leading, isr: Any) -> dict[str, Any]:
        """The content of an AlterPartition request: the leader's epoch and version, and the requested ISR.

        If brokers can restart, the request also has the leader's broker epoch and, for each follower in the requested
        ISR, the broker epoch in which the follower last fetched.
        """
        found: dict[str, Any] = {"isr": isr, "epoch": x.epoch, "version": x.version}
        if self.restarts:
            # A member that has not fetched yet is named with UNKNOWN, which the controller does not compare.
            known = {**x.followers.broker_epochs, b: s.broker_epoch[b]}
            found["broker_epoch"] = [when(isr.has(f), known[f], UNKNOWN) for f in self.brokers]
        return found

    # --- who leaves the ISR -----------------------------------------------------------------------------------------

    def out_of_sync(self, x: Leading, b: Any) -> Any:
        """getOutOfSyncReplicas: the followers in the ISR that are no longer caught up."""
        found = x.isr - x.isr
        for f in self.brokers:
            if f != b:
                lags = x.isr.has(f) & ~self.is_caught_up(x.followers, f, x.log.length)
                found = when(lags, found | {f}, found)
        return found

    @action(p=any_partition, b=broker, actor="b")
    def shrink_isr(self, s: KraftState, p: int, b: Any) -> None:
        """maybeShrinkIsr: a leader asks for an ISR without the members that have fallen behind."""
        x = self.leading(s, p, b)
        lagging = self.out_of_sync(x, b)
        s.require(self.leads(s, p, b), ~lagging.is_empty, x.pending.is_empty, self.may_submit(s, p, b))
        self.submit(s, p, b, self.request(s, b, x, x.isr - lagging), True)
        s.replica[p][b].pending = x.isr - lagging

    def describe_shrink_isr(self, old: Any, new: Any, p: int, b: Any) -> str:
        replica = new.replica[p][b]
        lagging = listed(f for f in self.brokers if f in replica.isr and f not in replica.pending)
        return f"{b} has seen {lagging} lag too long, and asks for ISR {replica.pending} at version {replica.version}"

    @action(p=any_partition, b=broker, follower=broker, actor="b", where=lambda m: m.followers_lag)
    def lag_time_passes(self, s: KraftState, p: int, b: Any, follower: Any) -> None:
        """isCaughtUp: replica.lag.time.max.ms have passed since a follower last reached the leader's log end.

        A follower that is at the log end at present still counts as caught up.
        """
        if b == follower:
            return
        s.require(self.leads(s, p, b), s.caught_up[p][b].has(follower))
        s.caught_up[p][b] = s.caught_up[p][b] - {follower}

    def describe_lag_time_passes(self, old: Any, new: Any, p: int, b: Any, follower: Any) -> str:
        return f"for longer than replica.lag.time.max.ms {b} has not seen {follower} at its log end"

    # --- a record of metadata ---------------------------------------------------------------------------------------

    def make_leader(self, s: KraftState, p: int, b: Any, image: Any) -> None:
        """makeLeader: a broker takes its state as leader from the registration in an image.

        A registration with a smaller version than the broker's own is refused. An equal version is accepted, since the
        broker also learns versions from the controller's answers (KAFKA-13790). If the broker already leads in this
        epoch, it keeps its epoch start, and what it knows of the followers that are still replicas. With
        `config_order = after-partitions`, the broker still uses its old value of min.insync.replicas here, unless it
        had no role before.
        """
        old, x, said = s.replica[p][b], self.leading(s, p, b), image.partition[p]
        obeys = said.version >= old.version
        new_leader, new_epoch = old.role != "leader", said.epoch > old.epoch
        if self.epoch_begins == "with-a-partition-epoch":
            new_epoch = new_epoch | (said.version > old.version)
        pending: Any = x.pending - x.pending
        if self.equal_version == "keeps-pending":
            same = ~new_leader & (said.epoch == old.epoch) & (said.version == old.version)
            pending = when(same, x.pending, pending)
        skipped = said.epoch > old.epoch + 1
        reset = self.reset_replica_state(x.followers, said.isr - {b}, new_leader, skipped)
        followers = self.chosen_followers(new_epoch, reset, x.followers)
        if self.reassigns:
            followers = self.known_of(followers, said.replicas)
        said_min_isr = self.min_isr_of(image, said)
        if self.config_order == "after-partitions":
            said_min_isr = when(old.role == "none", said_min_isr, self.min_isr_of(x.image, said))
        x = x._replace(
            image=image,
            registration=said,
            min_isr=said_min_isr,
            epoch=when(new_epoch, said.epoch, x.epoch),
            version=said.version,
            epoch_start=when(new_epoch, x.log.length, x.epoch_start),
            isr=said.isr,
            pending=pending,
            followers=followers,
        )
        self.assign_epoch(s, p, b, said.epoch, obeys & new_epoch)
        old.role = when(obeys, "leader", old.role)
        old.leader = when(obeys, b, old.leader)
        self.store(s, p, b, self.raised(b, x), obeys)

    def make_follower(self, s: KraftState, p: int, b: Any, image: Any) -> None:
        """makeFollower: a broker follows the leader that an image names, and keeps its high watermark and its log.

        A broker that shuts down and is outside the ISR no longer fetches (ReplicaManager.applyLocalFollowersDelta).
        """
        old, said = s.replica[p][b], image.partition[p]
        old.role = "follower"
        fetches = ~s.stopping.has(b) | said.isr.has(b) if self.shutdowns else True
        old.leader = when(fetches, said.leader, none)
        old.epoch = said.epoch
        old.version = 0
        old.epoch_start = 0
        old.isr = set()
        old.pending = set()
        self.forget_followers(s, p, b)
        self.fail_delayed(s, b)

    def forget_partition(self, s: KraftState, p: int, b: Any) -> None:
        """Clears a broker's role and what it knows in this role, except the high watermark."""
        replica = s.replica[p][b]
        replica.role = "none"
        replica.leader = none
        replica.epoch = -1
        replica.version = 0
        replica.isr = set()
        replica.pending = set()
        replica.epoch_start = 0
        self.forget_followers(s, p, b)

    # --- a write ----------------------------------------------------------------------------------------------------

    @action(p=any_partition, b=broker, actor="client", environment=True)
    def append_records_to_leader(self, s: KraftState, p: int, b: Any) -> None:
        """appendRecordsToLeader: a producer with acks=all writes a record to a broker that believes it leads."""
        x = self.leading(s, p, b)
        s.require(self.leads(s, p, b), x.isr.size >= x.min_isr)
        s.require(s.next_record_id < self.max_records, ~s.log[p][b].is_full)
        i, end = s.next_record_id, x.log.length + 1
        x = x._replace(log=self.append_at(s, p, b, {"id": i, "epoch": x.epoch}))
        s.next_record_id += 1
        self.store(s, p, b, self.raised(b, x), written=(i, end))

    def describe_append_records_to_leader(self, old: Any, new: Any, p: int, b: Any) -> str:
        at, written = len(old.log[p][b]), new.log[p][b][-1]
        where = f"offset {at}, epoch {written.epoch}"
        return f"a producer with acks=all writes record {written.id} to {self.who_leads(old, p, b)}: {where}" + (
            self.commit_in_words(old, new, p, b)
        )

    # --- the answer of the controller -------------------------------------------------------------------------------

    @action(p=any_partition, b=broker, actor="b")
    def handle_alter_partition_response(self, s: KraftState, p: int, b: Any) -> None:
        """handleAlterPartitionUpdate, handleAlterPartitionError: the controller's answer reaches a leader.

        The leader ignores the answer if the request is no longer pending. It also ignores a success if the granted
        change has begun a later leader epoch. On any other success it adopts the ISR and the version of the answer. If
        the error is INELIGIBLE_REPLICA, the leader goes back to the committed ISR. After any other error it waits for a
        metadata record. With `refused_request = goes-back`, it goes back after every error.
        """
        request, x = s.alteration[p][b], self.leading(s, p, b)
        s.require(request.stage != "none", request.stage != "asked")
        same = (x.pending == request.isr) & (x.epoch == request.epoch) & (x.version == request.version)
        expected = self.leads(s, p, b) & same
        granted = expected & (request.stage == "success") & (request.said_version >= x.version)
        refused = expected & (request.stage == "ineligible-replica")
        if self.refused_request == "goes-back":
            refused = expected & (request.stage != "success") & (request.stage != IN_LATER_EPOCH)
        after = x._replace(
            isr=when(granted, request.isr, x.isr),
            version=when(granted, request.said_version, x.version),
            pending=when(granted | refused, x.pending - x.pending, x.pending),
        )
        self.store(s, p, b, self.raised(b, after, granted), granted | refused)
        self.forget_alteration(s, p, b)

    def describe_handle_alter_partition_response(self, old: Any, new: Any, p: int, b: Any) -> str:
        request, before, after = old.alteration[p][b], old.replica[p][b], new.replica[p][b]
        answer = request.stage.upper().replace("-", "_")
        if request.stage == "success" and after.version == request.said_version != before.version:
            did = f"its ISR is {becomes(before.isr, after.isr)}, version {becomes(before.version, after.version)}"
        elif request.stage != "success" and before.pending != after.pending:
            did = f"it goes back to ISR {after.isr}"
        elif before.pending:
            did = f"it goes on waiting, pending ISR {before.pending}"
        else:
            did = "it ignores that, for it waits for nothing"
        said = f"{b} is told {answer} for ISR {request.isr} at version {request.version}"
        return f"{said}: {did}{self.commit_in_words(old, new, p, b)}"

    # --- sentences --------------------------------------------------------------------------------------------------

    def who_leads(self, s: Any, p: int, b: Any) -> str:
        """Words for a leader. For a deposed leader, the words name its old epoch, and end in a comma."""
        if s.state[p].leader == b and s.state[p].epoch == s.replica[p][b].epoch:
            return str(b)
        return f"{b}, still leader of epoch {s.replica[p][b].epoch} in its own eyes,"

    def commit_in_words(self, old: Any, new: Any, p: int, b: Any) -> str:
        """Words for a high watermark that rises, and for records that are acknowledged. Empty without such a change."""
        before, after = old.replica[p][b].high_watermark, new.replica[p][b].high_watermark
        acknowledged = [str(i) for i in range(self.max_records) if new.acknowledged[i] and not old.acknowledged[i]]
        words = f"; its high watermark {before} -> {after}" if after != before else ""
        return words + (
            f", and the producer of record {' and '.join(acknowledged)} is told that it is safe" if acknowledged else ""
        )
