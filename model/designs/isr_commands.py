"""How a leader hears of an ISR that the controller has written: by command, in the leader epoch that it is in.

Two kinds of controllers were built. The *ZooKeeper* controller answers a leader by response alone; what it decides
itself takes a new leader epoch. The *KRaft* controller writes a metadata log that every broker reads, so that a leader
also hears of each new ISR by a command in its own leader epoch; there only a new leader takes a new one. The text of
KIP-497 is a third way (`answer`): the controller says at once that it has the request, writes later, and the leader
hears of the outcome by LeaderAndIsr.

Left out: the metadata log's own replication; commands that tell followers of an ISR, which change nothing for them.

Sources: KIP-497 with its comments, KIP-903, KAFKA-13790, KAFKA-15021.
"""

from __future__ import annotations

from typing import Any

from isrcheck.model.designs import sentences
from isrcheck.model.designs.alterations import Alterations
from isrcheck.model.designs.controller import any_controller
from isrcheck.model.designs.logs import any_partition
from isrcheck.model.language import action, becomes, broker, implies, none, setting, when


class IsrCommands(Alterations):
    """What a controller writes for a leader, and commands of a later version."""

    abstract = True

    controller_kind = setting(
        "zookeeper",
        choices=("zookeeper", "kraft"),
        meaning="the controller that was built upon ZooKeeper, or upon a metadata log",
    )
    answer = setting(
        "after-write",
        choices=("after-write", "before-write"),
        meaning="when the controller answers AlterIsr: with the outcome, as was built; or at once (the KIP's text)",
    )
    epoch_bump_on_shrink = setting(
        False, meaning="controller_kind = kraft: a smaller ISR takes a new leader epoch (before KAFKA-15021)"
    )
    version_is_an_epoch = setting(
        False,
        meaning="brokers take a command of a later version for one of a new leader epoch (before KAFKA-13790)",
    )

    @property
    def tells_by_command(self) -> bool:
        """Whether a leader hears of its new ISR by a command."""
        return bool(self.controller_kind == "kraft" or self.answer == "before-write")

    @property
    def marks_bounces(self) -> bool:
        """KIP-903 leaves the ZooKeeper controller as it was."""
        return self.controller_kind == "kraft" and super().marks_bounces

    def renew_session(self, s: Any, b: Any) -> None:
        """With a metadata log a broker that was fenced is so no more, in the life that it has."""
        if self.controller_kind == "kraft":
            s.live = s.live | {b}
            return
        super().renew_session(s, b)

    # --- the controller writes ------------------------------------------------------------------------------------

    def write_altered(self, s: Any, c: Any, p: int, b: Any, isr: Any) -> tuple[Any, Any]:
        """Writes an ISR that a leader asked for, and sends commands; the version, and whether the epoch is new."""
        state = s.state[p]
        bumps: Any = False
        if self.controller_kind == "kraft" and self.epoch_bump_on_shrink:
            bumps = ~(state.isr <= isr)
        s.require(state.version < self.max_version, implies(bumps, state.epoch < self.max_leader_epoch))
        epoch, version = when(bumps, state.epoch + 1, state.epoch), state.version + 1
        decision = {"leader": state.leader, "isr": isr, "epoch": epoch, "version": version}
        if self.tells_by_command:
            for x in self.brokers:
                told: Any = True if x == b else bumps & s.live.has(x)
                if self.version_is_an_epoch:
                    told = True if x == b else s.live.has(x)
                self.send(s, c, x, (told, self.request(s, c, p, decision)))
        self.note_isr(s, p, isr)
        s.state[p] = decision
        return version, bumps

    def note_isr(self, s: Any, p: int, isr: Any) -> None:
        """What else the controller keeps when an ISR is written."""

    # --- commands in the same leader epoch --------------------------------------------------------------------------

    def begins_an_epoch(self, s: Any, p: int, known: Any, choice: tuple[Any, Any], changed: Any) -> Any:
        """With ZooKeeper whatever the controller changes does, in KRaft a new leader; and a smaller ISR, if so set."""
        leader, isr = choice
        other = ~known.leader.is_none if leader is none else known.leader != leader
        if self.controller_kind == "zookeeper":
            return changed & (other | (known.isr != isr))
        return changed & (other | ~(known.isr <= isr)) if self.epoch_bump_on_shrink else changed & other

    def is_later_version(self, s: Any, b: Any, p: int, request: Any) -> Any:
        """Whether a command says something later in the leader epoch that a broker knows."""
        replica = s.replica[p][b]
        later = (request.epoch == replica.epoch) & (request.version > replica.version)
        later = later & self.is_current(s, b, request)
        if self.has_topics and self.topic_id:
            later = later & (request.incarnation == s.incarnation[p][b])
        return later & (request.kind == "leader-and-isr") if self.stops_replicas else later

    def is_followed(self, s: Any, b: Any, p: int, request: Any) -> Any:
        followed = super().is_followed(s, b, p, request)
        if self.version_is_an_epoch and self.tells_by_command:
            return followed | self.is_later_version(s, b, p, request)
        return followed

    def changes_isr(self, s: Any, b: Any, p: int, request: Any) -> Any:
        """Whether a command tells a leader of another ISR in the epoch in which it leads already."""
        return (request.leader == b) & self.leads(s, p, b) & self.is_later_version(s, b, p, request)

    @property
    def adopts_by_command(self) -> bool:
        return self.tells_by_command and not self.version_is_an_epoch

    def is_old_news(self, s: Any, b: Any, p: int, request: Any) -> Any:
        found = super().is_old_news(s, b, p, request)
        return found & ~self.changes_isr(s, b, p, request) if self.adopts_by_command else found

    @action(c=any_controller, b=broker, p=any_partition, actor="b")
    def adopt_isr_by_command(self, s: Any, c: Any, b: Any, p: int) -> None:
        """On a command of a later version in its own epoch a leader adopts the ISR, and nothing is pending any more."""
        if not self.adopts_by_command:
            return
        request = self.command(s, c, b, p)
        s.require(self.changes_isr(s, b, p, request))
        s.replica[p][b].isr = request.isr
        self.adopt(s, p, b, request)
        self.forget_pending(s, p, b, looks=True)
        self.taken(s, c, b, request)

    def told_adopt_isr_by_command(self, old: Any, new: Any, c: Any, b: Any, p: int) -> str:
        isr = becomes(old.replica[p][b].isr, new.replica[p][b].isr)
        version = becomes(old.replica[p][b].version, new.replica[p][b].version)
        return f"{self.taking_in_words(old, c, b, p)} and leads on: ISR {isr}, version {version}; nothing is pending"

    @action(c=any_controller, b=broker, p=any_partition, actor="b")
    def skip_command(self, s: Any, c: Any, b: Any, p: int) -> None:
        """A broker reads two records of the metadata log as one: only what the later one says happens."""
        if self.controller_kind == "zookeeper":
            return
        s.require(self.is_up(s, b), s.channel[c][b].length >= 2)
        first, second = s.channel[c][b].first, s.channel[c][b].at(1)
        s.require(first.epoch <= second.epoch)
        if self.partitions > 1:
            s.require(first.partition == p, second.partition == p)
        if self.has_topics:
            s.require(first.incarnation == second.incarnation)
        if self.stops_replicas:
            s.require(first.kind == "leader-and-isr", second.kind == "leader-and-isr")
        self.taken(s, c, b, first)

    def told_skip_command(self, old: Any, new: Any, c: Any, b: Any, p: int) -> str:
        first, second = (sentences.request_in_words(old.channel[c][b][i]) for i in (0, 1))
        return f"{b} reads {first} and {second}{sentences.sender_in_words(c)} as one, and forgets the former"
