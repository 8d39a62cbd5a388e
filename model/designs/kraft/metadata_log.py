"""The metadata log, and how far each broker has read it: MetadataLoader, MetadataImage, KRaftMetadataCache.

The controller commits batches at the end of the log. The model keeps the *image* after each batch: the partition's
registration, the active brokers, the broker epoch of each broker, and min.insync.replicas. Each broker has a position
in the log, and knows only the image at that position. In one step a broker may go on by several batches, and then sees
only the last image. Kafka's loader takes several batches in one step if they were committed since it last looked, or if
it loads a snapshot.

The model forgets batches that all running brokers have passed.

Left out: batches that a broker applies in two parts; the moment when a broker has updated its metadata cache but not
yet its partition; a failover of the controller. (A controller answers only after its batch is committed, and the
next controller has the same log.)

Source: MetadataLoader.java, MetadataBatchLoader.java, TopicDelta.java, KRaftMetadataCache.java of Kafka 4.3.
"""

from __future__ import annotations

from typing import Any

from isrcheck.model.designs.kraft.partition_registration import PartitionRegistration
from isrcheck.model.designs.kraft.state import KraftState
from isrcheck.model.designs.kraft.unified_log import any_partition
from isrcheck.model.language import broker, budget, flag, minimum, number, per, record, sequence, set_of, setting, when


class MetadataLog(PartitionRegistration):
    """The controller's decisions, and how many of them each broker has read."""

    abstract = True

    metadata_lag = setting(
        2,
        at_least=1,
        at_most=6,
        meaning="batches of metadata by which the slowest broker may be behind",
        bound=lambda m, s: s.metadata.is_full,
    )
    crashes = budget(at_most=3, meaning="crashes that lose only what is volatile")
    lossy_crashes = budget(
        at_most=3, meaning="crashes that also lose records at the end of the log that were not flushed"
    )
    shutdowns = budget(at_most=2, meaning="controlled shutdowns")
    directory_failures = budget(
        at_most=2, meaning="log directories that fail, each with its broker's replica; the broker runs on"
    )

    min_isr_then: Any
    """A setting that `configuration_control` defines."""

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
        if self.directory_failures:
            found["directory_failures"] = number(0, self.directory_failures)
            found["offline"] = set_of(broker)
            found["without_directory"] = set_of(broker)
        return found

    def begins(self, s: KraftState) -> None:
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
        """A bound on the number of times that brokers start again."""
        return int(self.crashes + self.lossy_crashes + self.shutdowns)

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

    # --- words ------------------------------------------------------------------------------------------------------

    def runs(self, s: KraftState, b: Any) -> Any:
        """Whether a broker is running."""
        return s.up.has(b) if self.restarts else True

    def acceptable(self, s: KraftState, active: Any) -> Any:
        """LeaderAcceptor: the active brokers whose replica is in a registered directory."""
        return active - s.without_directory if self.directory_failures else active

    def image_of(self, s: KraftState, b: Any) -> Any:
        """The image at a broker's position in the metadata log."""
        return s.metadata.at(s.applied[b])

    # --- commit and read --------------------------------------------------------------------------------------------

    def commit_batch(
        self,
        s: KraftState,
        registrations: dict[int, dict[str, Any]],
        live: Any = None,
        started: Any = None,
        where: Any = True,
        min_isr_changes: bool = False,
    ) -> None:
        """If `where` is true, commits a batch: registrations by partition, and the brokers that are active afterwards.

        If `live` is None, the active brokers stay the same. `started` is a broker that registers in this batch. From
        then on this broker is up, its broker epoch is greater by one, and it has the image of this batch.
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
        s.require(s.room(when(where, ~log.is_full, True)))
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

    def _registration(self, s: KraftState, p: int) -> dict[str, Any]:
        return {name: getattr(s.state[p], name) for name in self.first_registration()}

    def keep_what_is_needed(self, s: KraftState, log: Any, applied: dict[Any, Any], up: Any = None) -> None:
        """Stores the running brokers, their positions, and the log from the position of the slowest running broker."""
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
