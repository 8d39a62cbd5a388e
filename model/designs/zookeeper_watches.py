"""ZooKeeper's watches: set by a read, fired once by the next change, handled late.

A broker that reads a path sets a watch on it. The next change of the path *fires* the watch: a notification is on its
way, and the watch is gone. When the broker handles the notification, it reads the present value of the path. The broker
does not see the values in between, and two brokers that were notified of the same change may read different values. A
broker handles its notifications in any order, so a notification may wait while later ones are handled.

The watches of a session end with the session. A broker that starts or has a new session reads every path, as if it had
been notified of a change of every path.
"""

from __future__ import annotations

from typing import Any

from isrcheck.model.designs import State
from isrcheck.model.designs import zookeeper_sentences as sentences
from isrcheck.model.designs.data_plane import DataPlane
from isrcheck.model.designs.logs import Logs
from isrcheck.model.designs.partition_state import PartitionState
from isrcheck.model.designs.replicas import any_partition
from isrcheck.model.designs.sentences import now, of_partition
from isrcheck.model.language import (
    action,
    asked,
    becomes,
    broker,
    count,
    enum,
    minimum,
    none,
    number,
    per,
    record,
    setting,
    when,
)

LOAD = 60
"""The value at which the counters of ZooKeeper's load stop; no test or scenario reaches it."""


