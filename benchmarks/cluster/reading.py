"""Makes a recording for the model `kraft` from the data of a run: metadata log, brokers' logs, and acknowledgements.

The metadata log is one lane. It has the controller's decisions in their exact order, each with the state of the
partition after it. Each broker's log is a lane. Brokers are numbered in the order of the partition's replica
assignment.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any, Final

LAG: Final = 6
SEEN: Final = ("state[0]", "elr[0]", "live")
SEEN_BY_BROKERS: Final = ("role", "epoch", "version", "isr")
"""The parts of the state that change only with a line, of the metadata log (`SEEN`) or of a broker's log."""
LAGS: Final = "lag-time-passes"
HIDDEN: Final = (
    "fetch-records",
    "fetch-offset-and-truncate",
    LAGS,
    "update-metadata-cache",
    "alter-partition",
    "handle-alter-partition-response",
)
ALONE: Final = (
    "alter-partition",
    "elect-preferred-leader",
    "elect-leader-for-leaderless-partition",
    "alter-partition-and-elect",
    "alter-partition-reassignments",
    "handle-assign-replicas-to-dirs",
)
"""The actions that may change a partition while no broker registers, is fenced, unfenced or shut down."""
_STAMP: Final = re.compile(r"^\[(\d{4}-\d\d-\d\d \d\d:\d\d:\d\d),(\d{3})\] ")


@dataclass
class Partition:
    """The state of the partition in the metadata log so far. Brokers are given by their node ids."""

    leader: int
    isr: list[int]
    epoch: int
    version: int
    replicas: list[int]
    adding: list[int] = field(default_factory=list)
    removing: list[int] = field(default_factory=list)
    elr: list[int] = field(default_factory=list)

    def change(self, data: Mapping[str, Any]) -> None:
        """Changes it like PartitionRegistration.merge: the partition epoch rises; with a leader, its epoch, too."""
        self.version += 1
        if data.get("leader", -2) != -2:
            self.leader = data["leader"]
            self.epoch += 1
        names = {
            "isr": "isr",
            "replicas": "replicas",
            "addingReplicas": "adding",
            "removingReplicas": "removing",
            "eligibleLeaderReplicas": "elr",
        }
        for theirs, ours in names.items():
            if data.get(theirs) is not None:
                setattr(self, ours, data[theirs])


@dataclass(frozen=True)
class Raw:
    """The data of one run, as `benchmarks.cluster` keeps it."""

    topic: str
    order: Sequence[int]
    sent: Sequence[Mapping[str, Any]]
    stops: Sequence[Sequence[Any]]
    done: Sequence[str]
    had: Mapping[str, int]
    metadata: Sequence[Mapping[str, Any]]
    lines: Mapping[int, Sequence[str]]
    logs: Mapping[int, Sequence[Mapping[str, Any]]]
    epochs: Mapping[int, Sequence[Sequence[int]]]

    @staticmethod
    def of(data: Mapping[str, Any]) -> Raw:
        run, by = data["run"], ("lines", "logs", "epochs")
        parts = {name: {int(b): x for b, x in data[name].items()} for name in by}
        return Raw(
            run["topic"],
            run["order"],
            run["sent"],
            run["stops"],
            run["done"],
            run["had"],
            data["metadata"],
            **parts,
        )


