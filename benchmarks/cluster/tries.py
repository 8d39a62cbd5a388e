"""Tries to lose an acknowledged record on a real cluster: delays requests, stops brokers, reads the topic at the end.

A is the leader that acknowledges the record although it should not. C is the replica that is elected without the
record. B is the third replica.
"""

from __future__ import annotations

import re
import signal
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, Final

from benchmarks.cluster.proxy import ALTER_PARTITION, FETCH, Kind, Proxy
from benchmarks.cluster.reading import Partition
from benchmarks.cluster.run import Driver, Sent, inactive
from benchmarks.cluster.running import BROKERS, CONTROLLER, PATIENCE, Cluster, waited_for

LOAD: Final = 5
"""The milliseconds between two records of a steady load."""
SOON: Final = 0.02
"""The seconds between two checks of a condition if a broker must be stopped immediately after it."""
ANSWERS: Final = 0.2
"""The seconds for which a broker continues, so that its answers reach producers. A refused follower waits for 1 s."""


@dataclass(frozen=True)
class Way:
    """The interference of a try: it forces each step, or only delays the metadata of A, or only pauses A.

    `late` is in seconds. A is stopped by SIGKILL, or by SIGTERM if it `shuts_down`.
    """

    is_guided: bool = True
    late: float = 0.0
    pauses: bool = False
    shuts_down: bool = False


@dataclass(frozen=True)
class Outcome:
    """The acknowledged records, the records that a consumer read at the end, and the finding's signs in A's log."""

    acknowledged: frozenset[str]
    read: tuple[str, ...]
    signs: int

    @property
    def lost(self) -> list[str]:
        return sorted(self.acknowledged - set(self.read), key=lambda value: (len(value), value))