class ZookeeperWatches(PartitionState, DataPlane, Logs):
    """Sessions with watches on the paths of each partition."""

    abstract = True

    watch_again = setting(
        "with-the-read",
        choices=("with-the-read", "after-the-read"),
        meaning="when a broker that was told of another leader sets its watch on the path again. with-the-read: when "
        "it reads the path; after-the-read: in a later step",
    )
    count_load = setting(False, meaning="notifications by ZooKeeper and requests to it are counted")

    # --- variables --------------------------------------------------------------------------------------------------

    @property
    def watched(self) -> tuple[str, ...]:
        """The paths of a partition that are watched."""
        return ("leader",)

    def variables(self) -> dict[str, Any]:
        found = super().variables()
        watches = per(enum(*self.watched), enum("none", "set", "fired"))
        found["watch"] = per(any_partition(self), per(broker, watches))
        if self.count_load:
            found["load"] = record(notifications=number(0, LOAD), requests=number(0, LOAD))
        return found

    def initial(self, s: State) -> None:
        super().initial(s)
        for p in self.all_partitions:
            for b in self.brokers:
                for path in self.watched:
                    s.watch[p][b][path] = "set" if self.watches_at_start(b) else "none"

    def watches_at_start(self, b: Any) -> bool:
        """Whether a broker has watches in the initial state."""
        return True

    # --- words ------------------------------------------------------------------------------------------------------

    def connected(self, s: State, b: Any) -> Any:
        """Whether a broker runs and has a session. Only such brokers are notified and create ephemeral nodes."""
        return self.is_up(s, b) & s.live.has(b)

    def has_notification(self, s: State, p: int, b: Any, path: str) -> Any:
        """Whether a broker has been notified of a change of a path, and has not acted on it yet."""
        return self.connected(s, b) & (s.watch[p][b][path] == "fired")

    def read_and_watch(self, s: State, p: int, b: Any, path: str, changes: bool = False) -> Any:
        """A broker handles a notification: it reads and watches the path and, if `changes` is true, changes the path.

        With `watch_again = after-the-read`, it watches the leader node later. Returns how many brokers are notified.
        """
        later = path == "leader" and self.watch_again == "after-the-read"
        s.watch[p][b][path] = "none" if later else "fired" if changes else "set"
        notified = self.fire(s, p, path, but=b) if changes else 0
        return notified + 1 if changes and not later else notified

    def fire(self, s: State, p: int, path: str, condition: Any = True, but: Any = None) -> Any:
        """If a condition holds, notifies the brokers that watch a path, except `but`. Returns how many are notified."""
        others = [b for b in self.brokers if b != but]
        notified = {b: (s.watch[p][b][path] == "set") & condition for b in others}
        for b in others:
            s.watch[p][b][path] = when(notified[b], "fired", s.watch[p][b][path])
        return count(notified.values())

    def lose_watches(self, s: State, b: Any) -> None:
        for p in self.all_partitions:
            for path in self.watched:
                s.watch[p][b][path] = "none"

    def read_everything(self, s: State, b: Any) -> None:
        """A broker with a new session reads and watches every path, one after the other."""
        for p in self.all_partitions:
            for path in self.watched:
                s.watch[p][b][path] = "fired"

    def note_load(self, s: State, notifications: Any, requests: Any) -> None:
        """Counts notifications by ZooKeeper and requests to ZooKeeper. Writes of the ISR are not counted."""
        if self.count_load:
            s.load.notifications = minimum(s.load.notifications + notifications, LOAD)
            s.load.requests = minimum(s.load.requests + requests, LOAD)

    @action(p=any_partition, b=broker, actor="b", where=lambda m: m.watch_again == "after-the-read")
    def watch_leader_again(self, s: State, p: int, b: Any) -> None:
        """A broker sets its watch again, some time after its read. It misses changes between the read and the watch."""
        s.require(self.connected(s, b), s.watch[p][b]["leader"] == "none")
        s.watch[p][b]["leader"] = "set"

    def describe_watch_leader_again(self, old: Any, new: Any, p: int, b: Any) -> str:
        node, whose = sentences.node_in_words(old, p, b), of_partition(self, p)
        if old.state[p].leader is not None and old.replica[p][b].leader == old.state[p].leader:
            return f"{b} watches the leader node{whose} again: {node}"
        on = f"and {sentences.goes_on(old, p, b)}; what changed since it read goes unnoticed: {node} by now"
        return f"{b} watches the leader node{whose} again {on}"

    def written_in_words(self, old: Any, new: Any, p: int) -> str:
        """Words for what a write of the ISR path changes."""
        return f"ISR {now(old.state[p].isr, new.state[p].isr)}"

    def describe_shrink_isr(self, old: Any, new: Any, p: int, b: Any, follower: Any) -> str:
        who, known = sentences.leader_in_words(self, old, p, b), sentences.known_in_words(old, p, b, follower)
        own = becomes(old.replica[p][b].isr, new.replica[p][b].isr)
        written = self.written_in_words(old, new, p)
        return f"{who} takes {follower}, {known}, out of its ISR {own}; in ZooKeeper {written}"

    def describe_shrink_isr_of_slow(self, old: Any, new: Any, p: int, b: Any, follower: Any) -> str:
        return f"{self.describe_shrink_isr(old, new, p, b, follower)}; it has been slow to fetch again"

    def describe_expand_isr(self, old: Any, new: Any, p: int, b: Any, follower: Any) -> str:
        who, known = sentences.leader_in_words(self, old, p, b), sentences.known_in_words(old, p, b, follower)
        own = becomes(old.replica[p][b].isr, new.replica[p][b].isr)
        written = self.written_in_words(old, new, p)
        return f"{who} takes {follower}, {known}, into its ISR {own}; in ZooKeeper {written}"

    def describe_session_expires(self, old: Any, new: Any, b: Any) -> str:
        leads = any(asked(new, self.leads, p, b) for p in self.all_partitions)
        runs = "which runs on and leads in its own eyes" if leads else "which runs on"
        return f"ZooKeeper expires the session of {b}, {runs}: {sentences.expires(self, old, new, b)}"

    def describe_session_of_the_dead_expires(self, old: Any, new: Any, b: Any) -> str:
        return f"ZooKeeper expires the session of {b}, which is down: {sentences.expires(self, old, new, b)}"

    # --- sessions and crashes ---------------------------------------------------------------------------------------

    def expire(self, s: State, b: Any) -> None:
        """The session ends with its ephemeral nodes and its watches; brokers that watch the nodes are notified."""
        super().expire(s, b)
        notified: Any = 0
        for p in self.all_partitions:
            led = s.state[p].leader == b
            s.state[p].leader = when(led, none, s.state[p].leader)
            notified = notified + self.fire(s, p, "leader", led, but=b)
        self.lose_watches(s, b)
        self.note_load(s, notified, 0)

    def stop(self, s: State, b: Any, kept: Any = None) -> None:
        super().stop(s, b, kept)
        self.lose_watches(s, b)

    @action(b=broker, actor="b", where=lambda m: m.expiries)
    def register_again(self, s: State, b: Any) -> None:
        """A broker that lost its session gets a new one, and reads everything again."""
        s.require(self.is_up(s, b), ~s.live.has(b))
        s.live = s.live | {b}
        self.read_everything(s, b)

    def describe_register_again(self, old: Any, new: Any, b: Any) -> str:
        leads = any(asked(old, self.leads, p, b) for p in self.all_partitions)
        who = f"{b}, which still leads in its own eyes," if leads else f"{b}"
        return f"{who} gets a new ZooKeeper session, registers, and will read every path again"