class Reading:
    """Makes the recording of one run."""

    def __init__(self, raw: Raw) -> None:
        self.raw = raw
        self.number = {node: i for i, node in enumerate(raw.order)}
        self.expiries = 0
        self.reassignments = _reassignments(raw.done)
        self.by_version: dict[int, int] = {}
        self.leaders: dict[int, int] = {}
        self.last = Partition(raw.order[0], list(raw.order), 0, 0, list(raw.order))

    def recorded(self) -> list[dict[str, Any]]:
        """The header and the lines of the recording."""
        controller = list(self.controller())
        ids = self.ids()
        brokers = [line for node in self.raw.order for line in self.broker(node, ids, controller)]
        client = list(self.client(ids))
        return [self.header(controller, ids), *controller, *brokers, *client]

    def header(self, controller: Sequence[Any], ids: Mapping[str, int]) -> dict[str, Any]:
        stops = [what for what, _, _ in self.raw.stops]
        settings = {
            "replicas": len(self.raw.order),
            "min_isr": 2,
            "election": "in-order",
            "log_size": max(1, len(ids)),
            "max_records": max(1, len(ids)),
            "max_leader_epoch": self.last.epoch,
            "max_version": max(1, self.last.version),
            "metadata_lag": max(1, min(LAG, len(controller))),
            "expiries": self.expiries,
            "crashes": stops.count("crash"),
            "shutdowns": stops.count("finish-controlled-shutdown"),
            "fetch": "one-step",
        }
        if self.reassignments:
            settings |= {"reassignments": self.reassignments, "election": "any-order"}
        if settings["crashes"]:
            settings["checkpoint"] = "any"
        lanes = ["controller", *(f"broker {i}" for i in range(len(self.raw.order))), "client"]
        about = f"topic {self.raw.topic} of a real cluster, replicas {list(self.raw.order)}"
        return {
            "recording": 1,
            "model": "kraft",
            "settings": settings,
            "lanes": lanes,
            "hidden": [name for name in HIDDEN if name != LAGS or self.shrinks],
            "complete": [*SEEN, *(f"replica[0][{b}].{name}" for b in self.number.values() for name in SEEN_BY_BROKERS)],
            "about": about,
        }

    @property
    def shrinks(self) -> bool:
        """True if a leader has removed a lagging follower from the ISR. Only then the passing of time matters."""
        return any("Shrinking ISR" in text for lines in self.raw.lines.values() for text in lines)

    # --- the controller ---------------------------------------------------------------------------------------------

    def controller(self) -> Iterator[dict[str, Any]]:
        """The lines of the controller's decisions since the topic was created, each with the state after it."""
        records = list(self.raw.metadata)
        topic = next(
            x["data"]["topicId"] for x in records if _is(x, "TopicRecord") and x["data"]["name"] == self.raw.topic
        )
        created = next(i for i, x in enumerate(records) if _is(x, "PartitionRecord") and x["data"]["topicId"] == topic)
        live = set(self.raw.order) - _inactive(self.raw.order, records[:created])
        assert live == set(self.raw.order), "a broker was not active as the topic was created"
        self.leaders[0] = self.last.leader
        order = 0
        for group in _grouped(records[created + 1 :], topic):
            before = Partition(**self.last.__dict__)
            what = self.decided(group, before, live)
            if what is None:
                continue
            order += 1
            if self.last.version != before.version:
                self.by_version[self.last.version] = order
                self.leaders.setdefault(self.last.epoch, self.last.leader)
            yield {
                "lane": "controller",
                "order": order,
                "event": what,
                "observed": self.observed(live),
                "text": "; ".join(f"{x['offset']}: {x['type']} {json.dumps(x['data'])}" for x in group)[:400],
            }

    def decided(self, group: Sequence[Mapping[str, Any]], before: Partition, live: set[int]) -> list[Any] | None:
        """The actions that may have written a group of records; None if the model has none. Updates the state."""
        own = [x["data"] for x in group if _is(x, "PartitionChangeRecord")]
        for data in own:
            self.last.change(data)
        found = next((x for x in group if not _is(x, "PartitionChangeRecord")), None)
        if found is None:
            return [{"action": name} for name in ALONE]
        node = found["data"]["brokerId"]
        b = self.number[node]
        if _is(found, "RegisterBrokerRecord"):
            live.discard(node)
            return [{"action": "register-broker", "parameters": {"b": b}}]
        data = found["data"]
        if data.get("fenced", 0) == -1:
            live.add(node)
            return [{"action": "unfence-broker", "parameters": {"b": b}}]
        if data.get("inControlledShutdown", 0) == 1 and node in live:
            live.discard(node)
            return [{"action": "begin-controlled-shutdown", "parameters": {"b": b}}]
        if data.get("fenced", 0) == 1 and node in live:
            live.discard(node)
            self.expiries += 1
            return [{"action": x, "parameters": {"b": b}} for x in ("fence-broker", "fence-stopped-broker")]
        return None if not own else [{"action": name} for name in ALONE]

    def observed(self, live: set[int]) -> dict[str, Any]:
        now = self.last
        leader = None if now.leader == -1 else self.number[now.leader]
        state = {"leader": leader, "isr": self.set_of(now.isr), "epoch": now.epoch, "version": now.version}
        if self.reassignments:
            state |= {name: self.set_of(getattr(now, name)) for name in ("replicas", "adding", "removing")}
        return {"state[0]": state, "elr[0]": self.set_of(now.elr), "live": self.set_of(live)}

    def set_of(self, nodes: Any) -> list[int]:
        return sorted(self.number[node] for node in nodes)

    # --- brokers ----------------------------------------------------------------------------------------------------

    def broker(self, node: int, ids: Mapping[str, int], controller: Sequence[Any]) -> Iterator[dict[str, Any]]:
        """The lines of a broker: events in its log file, its stops, and the records that its log has at the end."""
        b = self.number[node]
        events = [(_time(text), event, text) for text in self.raw.lines[node] for event in self.read(b, text)]
        events = events[1:]  # the first event is that the broker hears of the topic
        events += [
            (at, ({"action": what, **_parameters(what, b)}, {}, None), what)
            for what, n, at in self.raw.stops
            if n == node
        ]
        events.sort(key=lambda each: each[0])
        order = 0
        for order, (_, (event, observed, version), text) in enumerate(events, 1):
            line = {"lane": f"broker {b}", "order": order, "event": event, "observed": observed, "text": text[:300]}
            if version is not None and version in self.by_version:
                line["after"] = [["controller", self.by_version[version]]]
            yield line
        log = [{"id": ids[x["value"]], "epoch": x["epoch"]} for x in self.raw.logs[node]]
        cache = [{"epoch": epoch, "start": start} for epoch, start in self.raw.epochs[node]]
        last = [["controller", controller[-1]["order"]]] if controller else []
        yield {
            "lane": f"broker {b}",
            "order": order + 1,
            "observed": {f"log[0][{b}]": log, f"epoch_cache[0][{b}]": cache},
            "after": last,
            "text": "segments and leader-epoch-checkpoint at the end",
        }

    def read(self, b: int, text: str) -> Iterator[tuple[Any, dict[str, Any], int | None]]:
        """The event in a line of a broker's log, the observed values, and the partition epoch that it has heard of."""
        name, me = f"{self.raw.topic}-0", f"replica[0][{b}]"
        leads = {"action": "apply-local-leaders", "parameters": {"b": b}}
        follows = {"action": "apply-local-followers", "parameters": {"b": b}}
        if found := re.search(
            rf"Leader {name} .*starts at leader epoch (\d+) from offset (\d+) with partition epoch (\d+)", text
        ):
            epoch, start, version = map(int, found.groups())
            values = {"role": "leader", "epoch": epoch, "version": version, "epoch_start": start}
            yield leads, {f"{me}.{k}": x for k, x in values.items()}, version
        elif found := re.search(
            rf"Follower {name} .*starts at leader epoch (\d+) from offset \d+ with partition epoch (\d+)", text
        ):
            epoch, version = map(int, found.groups())
            yield follows, {f"{me}.role": "follower", f"{me}.epoch": epoch}, version
        elif found := re.search(rf"Skipped the become-(leader|follower) state change for {name} ", text):
            version = int(re.findall(r"partitionEpoch=(\d+)", text)[0])
            role = found[1]
            yield (leads if role == "leader" else follows), {f"{me}.role": role}, version
        elif f"Log for partition {name} is renamed to " in text and text.rstrip().count("-delete"):
            yield {"action": "stop-partitions", "parameters": {"b": b}}, {f"{me}.role": "none"}, None
        elif found := re.search(rf"\[Partition {name} broker=\d+\] Shrinking ISR from [\d,]+ to ([\d,]+)\.", text):
            isr = self.set_of(map(int, found[1].split(",")))
            yield {"action": "shrink-isr", "parameters": {"b": b}}, {f"{me}.pending": isr}, None
        elif found := re.search(
            rf"\[Partition {name} broker=\d+\] ISR updated to ([\d,]+).* and version updated to (\d+)", text
        ):
            isr, version = self.set_of(map(int, found[1].split(","))), int(found[2])
            values = {"isr": isr, "version": version}
            event = {"action": "handle-alter-partition-response", "parameters": {"b": b}}
            yield event, {f"{me}.{k}": x for k, x in values.items()}, version

    # --- the producer -----------------------------------------------------------------------------------------------

    def ids(self) -> dict[str, int]:
        """The records that are or were in a log, numbered in the order in which they were sent."""
        written = {x["value"] for log in self.raw.logs.values() for x in log} | set(self.raw.had)
        return {value: i for i, value in enumerate(x["value"] for x in self.raw.sent if x["value"] in written)}

    def client(self, ids: Mapping[str, int]) -> Iterator[dict[str, Any]]:
        """The lines of the client: each written record, and its acknowledgement if there was one."""
        epochs = {**self.raw.had} | {x["value"]: x["epoch"] for log in self.raw.logs.values() for x in log}
        order = 0
        for sent in self.raw.sent:
            value = sent["value"]
            if value not in ids:
                continue
            order += 1
            b = self.number[self.leaders[epochs[value]]]
            event = {"action": "append-records-to-leader", "parameters": {"b": b}}
            yield {"lane": "client", "order": order, "event": event, "text": f"wrote {value}"}
            if sent["acknowledged"]:
                order += 1
                yield {
                    "lane": "client",
                    "order": order,
                    "observed": {f"acknowledged[{ids[value]}]": True},
                    "text": f"the producer of {value} is told",
                }


