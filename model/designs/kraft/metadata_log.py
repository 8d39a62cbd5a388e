"""The metadata log, and how far each broker has read it: MetadataLoader, MetadataImage, KRaftMetadataCache.

What the controller commits is a batch at the end of the log. A batch stands for the *image* that there is after it:
the partition's registration, which brokers are active, their broker epochs, min.insync.replicas. Each broker has the
image of a position of its own, and knows nothing else. It may go on by one batch or by several at once, as the loader
does when more than one was committed since it last looked, or when it loads a snapshot: only the last image counts
then.

A *version* is a partition epoch. What all brokers have passed is forgotten.

Left out: batches cut in two, a failover of the controller (it answers after the batch is committed, and the next one
has the same log), the window within one publication in which the cache is new and the partition is not yet.

Source: MetadataLoader.java, MetadataBatchLoader.java, TopicDelta.java, KRaftMetadataCache.scala of Kafka 4.2.
"""

from __future__ import annotations

from typing import Any, ClassVar

from isrcheck.model.designs.kraft.unified_log import UnifiedLog, any_partition
from isrcheck.model.language import (
    broker,
    flag,
    idle,
    minimum,
    number,
    optional,
    per,
    record,
    sequence,
    set_of,
    setting,
    some,
    when,
)
from isrcheck.model.language.together import Together