class Try(Driver):
    """One try, with its own topic, in a cluster with proxies."""

    order: ClassVar[str]
    """The roles in the order of the partition's replica assignment."""

    def __init__(self, cluster: Cluster, topic: str, way: Way) -> None:
        super().__init__(cluster, topic, BROKERS)
        self.way = way
        self.going: list[int] = []
        self.a, self.b, self.c = (self.run.order[self.order.index(role)] for role in "ABC")

    def drive(self) -> Outcome:
        """Drives the try, and returns its outcome. At the end all brokers are active and no request is delayed."""
        self.begin()
        self.must("open")
        try:
            self.write("base")
            self.guided() if self.way.is_guided else self.alone()
        finally:
            self.free()
        waited_for("a leader", lambda: self.state().leader not in (self.a, -1))
        self.did(f"broker {self.state().leader} leads in epoch {self.state().epoch}, ISR {self.state().isr}")
        self.must("stop")
        for broker in list(self.going):
            self.restart(broker)
        waited_for("all replicas in the ISR", lambda: set(self.state().isr) == set(BROKERS))
        self.write("last")
        outcome = self.outcome()
        self.must("close")
        return outcome

    def guided(self) -> None:
        raise NotImplementedError

    def alone(self) -> None:
        raise NotImplementedError

    def signs(self) -> int:
        """How often A's log shows the behaviour of the finding. A loss needs further events, too."""
        raise NotImplementedError

    # --- what tries have in common ----------------------------------------------------------------------------------

    def did(self, what: str) -> None:
        self.run.done.append(what)

    def must(self, op: str, **arguments: Any) -> dict[str, Any]:
        return self.cluster.operator.must(op, topic=self.run.topic, **arguments)

    def notified(self, value: str, seconds: float) -> str:
        """The result that the producer got for a record; "" if it got none in time."""
        return str(self.must("awaited", value=value, milliseconds=round(1000 * seconds))["told"])

    def send(self, value: str) -> None:
        self.must("send", value=value)
        self.run.sent.append(Sent(value, acknowledged=False))

    def write(self, value: str) -> None:
        """Writes a record, and waits until all replicas have it."""
        self.send(value)
        waited_for(f"{value} to be acknowledged", lambda: self.notified(value, 1) == "acknowledged")
        waited_for(f"{value} to be everywhere", lambda: all(value in self.values(b) for b in BROKERS))

    def outcome(self) -> Outcome:
        notified = self.must("told")["told"]
        acknowledged = frozenset(x for x, how in notified.items() if how == "acknowledged")
        self.run.sent = [Sent(each.value, each.value in acknowledged) for each in self.run.sent]
        return Outcome(acknowledged, tuple(self.must("read")["values"]), self.signs())

    def values(self, broker: int) -> list[str]:
        """The records in a broker's log."""
        return list(self.epochs_of(broker))

    def epochs_of(self, broker: int) -> dict[str, int]:
        """The records in a broker's log, with their leader epochs."""
        return {x["value"]: x["epoch"] for x in self.cluster.records(broker, self.run.topic)}

    def state(self) -> Partition:
        """The state of the partition in the metadata log."""
        records = self.cluster.metadata()
        named = (x["data"] for x in records if x["type"] == "TopicRecord")
        topic = next(x["topicId"] for x in named if x["name"] == self.run.topic)
        found = Partition(self.run.order[0], list(self.run.order), 0, 0, list(self.run.order))
        for record in records:
            if record["type"] == "PartitionChangeRecord" and record["data"]["topicId"] == topic:
                found.change(record["data"])
        return found

    def says(self, broker: int, *texts: str) -> int:
        """The number of lines in a broker's log that are about the partition and contain all these texts."""
        name = f"{self.run.topic}-0 ".encode()
        return sum(name in x and all(t.encode() in x for t in texts) for x in self.lines(broker))

    @property
    def controller(self) -> Proxy:
        return self.cluster.proxies[CONTROLLER]

    def metadata_of(self, broker: int) -> Kind:
        """The kind of a broker's requests for metadata, which it sends as an observer of the controllers' quorum."""
        return Kind(f"raft-client-{broker}", FETCH)

    def fetches_of(self, broker: int) -> Kind:
        return Kind(f"broker-{broker}-fetcher-0", FETCH)

    def changes_of(self, broker: int) -> Kind:
        return Kind(str(broker), ALTER_PARTITION)

    def keep(self, proxy: Proxy, kind: Kind) -> None:
        """Holds back later requests of a kind, and waits until one is held, so that earlier requests are answered."""
        proxy.hold(kind)
        waited_for(f"{kind} to wait", lambda: proxy.waiting(kind), every=SOON)

    def a_is_late(self) -> None:
        """Delays A's requests for metadata and for changes of the ISR by the time that `way` gives."""
        if self.way.late:
            for kind in (self.metadata_of(self.a), self.changes_of(self.a)):
                self.controller.delay(kind, self.way.late)

    def free(self) -> None:
        """Ends all delays."""
        for proxy in self.cluster.proxies.values():
            for kind in list(proxy.late):
                proxy.release(kind)

    def goes(self) -> None:
        """Stops A: kills it, or shuts it down and waits until another leader is elected."""
        if self.way.shuts_down:
            self.cluster.send(self.a, signal.SIGTERM)
            self.run.had = self.epochs_of(self.a)
            waited_for("another leader", lambda: self.state().leader != self.a, every=SOON)
        else:
            self.cluster.kill(self.a)
            self.run.had = self.epochs_of(self.a)
        self.stopped(self.a, crashed=not self.way.shuts_down)

    def stopped(self, broker: int, crashed: bool) -> None:
        self.did(f"A, broker {broker}, goes" if broker == self.a else f"broker {broker} shuts down")
        self.going.append(broker)
        self.run.stops.append(("crash" if crashed else "finish-controlled-shutdown", broker, time.time()))

    def restart(self, broker: int) -> None:
        """Starts a stopped broker again, after its process has ended. A controlled shutdown takes a while."""
        self.cluster.processes[broker].wait(PATIENCE)
        self.cluster.start(broker)
        self.going.remove(broker)


class MissedElections(Try):
    """A hears of two elections together, that of B and its own later one: docs/findings/missed-elections.md."""

    order = "BAC"

    def guided(self) -> None:
        self.a_leads()
        for broker in (self.a, self.c):
            self.keep(self.controller, self.metadata_of(broker))
        self.elect_b()
        waited_for("B to lead", lambda: self.leads(self.b), every=SOON)
        self.send("r0")
        waited_for("C to have it", lambda: "r0" in self.values(self.c), every=SOON)
        self.controller.release(self.metadata_of(self.c))
        waited_for("C to truncate it", lambda: "r0" not in self.values(self.c), every=SOON)
        self.b_goes()
        self.controller.release(self.metadata_of(self.a))
        self.did(f"the producer of r0 is told: {self.notified('r0', 20)}")
        self.goes()

    def alone(self) -> None:
        self.a_leads()
        self.must("load", prefix="r", milliseconds=LOAD)
        self.a_is_late()
        time.sleep(1)
        if self.way.pauses:
            self.cluster.send(self.a, signal.SIGSTOP)
            time.sleep(1)
        self.elect_b()
        if self.way.pauses:
            waited_for("C to follow B", lambda: self.says(self.c, "starts at leader epoch 2"), every=SOON)
        self.b_goes()
        if self.way.pauses:
            self.cluster.send(self.a, signal.SIGCONT)
        waited_for("A to lead", lambda: self.says(self.a, "Leader", "starts at leader epoch 3"), every=SOON)
        time.sleep(ANSWERS)
        self.goes()

    def a_leads(self) -> None:
        """Restarts B, so that A leads in leader epoch 1."""
        self.cluster.send(self.b, signal.SIGTERM)
        self.stopped(self.b, crashed=False)
        self.restart(self.b)
        waited_for("all replicas in the ISR", lambda: set(self.state().isr) == set(BROKERS))
        waited_for("A to lead", lambda: self.leads(self.a))
        time.sleep(1)

    def leads(self, broker: int) -> bool:
        return bool(self.says(broker, "Leader", f"starts at leader epoch {self.state().epoch} "))

    def elect_b(self) -> None:
        self.must("elect")
        self.did(f"B, broker {self.b}, is elected as the preferred leader")

    def b_goes(self) -> None:
        self.cluster.send(self.b, signal.SIGTERM)
        self.stopped(self.b, crashed=False)
        waited_for("A to be elected", lambda: self.state().leader == self.a, every=SOON)

    def signs(self) -> int:
        """1 if A leads in epoch 3 and its log has no line that it followed in epoch 2."""
        follows = self.says(self.a, "Follower", "starts at leader epoch 2")
        return int(bool(self.says(self.a, "Leader", "starts at leader epoch 3") and not follows))


