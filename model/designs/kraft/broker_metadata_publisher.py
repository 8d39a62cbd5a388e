"""BrokerMetadataPublisher and ReplicaManager.applyDelta: a broker applies metadata that the controller has committed.

In one step a broker goes on to the image of a later batch, and may skip the batches between (`metadata_batches`). The
delta that it applies has the differences between the broker's last image and the new image, not each change of the
skipped batches. If the partition epoch differs, the broker leads or follows the partition as the new image says.

Source: BrokerMetadataPublisher.scala, ReplicaManager.applyDelta, TopicDelta.localChanges of Kafka 4.3. Left out: the
moment in which the metadata cache is new and the partitions have not changed yet.
"""

from __future__ import annotations

from typing import Any

from isrcheck.model.designs.kraft.partition import Partition
from isrcheck.model.designs.kraft.state import KraftState
from isrcheck.model.language import action, broker, goal, number, setting, some


def any_batch(m: Any) -> Any:
    """The positions in the metadata log."""
    return number(0, m.metadata_lag)


class BrokerMetadataPublisher(Partition):
    """How a broker applies new metadata."""

    abstract = True

    metadata_batches = setting(
        "merged",
        choices=("merged", "one-by-one"),
        meaning="how a broker applies several batches of metadata that it lacks. merged: any number of batches in one "
        "step, and the broker sees only the last image; one-by-one: each batch in a step of its own",
    )

    restart_fetcher: Any
    orphan_reads: Any
    drop_answers: Any
    """Attributes of `replica_fetcher`."""

    def publish(self, s: KraftState, b: Any, to: int) -> tuple[Any, Any, Any]:
        """onMetadataUpdate: a later image, whether a broker's replica changes, and whether the replica is removed.

        The replica of an assigned broker changes if the partition epoch differs, or if the broker has no role yet. The
        replica is removed if the partition is no longer assigned to the broker. The image must be later than the last
        one, unless the replica is removed or has no role yet (for example, because the broker has just started).
        """
        image, replica = s.metadata.at(to), s.replica[0][b]
        said, mine = image.partition[0], self.is_replica(image.partition[0], b)
        if self.directory_failures:
            mine = mine & ~s.offline.has(b)
        begins = (replica.role == "none") & mine
        gone: Any = False
        if self.reassigns:
            gone = ~self.is_replica(said, b) & ((replica.role != "none") | ~s.log[0][b].is_empty)
        later = s.applied[b] < to if self.metadata_batches == "merged" else s.applied[b] + 1 == to
        s.require(self.runs(s, b), s.metadata.length > to, later | ((begins | gone) & (s.applied[b] <= to)))
        changed = begins | (mine & (said.version != self.image_of(s, b).partition[0].version))
        return image, changed, gone

    def go_on(self, s: KraftState, b: Any, to: int) -> None:
        """Sets the position of a broker in the metadata log."""
        positions = {x: to if x == b else s.applied[x] for x in self.brokers}
        self.keep_what_is_needed(s, s.metadata, positions, s.up if self.restarts else None)

    @action(b=broker, to=any_batch, actor="b")
    def apply_local_leaders(self, s: KraftState, b: Any, to: int) -> None:
        """applyLocalLeadersDelta: a broker reads that it leads, in a new leader epoch or at a new version."""
        image, changed, _ = self.publish(s, b, to)
        s.require(changed, image.partition[0].leader == b)
        self.restart_fetcher(s, 0, b, image.partition[0].epoch != s.replica[0][b].epoch)
        if self.reassigns:
            self.orphan_reads(s, 0, b, image.partition[0])
        self.make_leader(s, 0, b, image)
        self.go_on(s, b, to)

    def describe_apply_local_leaders(self, old: Any, new: Any, b: Any, to: int) -> str:
        before, after = old.replica[0][b], new.replica[0][b]
        said = old.metadata[to].partition[0]
        past = self.skipped_in_words(old, b, to)
        heard = f"{b} hears{past} that it leads in epoch {said.epoch}, ISR {said.isr}, version {said.version}"
        if said.version < before.version and before.role == "leader":
            return f"{heard}: it knows version {before.version} already, and does nothing"
        if before.role == "leader" and after.epoch == before.epoch:
            wiped = f" and forgets that ISR {before.pending} is pending" if before.pending > after.pending else ""
            again = ", although it had that version," if wiped and said.version == before.version else ""
            return f"{heard}: it goes on in its epoch{again}{wiped}{self.commit_in_words(old, new, 0, b)}"
        kept = [f for f in self.brokers if new.known_end[0][b][f] >= 0]
        knows = "".join(f", and it still takes the log end of {f} for {new.known_end[0][b][f]}" for f in kept)
        begun = f"its epoch starts at its log end {after.epoch_start}"
        return f"{heard}: {begun}{knows}{self.commit_in_words(old, new, 0, b)}"

    @action(b=broker, to=any_batch, actor="b")
    def apply_local_followers(self, s: KraftState, b: Any, to: int) -> None:
        """applyLocalFollowersDelta: a broker reads that another broker leads, or nobody."""
        image, changed, _ = self.publish(s, b, to)
        s.require(changed, image.partition[0].leader != b)
        self.restart_fetcher(s, 0, b, image.partition[0].epoch != s.replica[0][b].epoch)
        self.orphan_reads(s, 0, b)
        self.make_follower(s, 0, b, image)
        self.go_on(s, b, to)

    def describe_apply_local_followers(self, old: Any, new: Any, b: Any, to: int) -> str:
        said, before = old.metadata[to].partition[0], old.replica[0][b]
        whom = "nobody leads" if said.leader is None else f"{said.leader} leads"
        past = self.skipped_in_words(old, b, to)
        ends = ", so it leads no more" if before.role == "leader" else ""
        return f"{b} hears{past} that {whom} in epoch {said.epoch}, ISR {said.isr}, version {said.version}{ends}"

    @action(b=broker, to=any_batch, actor="b", where=lambda m: m.reassigns)
    def stop_partitions(self, s: KraftState, b: Any, to: int) -> None:
        """stopPartitions: a broker that is no replica any more stops the partition and deletes its log."""
        _, _, gone = self.publish(s, b, to)
        s.require(gone)
        self.orphan_reads(s, 0, b)
        self.drop_answers(s, 0, b)
        self.fail_delayed(s, b)
        self.forget_partition(s, 0, b)
        s.log[0][b] = s.log[0][b].truncated(0)
        s.epoch_cache[0][b] = s.epoch_cache[0][b].truncated(0)
        s.replica[0][b].high_watermark = 0
        self.go_on(s, b, to)

    def describe_stop_partitions(self, old: Any, new: Any, b: Any, to: int) -> str:
        past, had = self.skipped_in_words(old, b, to), len(old.log[0][b])
        return f"{b} hears{past} that it is no replica any more, and deletes its log, log end {had}"

    @action(b=broker, to=any_batch, actor="b")
    def update_metadata_cache(self, s: KraftState, b: Any, to: int) -> None:
        """KRaftMetadataCache.setImage: a broker reads which brokers are active; its partition has not changed."""
        _, changed, gone = self.publish(s, b, to)
        s.require(~changed)
        if self.reassigns:
            s.require(~gone)
        self.go_on(s, b, to)

    def describe_update_metadata_cache(self, old: Any, new: Any, b: Any, to: int) -> str:
        image = old.metadata[to]
        words = [f"brokers {image.live} are active"]
        if self.restarts:
            known, said = old.metadata[old.applied[b]].broker_epoch, image.broker_epoch
            words += [f"{x} is in broker epoch {said[x]}" for x in self.brokers if said[x] != known[x]]
        return f"{b} hears that {' and that '.join(words)}"

    def skipped_in_words(self, s: Any, b: Any, to: int) -> str:
        """Words such as ` at once of 2 batches,` if a broker goes on by more than one batch, else no words."""
        between = to - s.applied[b]
        return f" at once of {between} batches," if between > 1 else ""

    @goal
    def another_broker_leads(self, s: KraftState) -> Any:
        """A broker other than the first leads, and the controller agrees."""
        first, state = self.brokers[0], s.state[0]
        return some(
            self.leads(s, 0, b) & (state.leader == b) & (state.epoch == s.replica[0][b].epoch)
            for b in self.brokers
            if b != first
        )

    @goal(where=lambda m: m.metadata_lag > 1)
    def delta_skips_a_batch(self, s: KraftState) -> Any:
        """A broker lacks two batches, and may apply them in one step."""
        return some(self.runs(s, b) & (s.metadata.length - 1 - s.applied[b] >= 2) for b in self.brokers)