class MetadataLog(UnifiedLog):
    """What the controller has decided, and what of it each broker has heard."""

    abstract = True

    max_version = setting(
        4,
        at_least=1,
        at_most=15,
        meaning="greatest partition epoch; they count from 0",
        bound=lambda m, s: m.greatest_version_is_reached(s),
    )
    metadata_lag = setting(
        2,
        at_least=1,
        at_most=6,
        meaning="batches of metadata that the slowest broker may lack",
        bound=lambda m, s: s.metadata.is_full,
    )
    isr_at_start = setting(
        0, at_least=0, at_most=5, meaning="members of the ISR at the start, broker 0 first, who leads; 0 for all"
    )
    assigned_at_start = setting(
        0, at_least=0, at_most=5, meaning="replicas to which the partition is assigned first; 0 for all brokers"
    )
    reassignments = setting(
        0,
        at_least=0,
        at_most=3,
        meaning="reassignments that an operator asks for",
        bound=lambda m, s: s.reassignments == m.reassignments if m.reassignments else False,
    )
    replicas_counted = setting(
        "own",
        choices=("own", "of-partition-0"),
        meaning="reassignments: whose replicas the controller counts for the effective min.insync.replicas. This is "
        "partition 0 of its topic, and they are its own; or it is another, and partition 0 keeps those of the start",
    )
    min_isr = setting(
        1,
        at_least=1,
        at_most=5,
        meaning="min.insync.replicas: an ISR that is smaller takes no writes and raises no high watermark",
    )
    min_isr_then = setting(
        0,
        at_least=0,
        at_most=5,
        meaning="min.insync.replicas after an operator has changed it, once; 0: nobody does",
        bound=lambda m, s: s.min_isr_changed if m.min_isr_then else False,
    )
    min_isr_change = setting(
        "alone",
        choices=("alone", "with-a-partition-epoch"),
        meaning="min_isr_then: what a change of min.insync.replicas does to the partition: the ELR is cleared, and if "
        "there was none nothing; or the partition epoch goes up as well, so that a leader that has not heard of the "
        "change has its requests refused",
    )
    elr_is_cleared = setting(
        "always",
        choices=("always", "unless-raised-without-isr"),
        meaning="min_isr_then, elr: with min.insync.replicas the ELR is cleared whatever the ISR is; or it is kept "
        "where the ISR is empty and min.insync.replicas goes up, since nobody can have committed without its members",
    )
    config_order = setting(
        "after-partitions",
        choices=("after-partitions", "before-partitions"),
        meaning="min_isr_then: a delta that has both, a change of the partition and of min.insync.replicas, changes "
        "the partition first, as BrokerMetadataPublisher does; or last",
    )
    crashes = setting(
        0,
        at_least=0,
        at_most=3,
        meaning="crashes that lose only what is volatile",
        bound=lambda m, s: s.crashes == m.crashes if m.crashes else False,
    )
    lossy_crashes = setting(
        0,
        at_least=0,
        at_most=3,
        meaning="crashes that lose also an unflushed end of the log",
        bound=lambda m, s: s.lossy_crashes == m.lossy_crashes if m.lossy_crashes else False,
    )
    shutdowns = setting(
        0,
        at_least=0,
        at_most=2,
        meaning="controlled shutdowns",
        bound=lambda m, s: s.shutdowns == m.shutdowns if m.shutdowns else False,
    )

    together: ClassVar[Together] = (
        idle("replicas_counted", unless=lambda m: m.reassignments > 0, words="it needs reassignments of 1 or more"),
        idle("min_isr_change", unless=lambda m: m.min_isr_then > 0, words="it needs min_isr_then of 1 or more"),
        idle("elr_is_cleared", unless=lambda m: m.min_isr_then > 0 and m.elr, words="it needs min_isr_then and elr"),
        idle("config_order", unless=lambda m: m.min_isr_then > 0, words="it needs min_isr_then of 1 or more"),
    )

    directory_failures = setting(
        0,
        at_least=0,
        at_most=2,
        meaning="log directories that fail, each with the replica of a broker that goes on",
        bound=lambda m, s: s.directory_failures == m.directory_failures if m.directory_failures else False,
    )

    def holds(self) -> dict[str, Any]:
        found: dict[str, Any] = {
            "state": per(any_partition(self), self.any_registration()),
            "live": set_of(broker),
            "metadata": sequence(self.any_image(), self.metadata_lag + 1),
            "applied": per(broker, number(0, self.metadata_lag)),
        }
        if self.restarts:
            found["up"] = set_of(broker)
            found["broker_epoch"] = self.any_broker_epochs()
        if self.min_isr_then:
            found["min_isr_changed"] = flag
        if self.reassignments:
            found["reassignments"] = number(0, self.reassignments)
        if self.directory_failures:
            found["directory_failures"] = number(0, self.directory_failures)
            found["offline"] = set_of(broker)
            found["without_directory"] = set_of(broker)
        return found

    def begins(self, s: Any) -> None:
        first = self.first_registration()
        for p in self.all_partitions:
            s.state[p] = first
        s.live = set(self.brokers)
        image: dict[str, Any] = {"partition": [first for _ in self.all_partitions], "live": set(self.brokers)}
        if self.restarts:
            s.up = set(self.brokers)
            image["broker_epoch"] = [0 for _ in self.brokers]
        if self.min_isr_then:
            image["min_isr_changed"] = False
        s.metadata = [image]

    # --- domains ----------------------------------------------------------------------------------------------------

    @property
    def restarts(self) -> int:
        """How often a broker may start anew, at most."""
        return int(self.crashes + self.lossy_crashes + self.shutdowns)

    def any_registration(self) -> Any:
        """PartitionRegistration: leader, ISR, leader epoch and partition epoch; replicas, where they change."""
        fields = {"leader": optional(broker), "isr": set_of(broker), "epoch": self.any_epoch()}
        fields["version"] = self.any_version()
        if self.reassigns:
            fields |= {"replicas": set_of(broker), "adding": set_of(broker), "removing": set_of(broker)}
        return record(**fields)

    @property
    def reassigns(self) -> bool:
        """Whether the partition is not always assigned to all brokers."""
        return bool(self.reassignments or self.assigned_at_start)

    def any_version(self) -> Any:
        return number(0, self.max_version)

    def any_broker_epochs(self) -> Any:
        return per(broker, number(0, self.restarts))

    def any_image(self) -> Any:
        fields: dict[str, Any] = {
            "partition": per(any_partition(self), self.any_registration()),
            "live": set_of(broker),
        }
        if self.restarts:
            fields["broker_epoch"] = self.any_broker_epochs()
        if self.min_isr_then:
            fields["min_isr_changed"] = flag
        return record(**fields)

    def first_isr(self) -> set[Any]:
        assigned = self.assigned_at_start or len(self.brokers)
        return set(self.brokers[: min(assigned, self.isr_at_start or assigned)])

    def first_registration(self) -> dict[str, Any]:
        first = {"leader": self.brokers[0], "isr": self.first_isr(), "epoch": 0, "version": 0}
        if self.reassigns:
            assigned = self.brokers[: self.assigned_at_start or len(self.brokers)]
            first |= {"replicas": set(assigned), "adding": set(), "removing": set()}
        return first

    # --- words ------------------------------------------------------------------------------------------------------

    def greatest_version_is_reached(self, s: Any) -> Any:
        return some(s.state[p].version == self.max_version for p in self.all_partitions)

    def is_up(self, s: Any, b: Any) -> Any:
        return s.up.has(b) if self.restarts else True

    def is_offline(self, s: Any, b: Any) -> Any:
        """Whether the directory with a broker's replica has failed, and the broker has not been started anew since."""
        return s.offline.has(b) if self.directory_failures else False

    def acceptable(self, s: Any, active: Any) -> Any:
        """LeaderAcceptor: who of those that are active has its replica in a directory that is registered."""
        return active - s.without_directory if self.directory_failures else active

    def image_of(self, s: Any, b: Any) -> Any:
        """The image that a broker has."""
        return s.metadata.at(s.applied[b])

    # --- min.insync.replicas ----------------------------------------------------------------------------------------

    def controllers_min_isr(self, s: Any, p: int) -> Any:
        """getTopicEffectiveMinIsr: no more than there are replicas, of the topic's partition 0."""
        if self.replicas_counted == "own" or not self.reassigns:
            return self.min_isr_of(s, s.state[p])
        count = self.assigned_at_start or len(self.brokers)
        first = min(self.min_isr, count)
        return when(s.min_isr_changed, min(self.min_isr_then, count), first) if self.min_isr_then else first

    def min_isr_of(self, where: Any, registration: Any) -> Any:
        """effectiveMinIsr: min.insync.replicas, and no more than there are replicas.

        `where` is an image, or the state itself for what the controller has; the registration is of the same.
        """
        found: Any = min(self.min_isr, len(self.brokers))
        if self.min_isr_then:
            found = when(where.min_isr_changed, min(self.min_isr_then, len(self.brokers)), found)
        return minimum(found, registration.replicas.size) if self.reassigns else found

    def is_replica(self, registration: Any, b: Any) -> Any:
        """Whether a partition is assigned to a broker, as a registration says."""
        return registration.replicas.has(b) if self.reassigns else True

    @property
    def least_min_isr(self) -> int:
        """What min.insync.replicas is at any time, or more."""
        return int(min(self.min_isr, self.min_isr_then or self.min_isr))

    # --- commit and read --------------------------------------------------------------------------------------------

    def commit_batch(
        self,
        s: Any,
        registrations: dict[int, dict[str, Any]],
        live: Any = None,
        started: Any = None,
        where: Any = True,
        min_isr_changes: bool = False,
    ) -> None:
        """The controller commits a batch, where a condition holds: registrations by partition, who is active then.

        `started` is a broker that registers with it: it is up from now on, has a broker epoch greater by one, and the
        image that comes of the batch.
        """
        log, changed = s.metadata, {p: {**self._registration(s, p), **new} for p, new in registrations.items()}
        partitions = [changed.get(p, self._registration(s, p)) for p in self.all_partitions]
        image: dict[str, Any] = {"partition": partitions, "live": s.live if live is None else live}
        up: Any = s.up if self.restarts else None
        applied = {b: s.applied[b] for b in self.brokers}
        if self.restarts:
            epochs = {b: s.broker_epoch[b] + (1 if b == started else 0) for b in self.brokers}
            image["broker_epoch"] = list(epochs.values())
        if self.min_isr_then:
            image["min_isr_changed"] = True if min_isr_changes else s.min_isr_changed
        s.require(when(where, ~log.is_full, True))
        if started is not None:
            s.broker_epoch[started] += 1
            up, applied[started] = s.up | {started}, log.length
        for p, new in changed.items():
            for name, value in new.items():
                setattr(s.state[p], name, when(where, value, getattr(s.state[p], name)))
        if min_isr_changes:
            s.min_isr_changed = True
        if live is not None:
            s.live = when(where, live, s.live)
        self.keep_what_is_needed(s, when(where, log.appended(image), log), applied, up)

    def _registration(self, s: Any, p: int) -> dict[str, Any]:
        return {name: getattr(s.state[p], name) for name in self.first_registration()}

    def keep_what_is_needed(self, s: Any, log: Any, applied: dict[Any, Any], up: Any = None) -> None:
        """Forgets what every broker that is up has passed."""
        least = log.length - 1
        for position in (when(up.has(b), x, least) if self.restarts else x for b, x in applied.items()):
            least = minimum(least, position)
        kept = log
        for i in range(self.metadata_lag):
            kept = when(least > i, kept.without_first(), kept)
        s.metadata = kept
        for b, position in applied.items():
            s.applied[b] = when(up.has(b), position - least, 0) if self.restarts else position - least
        if self.restarts:
            s.up = up
