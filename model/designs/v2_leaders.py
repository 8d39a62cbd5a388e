"""V2, leaders: a new leader writes a new epoch, waits for the other replicas, and then maintains the ISR.

The persistent ISR path holds the ISR and the epoch. becomeLeader has several steps. The new leader reads the epoch, and
writes the next epoch with the ISR that it has read. The new leader waits until the other replicas have caught up, or
until a timeout. Then it writes the ISR again, and accepts writes of clients.

Left out: failures of single threads of the leader.
"""

from __future__ import annotations

from typing import Any

from isrcheck.model.designs import State
from isrcheck.model.designs.replicas import UNKNOWN, any_partition
from isrcheck.model.designs.sentences import now, of_partition
from isrcheck.model.designs.zookeeper_sentences import deletes_node, node_in_words
from isrcheck.model.designs.zookeeper_watches import ZookeeperWatches
from isrcheck.model.language import action, asked, broker, enum, every, listed, minimum, number, setting, when


class NewLeaders(ZookeeperWatches):
    """The procedure becomeLeader of V2, and the leader's writes of the ISR."""

    abstract = True

    new_epoch = setting(
        "unconditional",
        choices=("unconditional", "conditional", "owner"),
        meaning="how a new leader raises the epoch. unconditional: it reads, and writes later; conditional: it reads, "
        "and writes later if the version is still the same; owner: it reads and writes in one step, and only while "
        "the leader node is its own",
    )
    isr_write = setting(
        "unconditional",
        choices=("unconditional", "conditional"),
        meaning="how a leader writes the ISR. unconditional: always; conditional: only if the version is the one that "
        "it last saw",
    )
    new_leader_high_watermark = setting(
        "log-end",
        choices=("log-end", "own"),
        meaning="the high watermark of a new leader. log-end: its log end; own: the one that it has (a TODO of the "
        "page)",
    )
    isr_of_new_leader = setting(
        "assigned",
        choices=("assigned", "isr"),
        meaning="which of the replicas that have caught up are in a new leader's first ISR. assigned: all of them; "
        "isr: only members of the last ISR",
    )
    expand_guard = setting(
        "next-commit",
        choices=("next-commit", "high-watermark", "epoch-start"),
        meaning="when a replica joins the ISR. next-commit: before the next commit, if it has the records of that "
        "commit; replicas also leave only then (the design document); high-watermark: at any time, when it has reached "
        "the high watermark; epoch-start: when it has also reached the start of the leader's epoch",
    )

    # Defined in `v2_leader_nodes`.
    unclean: Any
    stop_leading: Any
    delete_node: Any

    # Defined in `v2_queues` and `v2_reassignment`.
    complete_request: Any
    find_reassignment: Any
    found_in_words: Any

    # --- variables --------------------------------------------------------------------------------------------------

    @property
    def counts_versions(self) -> bool:
        """Whether some write compares the version of the ISR path."""
        return bool(self.isr_write == "conditional" or self.new_epoch == "conditional")

    def any_version(self) -> Any:
        return number(0, self.max_version if self.counts_versions else 0)

    def replica_fields(self) -> dict[str, Any]:
        """Adds the step of becomeLeader that a replica has reached, and the epoch that it will write."""
        found = super().replica_fields()
        if self.new_epoch == "owner":
            return {**found, "step": enum("none", "elected", "waiting")}
        steps = enum("none", "elected", "epoch-read", "waiting")
        return {**found, "step": steps, "next_epoch": self.any_epoch()}

    # --- words ------------------------------------------------------------------------------------------------------

    def has_room(self, s: State) -> Any:
        """Whether the bounds allow another epoch and, if versions are counted, another version."""
        if self.counts_versions:
            return super().has_room(s)
        return every(s.state[p].epoch < self.max_leader_epoch for p in self.all_partitions)

    def leads(self, s: State, p: int, b: Any) -> Any:
        """Whether a broker leads a partition, and has completed becomeLeader, so that it takes writes of clients."""
        return super().leads(s, p, b) & (s.replica[p][b].step == "none")

    def is_legitimate(self, s: State, p: int, b: Any) -> Any:
        """Whether a broker leads a partition and owns its leader node, and the partition is not (being) deleted.

        Epochs are not compared, because a former leader may have written its own epoch into the ISR path.
        """
        return self.leads(s, p, b) & self.serves_the_topic(s, p, b) & (s.state[p].leader == b)

    def answers(self, s: State, p: int, leader: Any, follower: Any, fenced: bool) -> Any:
        """Whether a leader answers a follower. A new leader answers while it waits, so that followers can catch up."""
        asked = super().answers(s, p, leader, follower, fenced)
        waits = self.is_up(s, leader) & (s.replica[p][leader].step == "waiting")
        return asked | (waits & self.follows(s, p, follower, leader))

    def follows_for_good(self, s: State, p: int, follower: Any, leader: Any) -> Any:
        """Whether a replica follows a leader; followers of V2 know no epoch."""
        return self.follows(s, p, follower, leader)

    # --- becomeLeader -----------------------------------------------------------------------------------------------

    @action(p=any_partition, b=broker, actor="b", where=lambda m: m.new_epoch != "owner")
    def read_epoch(self, s: State, p: int, b: Any) -> None:
        """A new leader reads the ISR path, and will write the next epoch in a later step (getNewEpoch)."""
        state, replica = s.state[p], s.replica[p][b]
        s.require(self.is_up(s, b), replica.step == "elected", self.has_path(s, p))
        s.require(s.room(state.epoch < self.max_leader_epoch))
        if self.new_epoch == "conditional":
            s.require(self.has_a_claim(s, p, b))
        replica.step = "epoch-read"
        replica.isr = state.isr
        replica.next_epoch = state.epoch + 1
        replica.version = state.version

    def describe_read_epoch(self, old: Any, new: Any, p: int, b: Any) -> str:
        state = old.state[p]
        version = f" at version {state.version}" if self.counts_versions else ""
        read = f"reads ISR {state.isr} and epoch {state.epoch}{version}, to write epoch {state.epoch + 1}"
        return f"{self.becoming(old, p, b)} {read}"

    def has_a_claim(self, s: State, p: int, b: Any) -> Any:
        """Whether the current ISR allows a replica to lead."""
        isr = s.state[p].isr
        claim = isr.is_empty | isr.has(b)
        return claim | (isr & s.live).is_empty if self.unclean else claim

    @action(p=any_partition, b=broker, actor="b")
    def write_epoch(self, s: State, p: int, b: Any) -> None:
        """A new leader writes the next epoch and the ISR. By default its high watermark becomes its log end."""
        state, replica = s.state[p], s.replica[p][b]
        s.require(self.is_up(s, b), self.has_path(s, p))
        if self.new_epoch == "owner":
            s.require(replica.step == "elected", state.leader == b, self.has_a_claim(s, p, b))
            s.require(s.room(state.epoch < self.max_leader_epoch))
            isr, epoch = state.isr, state.epoch + 1
        else:
            s.require(replica.step == "epoch-read")
            isr, epoch = replica.isr, replica.next_epoch
            replica.next_epoch = 0
        if self.new_epoch == "conditional":
            s.require(state.version == replica.version)
        state.isr, state.epoch = isr, epoch
        self.become_leader(s, p, b, epoch, isr)
        replica.step = "waiting"
        replica.version = self.raise_version(s, p)
        if self.new_leader_high_watermark == "log-end":
            replica.high_watermark = s.log[p][b].length

    def describe_write_epoch(self, old: Any, new: Any, p: int, b: Any) -> str:
        state, replica, wrote = old.state[p], old.replica[p][b], self.written_in_words(old, new, p)
        late = self.new_epoch != "owner" and (state.isr, state.epoch + 1) != (replica.isr, replica.next_epoch)
        over = ", over what another has written since it read" if late else ""
        ends = f"high watermark {now(replica.high_watermark, new.replica[p][b].high_watermark)}"
        waits = f"{ends}, log end {len(new.log[p][b])}; it waits for the others to catch up"
        return f"{self.becoming(old, p, b)} writes {wrote}{over}; {waits}"

    def becoming(self, s: Any, p: int, b: Any) -> str:
        """Words for a replica that is becoming leader, and for the leader node if the replica has lost it."""
        late = "" if s.state[p].leader == b else f" although {node_in_words(s, p)}"
        return f"{b}, becoming leader{of_partition(self, p)}{late},"

    def raise_version(self, s: State, p: int) -> Any:
        if not self.counts_versions:
            return 0
        version = s.state[p].version
        s.require(s.room(version < self.max_version))
        s.state[p].version = version + 1
        return version + 1

    @action(p=any_partition, b=broker, actor="b", where=lambda m: m.new_epoch == "conditional")
    def read_epoch_again(self, s: State, p: int, b: Any) -> None:
        """A new leader's write fails, because the ISR path has changed since its read: the leader reads again."""
        s.require(self.is_up(s, b), s.replica[p][b].step == "epoch-read")
        s.require(s.state[p].version != s.replica[p][b].version)
        s.replica[p][b].step = "elected"
        s.replica[p][b].next_epoch = 0
        s.replica[p][b].isr = set()

    def describe_read_epoch_again(self, old: Any, new: Any, p: int, b: Any) -> str:
        versions = f"the version is {old.state[p].version} and not {old.replica[p][b].version} any more"
        return f"{self.becoming(old, p, b)} fails to write its epoch, for {versions}; it will read again"

    def is_refused(self, s: State, p: int, b: Any) -> Any:
        """Whether ZooKeeper will refuse the next write of a new leader."""
        state, replica = s.state[p], s.replica[p][b]
        path = self.has_path(s, p)
        refused = False if path is True else ~path & (replica.step != "none")
        if self.new_epoch == "owner":
            refused = refused | ((replica.step == "elected") & ((state.leader != b) | ~self.has_a_claim(s, p, b)))
        if self.new_epoch == "conditional":
            refused = refused | ((replica.step == "elected") & ~self.has_a_claim(s, p, b))
        if self.isr_write == "conditional":
            refused = refused | ((replica.step == "waiting") & (state.version != replica.version))
        return refused

    @action(p=any_partition, b=broker, actor="b")
    def give_up_becoming_leader(self, s: State, p: int, b: Any) -> None:
        """A new leader whose write ZooKeeper refuses gives up, and deletes the leader node if this node is its own."""
        refused = self.is_refused(s, p, b)
        if refused is False:
            return
        s.require(self.is_up(s, b), refused)
        self.stop_leading(s, p, b)
        self.delete_node(s, p, b, s.state[p].leader == b)

    def describe_give_up_becoming_leader(self, old: Any, new: Any, p: int, b: Any) -> str:
        deletes = deletes_node(self, old, new, p, b)
        return f"{self.becoming(old, p, b)} gives up, for {self.refusal_in_words(old, p, b)}; it {deletes}"

    def refusal_in_words(self, s: Any, p: int, b: Any) -> str:
        """Words for why ZooKeeper refuses the next write of a new leader."""
        state, replica = s.state[p], s.replica[p][b]
        if not asked(s, self.has_path, p):
            return "the partition is deleted"
        if replica.step == "waiting":
            return f"the ISR path is at version {state.version}, not at {replica.version} as it wrote it"
        if self.new_epoch == "owner" and state.leader != b:
            return node_in_words(s, p)
        return f"it is not in the ISR {state.isr}"

    @action(p=any_partition, b=broker, actor="b")
    def start_leading(self, s: State, p: int, b: Any) -> None:
        """becomeLeader ends: the replicas that have caught up become the ISR, and the leader takes writes."""
        replica, end = s.replica[p][b], s.replica[p][b].high_watermark
        s.require(self.is_up(s, b), replica.step == "waiting")
        self.note_commit(s, p, b, end, self.serves_the_topic(s, p, b), start=0)
        isr = (replica.isr - set(self.brokers)) | {b}
        for f in self.brokers:
            if f != b:
                known = s.known_end[p][b][f]
                caught_up = (known != UNKNOWN) & (known >= end) & self.is_assigned(s, p, f)
                inside = replica.isr.has(f) if self.isr_of_new_leader == "isr" else True
                isr = when(caught_up & inside, isr | {f}, isr)
        self.write_isr(s, p, b, isr)
        replica.step = "none"
        self.complete_request(s, p, b)
        self.find_reassignment(s, p, b)

    def describe_start_leading(self, old: Any, new: Any, p: int, b: Any) -> str:
        end, isr = new.replica[p][b].high_watermark, new.replica[p][b].isr
        others = [f for f in self.brokers if f in isr and f != b]
        some_other = "nobody else of the ISR" if self.isr_of_new_leader == "isr" else "no other replica"
        waited = f"has waited until {listed(others)} fetched up to offset {end}"
        if not others:
            waited = f"has waited long enough, and {some_other} has fetched up to offset {end}"
        written = f"{self.written_in_words(old, new, p)}{self.acknowledged_in_words(old, new)}"
        return f"{self.becoming(old, p, b)} {waited}: it takes writes with {written}{self.found_in_words(new, p, b)}"

    def written_in_words(self, old: Any, new: Any, p: int) -> str:
        before, after = old.state[p], new.state[p]
        text = f"{super().written_in_words(old, new, p)}, epoch {now(before.epoch, after.epoch)}"
        return text + (f", version {now(before.version, after.version)}" if self.counts_versions else "")

    # --- the ISR ----------------------------------------------------------------------------------------------------

    def change_isr(self, s: State, p: int, b: Any, isr: Any) -> None:
        s.require(self.leads(s, p, b))
        self.write_isr(s, p, b, isr)

    def write_isr(self, s: State, p: int, b: Any, isr: Any, own: bool = True) -> None:
        """A leader writes the ISR and its own epoch to ZooKeeper and, if `own` is true, the ISR to its own copy."""
        state, replica = s.state[p], s.replica[p][b]
        s.require(self.has_path(s, p))
        if self.isr_write == "conditional":
            s.require(state.version == replica.version)
        state.isr, state.epoch = isr, replica.epoch
        if own:
            replica.isr = isr
        replica.version = self.raise_version(s, p)

    def lags(self, s: State, p: int, b: Any, follower: Any) -> Any:
        """Whether a follower is behind. With `expand_guard = next-commit`, the leader must have uncommitted records."""
        behind = super().lags(s, p, b, follower)
        if self.expand_guard != "next-commit":
            return behind
        return behind & (s.replica[p][b].high_watermark < s.log[p][b].length)

    def may_expand(self, s: State, p: int, b: Any, follower: Any) -> Any:
        replica = s.replica[p][b]
        outside = ~replica.isr.has(follower) & self.tracks(s, p, b, follower)
        return outside & self.has_caught_up(s, p, b, follower)

    def has_caught_up(self, s: State, p: int, b: Any, follower: Any) -> Any:
        """Whether a replica's log reaches far enough for the ISR, as `expand_guard` defines it."""
        replica, end = s.replica[p][b], s.known_end[p][b][follower]
        if self.expand_guard == "next-commit":
            next_end: Any = s.log[p][b].length
            for f in self.brokers:
                next_end = when(replica.isr.has(f), minimum(next_end, self.end_seen_by(s, p, b, f)), next_end)
            return (next_end > replica.high_watermark) & (end > replica.high_watermark)
        reaches = (end != UNKNOWN) & (end >= replica.high_watermark)
        return reaches & (end >= replica.epoch_start) if self.expand_guard == "epoch-start" else reaches
