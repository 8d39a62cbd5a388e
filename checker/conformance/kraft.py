"""The mapping of `kraft` to Kafka's classes: which calls an action stands for, and which variables their state has.

The controller is the model's: what it commits is written into a real metadata log, from which each broker makes its
real image, and its answer to AlterPartition is given to the broker as the model has it. Everything else that changes
is read back. docs/conformance.md has the table of what is real.

Source of the calls: ReplicaManager, ReplicaFetcherThread, DefaultAlterPartitionManager of Kafka 4.2.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import Any, Final

from isrcheck.checker.conformance.commands import Command, Moment, Values
from isrcheck.model.language.telling import SeenState, asked

State = Mapping[str, Any]
P: Final = 0
"""The partition; there is one."""

of_kafka: Mapping[str, tuple[Any, ...]] = {
    "moved_log": ("forgets-epochs",),
    "config_order": ("after-partitions",),
    "follower_state": ("kept",),
    "equal_version": ("overrides",),
    "pending_isr": ("awaited",),
    "caught_up_outside": ("eligible-awaited",),
    "high_watermark_min_isr": (True,),
    "looks_again": (False,),
    "expand_guard": ("epoch-start",),
    "epoch_begins": ("with-a-leader-epoch",),
    "refused_request": ("waits",),
    "metadata_batches": ("merged", "one-by-one"),
    "fetch": ("two-steps", "one-step"),
    "fetch_answer": ("checked",),
    "fetch_fencing": (True,),
    "diverging_fetch": ("passed-over",),
    "note_fetch": ("at-once", "apart"),
    "former_life": ("refused",),
}
"""What brokers of Kafka 4.2 do, by the setting that says so; where there are several, each is a part of it."""

walks: Mapping[str, Any] = {
    "replicas": 3,
    "min_isr": 2,
    "log_size": 4,
    "max_records": 4,
    "max_leader_epoch": 9,
    "max_version": 15,
    "metadata_lag": 3,
    "expiries": 4,
    "crashes": 2,
    "shutdowns": 2,
    "lossy_crashes": 1,
    "lost_responses": 1,
    "note_fetch": "apart",
    "late_notes": 4,
}
"""Settings for random walks where the user says nothing: room for long paths, and faults of each kind."""

weights: Mapping[str, int] = {
    "append-records-to-leader": 6,
    "fetch-records": 24,
    "process-fetch-request": 16,
    "apply-local-leaders": 6,
    "apply-local-followers": 6,
    "alter-partition": 6,
    "handle-alter-partition-response": 6,
}
"""A cluster in which more happens than brokers coming and going."""

unreached: Mapping[str, str] = {
    "look-again": "Kafka has no such step",
    "maybe-replace-current-with-future-replica": "the harness moves no log",
    "handle-log-dir-failure": "in the harness no directory fails",
    "handle-directories-offline": "in the harness no directory fails",
}
"""Actions that the harness cannot take, and why; a path ends before the first of them."""


def _call(op: str, **arguments: Any) -> list[Command]:
    return [{"op": op, **arguments}]


# --- an action as calls ---------------------------------------------------------------------------------------------


def _commit(x: Moment) -> list[Command]:
    """The controller has committed a batch; who has not changed anything has not."""
    return _call("commit", image=image(x.model, x.after))


def _alter(x: Moment) -> list[Command]:
    """alterPartition commits nothing where it refuses, or where the ISR is the same; its answer is given later."""
    changed = x.after["state"][P]["version"] != x.before["state"][P]["version"]
    return _commit(x) if changed else []


def _answer(x: Moment) -> list[Command]:
    b, request = x.arguments["b"], x.before["alteration"][P][x.arguments["b"]]
    stage, epoch = request["stage"], request["epoch"]
    if stage == "success-in-later-epoch":
        stage, epoch = "success", epoch + 1
    answer = {"isr": request["isr"], "leader": b, "epoch": epoch, "version": request["said_version"]}
    error = "NONE" if stage == "success" else stage.upper().replace("-", "_")
    return _call("answer_alteration", broker=b, error=error, **answer)


def _publish(x: Moment) -> list[Command]:
    """A broker goes on to a batch; an answer that the model drops, as the fetcher starts anew, is late from then on.

    It arrives at once, and again after each batch until the follower asks anew: that is to change nothing.
    """
    b, first = x.arguments["b"], x.last_batch - (len(x.before["metadata"]) - 1)
    late = [c for f, leader in dropped(x) for c in _call("late_answer", broker=f, leader=leader) if f == b]
    return [*_call("publish", broker=b, batch=first + x.arguments["to"]), *late]


def _stop_partitions(x: Moment) -> list[Command]:
    b, first = x.arguments["b"], x.last_batch - (len(x.before["metadata"]) - 1)
    gone = [c for f, leader in dropped(x) for c in _call("drop_answer", broker=f, leader=leader)]
    return [*_call("publish", broker=b, batch=first + x.arguments["to"]), *gone]


def _stop(x: Moment) -> list[Command]:
    """A broker stops: by kill -9, with a lost end of its log, or as it was told to; answers of it are lost."""
    b, clean = x.arguments["b"], x.action == "finish-controlled-shutdown"
    stop: Command = {"op": "stop", "broker": b, "clean": clean}
    if x.action == "crash-with-loss":
        stop["kept"] = x.arguments["kept"]
    if not clean and x.model.checkpoint == "any":
        stop["on_disk"] = x.after["replica"][P][b]["high_watermark"]
    lost = [c for f, leader in dropped(x) if f != b for c in _call("drop_answer", broker=f, leader=leader)]
    return [stop, *lost]


def _start(x: Moment) -> list[Command]:
    b = x.arguments["b"]
    return [*_commit(x), *_call("start", broker=b, broker_epoch=x.after["broker_epoch"][b])]


def _begin_shutdown(x: Moment) -> list[Command]:
    return [*_commit(x), *_call("begin_shutdown", broker=x.arguments["b"])]


def _fetch(x: Moment) -> list[Command]:
    whom = {"broker": x.arguments["follower"], "leader": x.arguments["leader"]}
    now = x.action == "fetch-offset-and-truncate" or x.model.fetch == "one-step"
    return [*_call("send_fetch", **whom), *(_call("take_answer", **whom) if now else [])]


calls: Mapping[str, Callable[[Moment], list[Command]]] = {
    # clients and followers
    "append-records-to-leader": lambda x: _call("produce", broker=x.arguments["b"], id=x.before["next_record_id"]),
    "fetch-records": _fetch,
    "fetch-offset-and-truncate": _fetch,
    "process-fetch-request": lambda x: _call(
        "take_answer", broker=x.arguments["follower"], leader=x.arguments["leader"]
    ),
    "read-records": lambda x: _call("read_fetch", broker=x.arguments["leader"], follower=x.arguments["follower"]),
    "update-follower-fetch-state": lambda x: _call(
        "note_fetch", broker=x.arguments["leader"], follower=x.arguments["follower"]
    ),
    # the ISR
    "shrink-isr": lambda x: _call("shrink_isr", broker=x.arguments["b"]),
    "lag-time-passes": lambda x: _call("lag", broker=x.arguments["b"], follower=x.arguments["follower"]),
    "handle-alter-partition-response": _answer,
    # The channel sends the same request again; DefaultAlterPartitionManager does not notice.
    "lose-response": lambda x: [],
    # metadata
    "apply-local-leaders": _publish,
    "apply-local-followers": _publish,
    "update-metadata-cache": _publish,
    "stop-partitions": _stop_partitions,
    # brokers that stop and start
    "crash": _stop,
    "crash-with-loss": _stop,
    "finish-controlled-shutdown": _stop,
    "register-broker": _start,
    "begin-controlled-shutdown": _begin_shutdown,
    # the controller
    "alter-partition": _alter,
    "alter-partition-and-elect": _commit,
    "alter-partition-reassignments": _commit,
    "cancel-partition-reassignment": _commit,
    "elect-preferred-leader": _commit,
    "elect-leader": _commit,
    "elect-leader-for-leaderless-partition": _commit,
    "fence-broker": _commit,
    "fence-stopped-broker": _commit,
    "unfence-broker": _commit,
    "incremental-alter-configs": _commit,
    "handle-assign-replicas-to-dirs": _commit,
}


def dropped(x: Moment) -> Iterator[tuple[int, int]]:
    """Followers and leaders of which the model has no answer any more that it had before."""
    if "answer" in x.before:
        for f, by_leader in enumerate(x.before["answer"][P]):
            for leader, answer in enumerate(by_leader):
                if answer["kind"] != "none" and x.after["answer"][P][f][leader]["kind"] == "none":
                    yield f, leader


def reset(model: Any, state: State) -> list[Command]:
    first = image(model, state)
    return _call("reset", brokers=len(model.brokers), eligible_leader_replicas=bool(model.elr), image=first)


def image(model: Any, s: State) -> dict[str, Any]:
    """What the controller has committed last, as the harness is told of it."""
    said, brokers = s["state"][P], range(len(model.brokers))
    changed, then = s.get("min_isr_changed", False), model.min_isr_then
    return {
        "min_isr": then if changed else model.min_isr,
        "partition": {
            "leader": -1 if said["leader"] is None else said["leader"],
            "isr": said["isr"],
            "epoch": said["epoch"],
            "version": said["version"],
            "replicas": said.get("replicas", list(brokers)),
            "adding": said.get("adding", []),
            "removing": said.get("removing", []),
            "elr": s["elr"][P] if "elr" in s else [],
        },
        "brokers": [
            {
                "id": b,
                "broker_epoch": s["broker_epoch"][b] if "broker_epoch" in s else 0,
                "fenced": b not in s["live"] and b not in s.get("stopping", ()),
                "stopping": b in s.get("stopping", ()),
            }
            for b in brokers
        ],
    }


# --- a state as variables -------------------------------------------------------------------------------------------


def expected(model: Any, s: State, seen: SeenState) -> Values:
    """What the model says of everything that is compared."""
    brokers, values = range(len(model.brokers)), Values()
    values["state[0]"] = _registration(s["state"][P])
    for i, waiting in enumerate(s["waiting"]):
        values[f"waiting[{i}].at"] = waiting["at"]
        values[f"acknowledged[{i}]"] = s["acknowledged"][i]
    for b in brokers:
        replica, up = s["replica"][P][b], b in s["up"] if "up" in s else True
        values[f"up.has({b})"] = up
        values[f"log[0][{b}]"] = [[x["id"], x["epoch"]] for x in s["log"][P][b]]
        if replica["role"] != "none":  # Until a broker loads its log, nobody reads that.
            values[f"epoch_cache[0][{b}]"] = [[x["epoch"], x["start"]] for x in s["epoch_cache"][P][b]]
        for name in ("role", "high_watermark"):
            values[f"replica[0][{b}].{name}"] = replica[name]
        if replica["role"] != "none":
            known = s["metadata"][s["applied"][b]]
            values |= _image(b, _registration(known["partition"][P]), known["live"], known.get("broker_epoch"))
            values[f"applied[{b}]"] = s["applied"][b]
            for name in ("leader", "epoch"):
                values[f"replica[0][{b}].{name}"] = replica[name]
        if replica["role"] == "leader":
            for name in ("version", "isr", "pending", "epoch_start"):
                values[f"replica[0][{b}].{name}"] = replica[name]
            quorum = asked(seen, model.quorum_isr, P, model.brokers[b])
            values[f"quorum_isr(0, {b})"] = sorted(x.number for x in quorum)
            values[f"caught_up[0][{b}]"] = s["caught_up"][P][b]
            for f in brokers:
                if f != b:
                    values[f"known_end[0][{b}][{f}]"] = s["known_end"][P][b][f]
                    if "known_broker_epoch" in s:
                        values[f"known_broker_epoch[0][{b}][{f}]"] = s["known_broker_epoch"][P][b][f]
        request = s["alteration"][P][b]
        values[f"alteration[0][{b}]"] = None if request["stage"] == "none" else _request(request)
        if "unnoted" in s:
            read = [f for f in brokers if s["unnoted"][P][b][f]["stage"] != "none"]
            values[f"unnoted[0][{b}]"] = read
        if "answer" in s:
            for leader in brokers:
                if leader != b:
                    values[f"answer[0][{b}][{leader}]"] = _said(s["answer"][P][b][leader])
    return values


def found(model: Any, s: State, answer: Mapping[str, Any]) -> Values:
    """What Kafka has, under the same names; of the model's state only how much metadata it has forgotten is used."""
    brokers, values = range(len(model.brokers)), Values()
    first_batch = answer["last_batch"] - (len(s["metadata"]) - 1)
    values["state[0]"] = _registered(answer["committed"]["partition"], s["state"][P])
    for i in range(len(s["waiting"])):
        told = answer["producers"].get(str(i), {"broker": None, "waits": False, "error": None})
        values[f"waiting[{i}].at"] = told["broker"] if told["waits"] else None
        values[f"acknowledged[{i}]"] = told["error"] == "NONE"
    for b in brokers:
        real = answer["brokers"][str(b)]
        values[f"up.has({b})"] = real["up"]
        values[f"log[0][{b}]"] = real["log"]
        if real["role"] != "none":
            values[f"epoch_cache[0][{b}]"] = real["epoch_cache"]
        for name in ("role", "high_watermark"):
            values[f"replica[0][{b}].{name}"] = real[name]
        if real["role"] != "none":
            known = real["image"]
            active = [x for x in brokers if known["brokers"].get(str(x), {}).get("active")]
            epochs = [known["brokers"][str(x)]["broker_epoch"] for x in brokers] if "broker_epoch" in s else None
            values |= _image(b, _registered(known["partition"], s["state"][P]), active, epochs)
            values[f"applied[{b}]"] = real["published"] - first_batch
            fetches = real["fetches_from"][0] if real["fetches_from"] else None
            values[f"replica[0][{b}].leader"] = b if real["role"] == "leader" else fetches
            values[f"replica[0][{b}].epoch"] = real["epoch"]
        if real["role"] == "leader":
            for name in ("version", "isr", "pending", "epoch_start"):
                values[f"replica[0][{b}].{name}"] = real[name]
            values[f"quorum_isr(0, {b})"] = real["maximal_isr"]
            nobody = {"end": -1, "broker_epoch": -1, "caught_up": False}
            followers = {f: real["followers"].get(str(f), nobody) for f in brokers if f != b}
            values[f"caught_up[0][{b}]"] = [f for f, x in followers.items() if x["caught_up"]]
            for f, x in followers.items():
                values[f"known_end[0][{b}][{f}]"] = x["end"]
                if "known_broker_epoch" in s:
                    values[f"known_broker_epoch[0][{b}][{f}]"] = x["broker_epoch"]
        values[f"alteration[0][{b}]"] = _asked(real.get("alteration"), "broker_epoch" in s["alteration"][P][b], brokers)
        if "unnoted" in s:
            values[f"unnoted[0][{b}]"] = real.get("has_read_for", [])
        if "answer" in s:
            for leader in brokers:
                if leader != b:
                    values[f"answer[0][{b}][{leader}]"] = _heard(real.get("answers", {}).get(str(leader)))
    return values


