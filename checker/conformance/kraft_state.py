"""The variables of `kraft` that are compared: their values in the model, and in Kafka under the same names."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from isrcheck.checker.conformance.harness_process import Values
from isrcheck.model.language.descriptions import SeenState, asked

State = Mapping[str, Any]
P: Final = 0
"""The number of the only partition."""


def expected(model: Any, s: State, seen: SeenState) -> Values:
    """The values of the model to compare."""
    brokers, values = range(len(model.brokers)), Values()
    values |= _controller(model, s)
    for i, waiting in enumerate(s["waiting"]):
        values[f"waiting[{i}].at"] = waiting["at"]
        values[f"acknowledged[{i}]"] = s["acknowledged"][i]
    for b in brokers:
        replica, up = s["replica"][P][b], b in s["up"] if "up" in s else True
        values[f"up.has({b})"] = up
        values[f"log[0][{b}]"] = [[x["id"], x["epoch"]] for x in s["log"][P][b]]
        if replica["role"] != "none":  # While a broker neither leads nor follows, no answer depends on its epoch cache.
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
    """The values of Kafka to compare, under the same names as in the model.

    The model's state `s` has only two uses. It says which values to compare. And the number of batches in its
    `metadata` shows which of Kafka's batches is the first one there. (The model forgets batches that all running
    brokers have applied.)
    """
    brokers, values = range(len(model.brokers)), Values()
    first_batch = answer["last_batch"] - (len(s["metadata"]) - 1)
    values |= _real_controller(model, s, answer["controller"])
    for i in range(len(s["waiting"])):
        producer = answer["producers"].get(str(i), {"broker": None, "waits": False, "error": None})
        values[f"waiting[{i}].at"] = producer["broker"] if producer["waits"] else None
        values[f"acknowledged[{i}]"] = producer["error"] == "NONE"
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
            active = _active(known["brokers"], brokers)
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


def _controller(model: Any, s: State) -> Values:
    """The data of the model's controller about the partition and about brokers."""
    values: Values = {"state[0]": _registration(s["state"][P]), "live": s["live"]}
    if "elr" in s:
        values["elr[0]"] = s["elr"][P]
    if "last_leader" in s:
        values["last_leader[0]"] = s["last_leader"][P]
    if "broker_epoch" in s:
        values["broker_epoch"] = s["broker_epoch"]
    return values


def _real_controller(model: Any, s: State, real: Mapping[str, Any]) -> Values:
    brokers, partition = range(len(model.brokers)), real["partition"]
    values: Values = {"state[0]": _registered(partition, s["state"][P]), "live": _active(real["brokers"], brokers)}
    if "elr" in s:
        values["elr[0]"] = sorted(partition["elr"])
    if "last_leader" in s:
        last = partition["last_known_elr"]
        values["last_leader[0]"] = last if len(last) > 1 else last[0] if last else None
    if "broker_epoch" in s:
        values["broker_epoch"] = [real["brokers"][str(b)]["broker_epoch"] for b in brokers]
    return values


def _active(real: Mapping[str, Any], brokers: range) -> list[int]:
    """The active brokers, as in ClusterControlManager.isActive: neither fenced nor in controlled shutdown."""
    return [b for b in brokers if not real[str(b)]["fenced"] and not real[str(b)]["stopping"]]


def _image(b: int, registration: Values, live: list[int], broker_epochs: list[int] | None) -> Values:
    image: Values = {"partition": registration, "live": live}
    return {f"metadata[applied[{b}]]": image | ({} if broker_epochs is None else {"broker_epoch": broker_epochs})}


def _registration(said: Mapping[str, Any]) -> Values:
    return dict(said)


def _registered(real: Mapping[str, Any], like: Mapping[str, Any]) -> Values:
    """Kafka's PartitionRegistration, with only the fields that the model has at these settings."""
    leader = None if real["leader"] < 0 else real["leader"]
    values = {name: sorted(x) if isinstance(x, list) else x for name, x in real.items()} | {"leader": leader}
    return {name: values[name] for name in like}


def _request(said: Mapping[str, Any]) -> Values:
    """An AlterPartition request on its way, with the controller's answer if there is an answer."""
    names = ("isr", "epoch", "version", "broker_epoch", "stage", "said_version")
    return {name: said[name] for name in names if name in said}


def _asked(real: Mapping[str, Any] | None, with_epochs: bool, brokers: range) -> Values | None:
    if real is None:
        return None
    values = {"isr": sorted(map(int, real["isr"])), "epoch": real["epoch"], "version": real["version"]}
    if with_epochs:
        values["broker_epoch"] = [real["isr"].get(str(b), -1) for b in brokers]
    return values | _answered(real.get("answer"), real["epoch"])


def _answered(real: Mapping[str, Any] | None, epoch: int) -> Values:
    """The model's `stage` for the controller's answer to a request, and `said_version`.

    `said_version` is the partition epoch in the answer, or 0 if there is no answer or the answer is an error. A
    successful request may complete a reassignment and so begin a later leader epoch. Its stage is then
    `success-in-later-epoch`.
    """
    if real is None:
        return {"stage": "asked", "said_version": 0}
    if real["error"] != "NONE":
        return {"stage": real["error"].lower().replace("_", "-"), "said_version": 0}
    stage = "success" if real["epoch"] == epoch else "success-in-later-epoch"
    return {"stage": stage, "said_version": real["version"]}


def _said(answer: Mapping[str, Any]) -> Values | None:
    """A leader's answer on its way to a follower, with only the fields that this kind of answer uses."""
    if answer["kind"] == "none":
        return None
    values = {name: answer[name] for name in ("kind", "epoch", "offset")}
    if answer["kind"] in ("diverging", "truncating"):
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
        kind = "truncating" if real["truncating"] else "diverging"
    values = {"kind": kind, "epoch": real["epoch"], "offset": real["offset"]}
    if kind in ("diverging", "truncating"):
        return values | {"end_epoch": real["end_epoch"], "end": real["end"]}
    record = {"record": real["records"][0]} if kind == "record" else {}
    return values | {"high_watermark": real["high_watermark"]} | record
