"""KIP-497: the controller alone writes the ISR, and a leader requests changes by AlterIsr.

The data plane is that of `v3` with its fixes: followers truncate while they fetch, and leader epochs fence their
fetches. Requests and responses are in `alterations`, the leader's steps in `pending_isr`, and the controller's steps in
`alter_isr_handler`. `partition_state` defines how far a replica's log must reach before the replica joins the ISR.
`pending_isr` and `alter_isr_handler` exclude fenced and stopping brokers. A broker that stops loses its roles
(`data_plane`). A controller that stops also loses its controller epoch and its commands in flight (`controller`), the
requests that it has accepted, and what it knew when it was deposed (`alter_isr_handler`). In a controlled shutdown
the broker's session also ends (`controlled_shutdown`). This file fixes the values of some settings. It also defines how
a leader gets another ISR by a command in its own epoch, and a goal for each answer of the controller.

The controller is that of Kafka with ZooKeeper; `kraft` is the design without ZooKeeper. The leader learns the outcome
of a request only from the response. Each decision that the controller makes by itself begins a new leader epoch. The
text of KIP-497 differs (setting `answer`): the controller first confirms that it has the request, and writes the ISR
later. In that case the leader learns the outcome by LeaderAndIsr.

A *version* is what KIP-497 calls zkVersion and later KIPs call partition epoch.

Left out, in addition to what the other files leave out: other values of the settings that this file fixes. For
example, there is only one partition.

Sources: KIP-497 and its comments; the later KIPs and JIRA ids that the settings name.
"""

from __future__ import annotations

from typing import Any

from isrcheck.model.designs import State, design_constraints, design_profiles
from isrcheck.model.designs.alter_isr_handler import AlterationHandling
from isrcheck.model.designs.commands import Commands
from isrcheck.model.designs.controlled_shutdown import ControlledShutdown
from isrcheck.model.designs.controller import any_controller
from isrcheck.model.designs.pending_isr import PendingIsr
from isrcheck.model.designs.reassignment import Reassignment
from isrcheck.model.designs.replicas import any_partition
from isrcheck.model.designs.topics import Topics
from isrcheck.model.language import action, becomes, broker, goal, some


