"""Differences between `kraft` and Kafka that are known, and whose they are; whatever is none of these is news.

Each condition asks for no more than what the difference looks like: docs/conformance.md tells the cause of each.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, Final

from isrcheck.checker.conformance.commands import as_data
from isrcheck.checker.conformance.driving import Driven

STATE: Final = "state[0]"
ELECTIONS: Final = {
    f"enabled({name})": (False, True)
    for name in ("elect-preferred-leader", "elect-leader", "elect-leader-for-leaderless-partition")
}

STARTS_AND_STOPS: Final = ("register-broker", "finish-controlled-shutdown")
LOADS: Final = ("apply-local-leaders", "apply-local-followers", "update-metadata-cache", "stop-partitions")
"""What a broker does for the first time when it has started is to load its logs."""


def known(model: Any, driven: Driven) -> str | None:
    """What is known of a difference, in a few words; None where nothing is."""
    return next((words for words, is_it in KNOWN.items() if is_it(model, driven)), None)


def _cleared_elr(model: Any, driven: Driven) -> bool:
    """A broker that registers after an unclean stop brings a change too many, once an ELR was cleared."""
    parts = _parts(driven)
    if _actions(driven)[-1] != "register-broker" or "incremental-alter-configs" not in _actions(driven):
        return False
    if STATE not in parts or not all(x in (STATE, "elr[0]") or x.startswith("enabled(") for x in parts):
        return False
    said, has = parts[STATE]
    eligible, left = parts.get("elr[0]", ([], []))
    same = has["leader"] == said["leader"] and has["isr"] == said["isr"] and set(left) <= set(eligible)
    return bool(same and has["version"] == said["version"] + 1)


def _unloaded(model: Any, driven: Driven) -> bool:
    """A broker that was told to stop before it had loaded its logs left no word of a clean stop."""
    labels = [step.label for step in driven.steps[1:] if step.label is not None]
    if not labels or labels[-1].action != "register-broker":
        return False
    broker = labels[-1].to_json()["b"]
    own = [x.action for x in labels[:-1] if x.to_json().get("b") == broker and x.action in (*STARTS_AND_STOPS, *LOADS)]
    last = next((i for i in reversed(range(len(own))) if own[i] in LOADS or own[i] == "register-broker"), -1)
    unloaded = last >= 0 and own[last] == "register-broker" and own[-1] == "finish-controlled-shutdown"
    return unloaded and set(_parts(driven)) <= {STATE, "elr[0]", "last_leader[0]"}


def _completed(model: Any, driven: Driven) -> bool:
    """An election that elects nobody completes a reassignment, or would."""
    parts = _parts(driven)
    state = as_data(model.domains, driven.steps[-1].state)["state"][0]
    moves = bool(state.get("adding") or state.get("removing"))
    return bool(parts) and moves and all(ELECTIONS.get(name) == values for name, values in parts.items())


def _reverted(model: Any, driven: Driven) -> bool:
    """Who is the ISR of a cancelled reassignment of which nobody is left in the ISR."""
    any_order = model.unclean and model.election == "any-order"
    return bool(
        any_order and _actions(driven)[-1] == "cancel-partition-reassignment" and set(_parts(driven)) <= {STATE}
    )


def _moved(model: Any, driven: Driven) -> bool:
    """A follower whose log was moved names the epoch that it knew before."""
    label = driven.steps[-1].label
    if label is None or label.action != "read-records" or driven.difference is None or not driven.difference.refused:
        return False
    follower = label.to_json()["follower"]
    labels = [step.label for step in driven.steps[1:] if step.label is not None]
    return any(x.action == "maybe-replace-current-with-future-replica" and x.to_json()["b"] == follower for x in labels)


KNOWN: Final[Mapping[str, Callable[[Any, Driven], bool]]] = {
    "Kafka: an ELR that was cleared stays in an index": _cleared_elr,
    "Kafka: an election that elects nobody completes a reassignment": _completed,
    "the model: the order in which a cancelled reassignment names replicas": _reverted,
    "the model: a broker that is shut down before it has loaded its logs": _unloaded,
    "the model: which epoch a follower names whose log was moved": _moved,
}


def _actions(driven: Driven) -> list[str | None]:
    return [None if step.label is None else step.label.action for step in driven.steps]


def _parts(driven: Driven) -> dict[str, tuple[Any, Any]]:
    if driven.difference is None or driven.difference.refused is not None:
        return {}
    return {name: (said, has) for name, said, has in driven.difference.parts}
