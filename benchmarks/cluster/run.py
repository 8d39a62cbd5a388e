"""Drives one run with a new topic, records and faults, and notes what was done and when, for the recording."""

from __future__ import annotations

import signal
import time
from dataclasses import dataclass, field
from random import Random
from typing import Any, Final

from benchmarks.cluster.running import BROKERS, Cluster, waited_for

MIN_ISR: Final = 2


@dataclass(frozen=True)
class Sent:
    """A record that was sent, and whether it was acknowledged to a producer with acks=all."""

    value: str
    acknowledged: bool


@dataclass
class Run:
    """The steps of a run. `order` has the topic's replicas, `from_size` the sizes of their log files at the start.

    `stops` has the brokers that were killed or shut down, each with the time. `had` has the records, with their leader
    epochs, that a broker's log had when the broker stopped. At the end, perhaps no log has them.
    """

    topic: str
    order: tuple[int, ...]
    from_size: dict[int, int]
    sent: list[Sent] = field(default_factory=list)
    stops: list[tuple[str, int, float]] = field(default_factory=list)
    done: list[str] = field(default_factory=list)
    had: dict[str, int] = field(default_factory=dict)


class Driver:
    """The base of all runs: sends requests to the cluster, and reads its files."""

    def __init__(self, cluster: Cluster, topic: str, order: tuple[int, ...]) -> None:
        self.cluster = cluster
        self.run = Run(topic, order, dict.fromkeys(BROKERS, 0))

    def begin(self) -> None:
        """Waits until all brokers are active, creates the topic, and waits until the brokers have heard of it."""
        self.quiet_brokers()
        self.run.from_size.update({b: self.cluster.log(b).stat().st_size for b in BROKERS})
        self.ask("create", replicas=list(self.run.order), min_isr=str(MIN_ISR))
        waited_for("all brokers to hear of the topic", lambda: all(map(self.has_heard, BROKERS)))

    def ask(self, op: str, **arguments: Any) -> dict[str, Any]:
        return self.cluster.operator.ask(op, topic=self.run.topic, **arguments)

    def has_heard(self, broker: int) -> bool:
        return any(b"starts at leader epoch" in x and self.name in x for x in self.lines(broker))

    @property
    def name(self) -> bytes:
        return f" {self.run.topic}-0 ".encode()

    def lines(self, broker: int) -> list[bytes]:
        with self.cluster.log(broker).open("rb") as file:
            file.seek(self.run.from_size[broker])
            return file.read().splitlines()

    def quiet_brokers(self) -> None:
        """Waits until every broker is active."""

        def is_quiet() -> bool:
            return not inactive(self.cluster.metadata())

        waited_for("all brokers to be active", is_quiet)

    def describe(self) -> dict[str, Any]:
        return self.ask("describe")

    def isr(self) -> set[int]:
        return set(self.describe().get("isr", ()))

    def leader(self) -> int:
        found = self.describe().get("leader", -1)
        return int(found) if found in BROKERS else self.run.order[0]

    def active_again(self, broker: int) -> None:
        waited_for("it to be active", lambda: broker not in inactive(self.cluster.metadata()))

    def left_behind(self) -> dict[str, Any]:
        """The data of a run at its end, for its recording."""
        name = f"{self.run.topic}-0"
        return {
            "run": {**self.run.__dict__, "sent": [each.__dict__ for each in self.run.sent]},
            "metadata": self.cluster.metadata(),
            "lines": {b: [x for x in map(bytes.decode, self.lines(b)) if name in x] for b in BROKERS},
            "logs": {b: self.cluster.records(b, self.run.topic) for b in BROKERS},
            "epochs": {b: self.cluster.epochs(b, self.run.topic) for b in BROKERS},
        }