# The order of the parts is the order in which `super()` calls them.
class AlterIsr(AlterationHandling, PendingIsr, ControlledShutdown, Commands, Reassignment, Topics):
    """Leaders that request changes of the ISR from the controller, which alone writes the ISR."""

    invariants = (
        "isr-sane",
        "no-committed-loss",
        "quorum-is-superset-of-isr",
        "single-committed-leader-per-epoch",
    )
    profiles = design_profiles.ALTER_ISR

    startup = Commands.startup.with_default("controller")

    # Settings of `v3`, fixed at the values of Kafka with its fixes, some of which are later than KIP-497.
    truncation = "on-fetch"
    fetch_reply = "at-once"
    fence_fetch = True
    fence_truncation = True
    assign_on_leader = True
    refuse_undefined_epoch = True
    truncation_reply = "at-once"
    truncate_before_high_watermark = True
    records_have_epochs = True
    command_check = "controller-epoch"
    skip_same_leader = False
    controller_write = "atomic"
    init_flag = False
    init_isr = "live"
    no_leader_isr = "keep"
    cancellations = False
    target_isr_check = True
    target_leader_check = True
    stop_replica_check = "at-least"
    reassignment_rounds = 1
    checkpoint_all = True

    # Settings that have nothing to do with KIP-497.
    partitions = 1
    acks_one = False
    consumers = False
    follower_reads = False
    past_high_watermark = "empty"

    setting_constraints = design_constraints.ALTER_ISR

    # Actions that need another value of one of these settings.
    announce_target: Any = None
    answer_that_logs_diverge: Any = None
    ask_where_epoch_ends: Any = None
    cancel_reassignment: Any = None
    checkpoint_without_unstarted_replica: Any = None
    consume: Any = None
    delete_partition_not_in_init: Any = None
    fetch_out_of_range: Any = None
    handle_fetched: Any = None
    ignore_fetched: Any = None
    ignore_reply: Any = None
    produce_acks_one: Any = None
    raise_high_watermark_before_truncating: Any = None
    read_again: Any = None
    read_leader_and_isr: Any = None
    refuse_consumer: Any = None

    # --- the leader learns by a command in its own epoch -------------------------------------------------------------

    @property
    def tells_by_command(self) -> bool:
        """Whether a command, instead of the response, tells a leader that the requested ISR is now the ISR."""
        return bool(self.answer == "before-write")

    def changes_isr(self, s: State, b: Any, p: int, request: Any) -> Any:
        """Whether a command gives a leader another ISR in the leader epoch in which it already leads."""
        replica = s.replica[p][b]
        later = (request.epoch == replica.epoch) & (request.version > replica.version)
        later = later & self.is_current(s, b, request)
        if self.has_topics and self.topic_id:
            later = later & (request.incarnation == s.incarnation[p][b])
        if self.stops_replicas:
            later = later & (request.kind == "leader-and-isr")
        return (request.leader == b) & self.leads(s, p, b) & later

    def is_old_news(self, s: State, b: Any, p: int, request: Any) -> Any:
        found = super().is_old_news(s, b, p, request)
        return found & ~self.changes_isr(s, b, p, request) if self.tells_by_command else found

    @action(c=any_controller, b=broker, p=any_partition, actor="b", where=lambda m: m.tells_by_command)
    def adopt_isr_by_command(self, s: State, c: Any, b: Any, p: int) -> None:
        """A leader gets a command of its own epoch with a later version, adopts the ISR and forgets its pending ISR."""
        request = self.command(s, c, b, p)
        s.require(self.changes_isr(s, b, p, request))
        s.replica[p][b].isr = request.isr
        self.adopt(s, p, b, request)
        self.forget_pending(s, p, b, looks=True)
        self.taken(s, c, b, request)

    def describe_adopt_isr_by_command(self, old: Any, new: Any, c: Any, b: Any, p: int) -> str:
        isr = becomes(old.replica[p][b].isr, new.replica[p][b].isr)
        version = becomes(old.replica[p][b].version, new.replica[p][b].version)
        return f"{self.taking_in_words(old, c, b, p)} and leads on: ISR {isr}, version {version}; nothing is pending"

    # --- goals ------------------------------------------------------------------------------------------------------

    def is_answered(self, s: State, answer: str) -> Any:
        """Whether a response with the given answer is on its way."""
        return some(
            s.alteration[p][b][i].stage == answer
            for p in self.all_partitions
            for b in self.brokers
            for i in self.all_requests
        )

    @goal
    def isr_is_altered(self, s: State) -> Any:
        """A controller has altered the ISR as a leader asked."""
        return self.is_answered(s, "success")

    @goal
    def fenced_leader_epoch_is_answered(self, s: State) -> Any:
        """A controller answers FENCED_LEADER_EPOCH."""
        return self.is_answered(s, "fenced-leader-epoch")

    @goal
    def ineligible_replica_is_answered(self, s: State) -> Any:
        """A controller answers INELIGIBLE_REPLICA."""
        return self.is_answered(s, "ineligible-replica")

    @property
    def repeats_a_version(self) -> bool:
        """Whether a request of the current leader epoch may have a version before the current version.

        With `answer = after-write`, each decision that the controller makes by itself begins a new leader epoch. Then a
        request has an earlier version only if another request had that version, or if the request's topic is deleted.
        """
        late = bool(self.late_requests and not self.requests_in_order)
        again = bool((self.lost_responses or self.late_requests) and not self.idempotent_check)
        gone = bool(self.topic_changes and not self.topic_id)
        return late or again or gone or self.requests_in_flight > 1 or self.answer == "before-write"

    @goal(where=lambda m: m.repeats_a_version)
    def invalid_isr_version_is_answered(self, s: State) -> Any:
        """A controller answers INVALID_ISR_VERSION, later called INVALID_UPDATE_VERSION."""
        return self.is_answered(s, "invalid-isr-version")

    @goal(where=lambda m: m.topic_changes or m.reassignments)
    def invalid_request_is_answered(self, s: State) -> Any:
        """A controller answers INVALID_REQUEST."""
        return self.is_answered(s, "invalid-request")

    @goal
    def not_controller_is_answered(self, s: State) -> Any:
        """A broker answers NOT_CONTROLLER."""
        return self.is_answered(s, "not-controller")

    @goal
    def stale_broker_epoch_is_answered(self, s: State) -> Any:
        """A controller answers STALE_BROKER_EPOCH."""
        return self.is_answered(s, "stale-broker-epoch")

    @goal(where=lambda m: m.topic_changes)
    def unknown_topic_or_partition_is_answered(self, s: State) -> Any:
        """A controller answers UNKNOWN_TOPIC_OR_PARTITION."""
        return self.is_answered(s, "unknown-topic-or-partition")