def _image(b: int, registration: Values, live: list[int], broker_epochs: list[int] | None) -> Values:
    image: Values = {"partition": registration, "live": live}
    return {f"metadata[applied[{b}]]": image | ({} if broker_epochs is None else {"broker_epoch": broker_epochs})}


def _registration(said: Mapping[str, Any]) -> Values:
    return dict(said)


def _registered(real: Mapping[str, Any], like: Mapping[str, Any]) -> Values:
    """PartitionRegistration, with the fields that the model's has at these settings."""
    leader = None if real["leader"] < 0 else real["leader"]
    values = {name: sorted(x) if isinstance(x, list) else x for name, x in real.items()} | {"leader": leader}
    return {name: values[name] for name in like}


def _request(said: Mapping[str, Any]) -> Values:
    return {name: said[name] for name in ("isr", "epoch", "version", "broker_epoch") if name in said}


def _asked(real: Mapping[str, Any] | None, with_epochs: bool, brokers: range) -> Values | None:
    if real is None:
        return None
    found = {"isr": sorted(map(int, real["isr"])), "epoch": real["epoch"], "version": real["version"]}
    return found | ({"broker_epoch": [real["isr"].get(str(b), -1) for b in brokers]} if with_epochs else {})


def _said(answer: Mapping[str, Any]) -> Values | None:
    """An answer on its way, as the model has it; what no kind of answer has is left out."""
    if answer["kind"] == "none":
        return None
    values = {name: answer[name] for name in ("kind", "epoch", "offset")}
    if answer["kind"] == "diverging":
        return values | {"end_epoch": answer["end_epoch"], "end": answer["end"]}
    record = {"record": [answer["record"]["id"], answer["record"]["epoch"]]} if answer["kind"] == "record" else {}
    return values | {"high_watermark": answer["high_watermark"]} | record


def _heard(real: Mapping[str, Any] | None) -> Values | None:
    if real is None:
        return None
    kind = "record" if real["records"] else "nothing"
    if real["error"] != "NONE":
        kind = real["error"]
    elif real["end_epoch"] >= 0:
        kind = "diverging"
    values = {"kind": kind, "epoch": real["epoch"], "offset": real["offset"]}
    if kind == "diverging":
        return values | {"end_epoch": real["end_epoch"], "end": real["end"]}
    record = {"record": real["records"][0]} if kind == "record" else {}
    return values | {"high_watermark": real["high_watermark"]} | record