class Runner(Driver):
    """Drives one run in a cluster whose brokers are all active, and leaves the cluster in this state."""

    def __init__(self, cluster: Cluster, number: int, seed: int) -> None:
        self.choose = Random(f"{seed}/{number}")
        super().__init__(cluster, f"t{number}", tuple(self.choose.sample(BROKERS, len(BROKERS))))

    def drive(self) -> Run:
        self.begin()
        self.produce()
        faults = [self.stop_for_long, self.stop_for_long, self.stop_two, self.stop_shortly, self.kill, self.shut_down]
        if self.choose.random() < 0.15:
            faults = [self.reassign]
        for fault in self.choose.sample(faults, min(len(faults), self.choose.choice((1, 1, 2)))):
            fault()
            if self.choose.random() < 0.5:
                self.produce()
        waited_for("all replicas in the ISR", lambda: self.isr() == set(BROKERS))
        if self.choose.random() < 0.6:
            self.elect()
        self.produce()
        time.sleep(3)
        return self.run

    def produce(self) -> None:
        value = f"r{len(self.run.sent)}"
        answer = self.ask("produce", value=value, seconds=12)
        self.run.sent.append(Sent(value, "offset" in answer))
        self.run.done.append(f"{value} is written: {answer}")

    # --- faults -----------------------------------------------------------------------------------------------------

    def somebody(self) -> int:
        """A broker for a fault: with a probability of at least 0.6 the leader."""
        return self.leader() if self.choose.random() < 0.6 else self.choose.choice(BROKERS)

    def stop_for_long(self) -> None:
        """Pauses a broker until it is fenced, then lets it continue."""
        broker = self.somebody()
        self.run.done.append(f"broker {broker} stands still until it is fenced")
        self.cluster.send(broker, signal.SIGSTOP)
        try:
            waited_for("it to be fenced", lambda: broker in inactive(self.cluster.metadata()))
            if self.choose.random() < 0.5:
                self.produce()
        finally:
            self.cluster.send(broker, signal.SIGCONT)
        self.active_again(broker)

    def stop_two(self) -> None:
        """Pauses two brokers until both are fenced, so that the ISR has fewer members than min.insync.replicas."""
        pair = self.choose.sample(BROKERS, 2)
        self.run.done.append(f"brokers {pair} stand still until they are fenced")
        for broker in pair:
            self.cluster.send(broker, signal.SIGSTOP)
        try:
            waited_for("them to be fenced", lambda: set(pair) <= inactive(self.cluster.metadata()))
        finally:
            for broker in pair:
                self.cluster.send(broker, signal.SIGCONT)
        for broker in pair:
            self.active_again(broker)

    def reassign(self) -> None:
        """Reassigns the partition to two brokers, and then to three again."""
        staying = [self.run.order[0], self.choose.choice(self.run.order[1:])]
        for replicas in (staying, list(self.run.order)):
            self.run.done.append(f"replicas {replicas} are asked for: {self.ask('reassign', replicas=replicas)}")
            waited_for("the replicas to be in the ISR", lambda wanted=set(replicas): self.isr() == wanted)
            self.produce()

    def stop_shortly(self) -> None:
        """Pauses a broker for longer than replica.lag.time.max.ms, but shorter than its session timeout."""
        broker = self.choose.choice([b for b in BROKERS if b != self.leader()])
        self.run.done.append(f"broker {broker} stands still for a while")
        self.cluster.send(broker, signal.SIGSTOP)
        time.sleep(6)
        self.cluster.send(broker, signal.SIGCONT)
        time.sleep(2)

    def kill(self) -> None:
        broker = self.somebody()
        self.run.done.append(f"broker {broker} is killed")
        self.cluster.kill(broker)
        self.run.stops.append(("crash", broker, time.time()))
        waited_for("it to be fenced", lambda: broker in inactive(self.cluster.metadata()))
        if self.choose.random() < 0.5:
            self.produce()
        self.cluster.start(broker)
        self.active_again(broker)

    def shut_down(self) -> None:
        broker = self.somebody()
        self.run.done.append(f"broker {broker} is shut down")
        self.cluster.send(broker, signal.SIGTERM)
        self.cluster.processes[broker].wait()
        self.run.stops.append(("finish-controlled-shutdown", broker, time.time()))
        if self.choose.random() < 0.5:
            self.produce()
        self.cluster.start(broker)
        self.active_again(broker)

    def elect(self) -> None:
        self.run.done.append(f"the preferred leader is elected: {self.ask('elect')}")


def inactive(records: list[dict[str, Any]]) -> set[int]:
    """The brokers that, after these metadata records, are not registered, are fenced, or are shutting down."""
    found = set(BROKERS)
    for record in records:
        data = record["data"]
        if record["type"] == "RegisterBrokerRecord":
            found |= {data["brokerId"]}
        elif record["type"] == "BrokerRegistrationChangeRecord":
            fenced, stops = data.get("fenced", 0), data.get("inControlledShutdown", 0)
            if fenced == -1:
                found -= {data["brokerId"]}
            if fenced == 1 or stops == 1:
                found |= {data["brokerId"]}
    return found
