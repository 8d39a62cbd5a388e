"""Who may join the ISR: brokers that are neither fenced nor stopping, in the life in which they fetched.

A broker is *fenced* when it has no session; a *stopping* one has told the controller that it shuts down, and does not
fetch any more. To the controller neither is live. A broker's *life* lasts from one start to the next; KIP-380 numbers
lives by broker epochs. The model needs no numbers: it marks followers that have *bounced*, started anew, since a leader
last heard of them.

Left out: the lag of a leader's metadata cache. It knows at once who is fenced and who has bounced; the controller still
judges later than the leader asks.

Sources: KIP-380, KIP-841, KIP-903, and the JIRA ids at the settings.
"""

from __future__ import annotations

from typing import Any

from isrcheck.model.designs.commands import Commands
from isrcheck.model.designs.logs import UNKNOWN
from isrcheck.model.language import action, becomes, broker, number, set_of, setting, when


class Eligibility(Commands):
    """Brokers that stop in order, and what a leader knows of its followers' lives."""

    abstract = True

    eligible_check = setting(
        True,
        meaning="fenced and stopping brokers do not join the ISR: no leader asks for it, and the controller refuses it "
        "(KIP-841)",
    )
    member_epochs = setting(
        True,
        meaning="controller_kind = kraft: requests name the broker epochs in which members last fetched, and the "
        "controller refuses members that have started anew since (KIP-903)",
    )
    shutdowns = setting(
        0,
        at_least=0,
        at_most=2,
        meaning="controlled shutdowns",
        bound=lambda m, s: s.shutdowns == m.shutdowns if m.shutdowns else False,
    )
    follower_state = setting(
        "forgotten",
        choices=("forgotten", "kept"),
        meaning="what a leader that leads on in a new epoch knows of its followers: nothing, or what it knew before",
    )
    expand_guard = setting(
        "epoch-start",
        choices=("high-watermark", "epoch-start", "fetched-in-epoch", "at-fetch"),
        meaning="when a replica may join the ISR: at the leader's high watermark; also at the start of the leader's "
        "epoch (KAFKA-7128); and if it has fetched in that epoch (which tells only where follower_state is kept), or "
        "only as the leader handles a fetch of it, as Kafka does",
    )

    # --- variables --------------------------------------------------------------------------------------------------

    @property
    def has_crashes(self) -> bool:
        return bool(super().has_crashes or self.shutdowns)

    @property
    def needs_epoch_start(self) -> bool:
        return bool(self.expand_guard != "high-watermark")

    @property
    def marks_bounces(self) -> bool:
        """Whether the lives of members are told apart."""
        return bool(self.member_epochs and self.has_crashes)

    @property
    def marks_fetches(self) -> bool:
        return bool(self.follower_state == "kept" and self.expand_guard == "fetched-in-epoch")

    def replica_fields(self) -> dict[str, Any]:
        found = super().replica_fields()
        if self.marks_bounces:
            found["bounced"] = set_of(broker)
        if self.marks_fetches:
            found["fetched"] = set_of(broker)
        return found

    def variables(self) -> dict[str, Any]:
        """Besides, who is stopping; of each leader, which followers have bounced, and which have fetched."""
        found = super().variables()
        if self.shutdowns:
            found["shutdowns"] = number(0, self.shutdowns)
            found["stopping"] = set_of(broker)
        return found

    # --- what a leader knows of followers ---------------------------------------------------------------------------

    def forget_followers(self, s: Any, p: int, b: Any) -> None:
        super().forget_followers(s, p, b)
        if self.marks_bounces:
            s.replica[p][b].bounced = set()
        if self.marks_fetches:
            s.replica[p][b].fetched = set()

    def reset_followers(self, s: Any, p: int, b: Any) -> None:
        """A leader that leads on in a new epoch may keep what it knows of those that it knew as replicas."""
        if self.follower_state == "forgotten":
            super().reset_followers(s, p, b)
            return
        leads_on = s.replica[p][b].role == "leader"
        for f in self.brokers:
            kept = leads_on & self.tracks(s, p, b, f)
            s.known_end[p][b][f] = when(kept, s.known_end[p][b][f], UNKNOWN)
        if self.marks_bounces:
            s.replica[p][b].bounced = when(leads_on, s.replica[p][b].bounced, set())
        if self.marks_fetches:
            s.replica[p][b].fetched = set()

    def is_heard_anew(self, s: Any, p: int, leader: Any, follower: Any) -> Any:
        """In a new life, or in a new epoch, a follower's fetch makes it eligible."""
        replica, found = s.replica[p][leader], super().is_heard_anew(s, p, leader, follower)
        if self.marks_bounces:
            found = replica.bounced.has(follower) | found
        return ~replica.fetched.has(follower) | found if self.marks_fetches else found

    def note_fetch(self, s: Any, p: int, leader: Any, follower: Any) -> None:
        replica = s.replica[p][leader]
        if self.marks_bounces:
            replica.bounced = replica.bounced - {follower}
        if self.marks_fetches:
            replica.fetched = replica.fetched | {follower}

    def may_expand(self, s: Any, p: int, b: Any, follower: Any) -> Any:
        found, replica = super().may_expand(s, p, b, follower), s.replica[p][b]
        if self.marks_fetches:
            found = found & replica.fetched.has(follower)
        return found & self.is_eligible(s, p, b, follower)

    def is_eligible(self, s: Any, p: int, b: Any, follower: Any) -> Any:
        """Whether a leader may ask that a follower be in the ISR."""
        found: Any = s.live.has(follower) if self.eligible_check else True
        return found & ~s.replica[p][b].bounced.has(follower) if self.marks_bounces else found

    # --- lives ------------------------------------------------------------------------------------------------------

    @action(b=broker, actor="b")
    def on_broker_startup(self, s: Any, b: Any) -> None:
        """A broker starts, registers with a new broker epoch, and takes its roles from ZooKeeper or waits for commands.

        With broker epochs the controller treats every bounce as a failure and then a start: the broker comes back
        after the controller has seen that it was gone.
        """
        if not self.has_crashes:
            return
        super().on_broker_startup(s, b)
        self.begin_life(s, b)

    def begin_life(self, s: Any, b: Any) -> None:
        """What others remember of a broker is of a former life now."""
        if not self.marks_bounces:
            return
        for p in self.all_partitions:
            for leader in self.brokers:
                if leader != b:
                    replica, heard = s.replica[p][leader], s.known_end[p][leader][b] != UNKNOWN
                    replica.bounced = when(heard, replica.bounced | {b}, replica.bounced)

    @action(b=broker, actor="b", perturbation=True)
    def begin_controlled_shutdown(self, s: Any, b: Any) -> None:
        """A broker tells the controller that it shuts down: it fetches no more, and to the controller is not live."""
        if not self.shutdowns:
            return
        s.require(s.shutdowns < self.shutdowns, self.is_up(s, b), s.live.has(b))
        s.shutdowns += 1
        s.stopping = s.stopping | {b}
        self.expire(s, b)

    def told_begin_controlled_shutdown(self, old: Any, new: Any, b: Any) -> str:
        return f"{b} tells the controller that it shuts down: live brokers {becomes(old.live, new.live)}"

    @action(b=broker, actor="b", perturbation=True)
    def finish_controlled_shutdown(self, s: Any, b: Any) -> None:
        """A broker that shuts down stops at last, in its own time."""
        if not self.shutdowns:
            return
        s.require(s.stopping.has(b))
        self.stop(s, b)

    def told_finish_controlled_shutdown(self, old: Any, new: Any, b: Any) -> str:
        return f"{b} stops at last{self.lost_in_words(old, new, b)}"

    @action(b=broker, actor="b")
    def register_again(self, s: Any, b: Any) -> None:
        """A broker that had lost its session, and does not shut down, has a new one."""
        if not self.expiries:
            return
        if self.shutdowns:
            s.require(~s.stopping.has(b))
        super().register_again(s, b)

    def stop(self, s: Any, b: Any, kept: Any = None) -> None:
        super().stop(s, b, kept)
        if self.shutdowns:
            s.stopping = s.stopping - {b}

    def may_fetch(self, s: Any, p: int, follower: Any, leader: Any) -> Any:
        found = super().may_fetch(s, p, follower, leader)
        return found & ~s.stopping.has(follower) if self.shutdowns else found