def _reassignments(done: Sequence[str]) -> int:
    """The number of reassignments that the operator has requested."""
    return sum(each.startswith("replicas ") for each in done)


def _is(record: Mapping[str, Any], kind: str) -> bool:
    return bool(record["type"] == kind)


def _parameters(what: str, b: int) -> dict[str, Any]:
    return {"parameters": {"b": b}}


def _time(text: str) -> float:
    found = _STAMP.match(text)
    assert found is not None, text
    return datetime.strptime(found[1], "%Y-%m-%d %H:%M:%S").timestamp() + int(found[2]) / 1000


def _inactive(brokers: Sequence[int], records: Sequence[Mapping[str, Any]]) -> set[int]:
    from benchmarks.cluster.run import inactive

    return inactive(list(records)) & set(brokers)  # type: ignore[arg-type]


def _grouped(records: Sequence[Mapping[str, Any]], topic: str) -> Iterator[list[Mapping[str, Any]]]:
    """The records grouped by decision: a change of a broker's registration together with its change of the partition.

    The records of a decision are in one batch. handleBrokerFenced and handleBrokerUncleanShutdown write the partition's
    record before the broker's; handleBrokerUnfenced and handleBrokerInControlledShutdown write it after the broker's.
    """
    kinds = ("RegisterBrokerRecord", "BrokerRegistrationChangeRecord")
    own = [
        x for x in records
        if x["type"] in kinds or (_is(x, "PartitionChangeRecord") and x["data"]["topicId"] == topic)
    ]  # fmt: skip
    left = list(own)
    while left:
        first = left.pop(0)
        group = [first]
        if left and left[0]["batch"] == first["batch"]:
            if _is(first, "PartitionChangeRecord"):
                goes = _is(left[0], "RegisterBrokerRecord") or left[0]["data"].get("fenced", 0) == 1
                takes = goes
            else:
                comes = first["data"].get("fenced", 0) == -1 or first["data"].get("inControlledShutdown", 0) == 1
                takes = comes and _is(left[0], "PartitionChangeRecord")
            if takes:
                group.append(left.pop(0))
        yield group