class ForgottenExpansion(Try):
    """A hears of an ISR that it knows, and forgets its pending expansion: docs/findings/forgotten-expansion.md."""

    order = "ACB"

    def guided(self) -> None:
        leader = self.cluster.proxies[self.a]
        adds = self.changes_of(self.a)
        for broker in (self.b, self.c):
            self.keep(leader, self.fetches_of(broker))
        self.send("r0")
        self.must("add-producer")
        waited_for("A to lead alone", lambda: self.says(self.a, "Skipped", f"ISR [{self.a}]"), every=SOON)
        self.keep(self.controller, self.metadata_of(self.a))
        notified = self.heard_of_b()
        leader.let_one_through(self.fetches_of(self.b))
        waited_for("A to add B", lambda: self.heard_of_b() > notified, every=SOON)
        self.controller.hold(adds)
        leader.let_one_through(self.fetches_of(self.c))
        waited_for("A to ask for C", lambda: self.controller.waiting(adds), every=SOON)
        self.send("r1")
        waited_for("A to have r1", lambda: "r1" in self.values(self.a), every=SOON)
        heard = self.heard()
        self.controller.release(self.metadata_of(self.a))
        waited_for("A to hear of B", lambda: self.heard() > heard, every=SOON)
        leader.release(self.fetches_of(self.b))
        self.did(f"the producer of r1 is told: {self.notified('r1', 20)}")
        self.controller.release(adds)
        waited_for("C in the ISR", lambda: set(self.state().isr) == set(BROKERS), every=SOON)
        self.goes()

    def heard_of_b(self) -> int:
        """The number of answers to A's AlterPartition requests with the ISR {A, B}."""
        return sum(self.says(self.a, f"ISR updated to {x},{y} ") for x, y in ((self.a, self.b), (self.b, self.a)))

    def heard(self) -> int:
        return self.says(self.a, "Skipped the become-leader state change")

    def alone(self) -> None:
        for broker in (self.b, self.c):
            self.cluster.send(broker, signal.SIGSTOP)
        waited_for("both to be fenced", lambda: {self.b, self.c} <= inactive(self.cluster.metadata()))
        waited_for("A to lead alone", lambda: self.state().isr == [self.a])
        self.must("load", prefix="r", milliseconds=LOAD)
        self.a_is_late()
        for broker in (self.b, self.c):
            self.cluster.send(broker, signal.SIGCONT)
        waited_for("all replicas in the ISR", lambda: set(self.state().isr) == set(BROKERS), every=SOON)
        self.goes()

    def signs(self) -> int:
        return forgotten([x.decode() for x in self.lines(self.a) if self.name in x])


def forgotten(lines: Sequence[str]) -> int:
    """How often a leader heard of a partition epoch that it knew while it waited for an answer, by its DEBUG log."""
    known, asks, count = -1, False, 0
    for text in lines:
        if "Submitting ISR state change PendingExpandIsr" in text:
            asks = True
        elif found := re.search(r"ISR updated to .* version updated to (\d+)", text):
            known, asks = int(found[1]), False
        elif "Ignoring failed ISR update" in text:
            asks = False
        elif "Skipped the become-leader state change" in text:
            version = int(re.findall(r"partitionEpoch=(\d+)", text)[0])
            count += asks and version == known
            known, asks = max(known, version), False
    return count


FINDINGS: Final[dict[str, Callable[[Cluster, str, Way], Try]]] = {
    "missed-elections": MissedElections,
    "forgotten-expansion": ForgottenExpansion,
}
