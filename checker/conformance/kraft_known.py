"""The known differences between `kraft` and Kafka. The words for a difference say whether the model or Kafka is wrong.

A difference is recognised by the path's actions and by the refusal or the differing values, not by its cause.
docs/how-to/real-systems.md gives the causes.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, Final

from isrcheck.checker.conformance.driver import Driven
from isrcheck.checker.conformance.harness_process import as_data
from isrcheck.model.semantics.transition_system import Label

STATE: Final = "state[0]"
LAST: Final = "last_leader[0]"
PREFERRED: Final = "enabled(elect-preferred-leader)"
MOVE: Final = "maybe-replace-current-with-future-replica"
STARTS_AND_STOPS: Final = ("register-broker", "finish-controlled-shutdown")
LOADS: Final = ("apply-local-leaders", "apply-local-followers", "update-metadata-cache", "stop-partitions")
"""After a start, a broker loads its logs when it takes one of these actions for the first time."""


def known(model: Any, driven: Driven) -> str | None:
    """The words for the difference that a path has shown, or None if this difference is not known yet."""
    return next((words for words, is_it in KNOWN.items() if is_it(model, driven)), None)


def _cleared_elr(model: Any, driven: Driven) -> bool:
    """A broker registers after an unclean stop, and Kafka increases the partition's version once more than the model.

    The cause is in Kafka: a cleared ELR (eligible leader replicas) stays in the index of ELRs by broker.
    """
    *before, label = _labels(driven)
    parts, cleared = _parts(driven), any(x.action == "incremental-alter-configs" for x in before)
    if label.action != "register-broker" or not cleared or STATE not in parts or not _is_of_the_partition(driven):
        return False
    (said, has), (eligible, left) = parts[STATE], parts.get("elr[0]", ([], []))
    same = has["leader"] == said["leader"] and has["isr"] == said["isr"] and set(left) <= set(eligible)
    return bool(same and LAST not in parts and has["version"] == said["version"] + 1)


def _unloaded(model: Any, driven: Driven) -> bool:
    """A broker registers. Its last shutdown came before it had loaded its logs, so Kafka treats the stop as unclean."""
    *before, label = _labels(driven)
    if label.action != "register-broker" or not _is_of_the_partition(driven):
        return False
    broker = label.to_json()["b"]
    own = [x.action for x in before if x.to_json().get("b") == broker and x.action in (*STARTS_AND_STOPS, *LOADS)]
    last = next((i for i in reversed(range(len(own))) if own[i] in LOADS or own[i] == "register-broker"), -1)
    return last >= 0 and own[last] == "register-broker" and own[-1] == "finish-controlled-shutdown"


def _added_again(model: Any, driven: Driven) -> bool:
    """A reassignment adds a replica whose directory failed before. It may lead in Kafka, but not in the model."""
    adding, parts = _partition(model, driven).get("adding", []), _parts(driven)
    failed = {x.to_json()["b"] for x in _labels(driven) if x.action == "handle-log-dir-failure"} & set(adding)
    if not failed or not _is_of_the_partition(driven):
        return False
    if STATE in parts:
        return parts[STATE][1]["leader"] in failed
    return set(parts) <= {"enabled(elect-leader)", "enabled(elect-leader-for-leaderless-partition)"}


def _completed(model: Any, driven: Driven) -> bool:
    """In Kafka, an election of preferred leaders would elect nobody, but would complete a reassignment."""
    state = _partition(model, driven)
    moves = bool(state.get("adding") or state.get("removing"))
    return moves and _parts(driven) == {PREFERRED: (False, True)}


def _reverted(model: Any, driven: Driven) -> bool:
    """A cancelled reassignment leaves nobody in the ISR. The registration, the ELR or the last known leader differs."""
    parts = _parts(driven)
    if not model.unclean or _labels(driven)[-1].action != "cancel-partition-reassignment" or not parts:
        return False
    order = model.election == "any-order" or STATE not in parts
    return order and set(parts) <= {STATE, "elr[0]", LAST} and parts.get(LAST, (None, -1)) == (None, -1)


def _idle_isr(model: Any, driven: Driven) -> bool:
    """A cancelled reassignment leaves an inactive broker in the ISR.

    When this broker starts or stops, it leaves the ISR in Kafka, but not in the model.
    """
    *before, label = _labels(driven)
    broker, difference = label.to_json().get("b"), driven.difference
    if not any(x.action == "cancel-partition-reassignment" for x in before) or label.action not in STARTS_AND_STOPS:
        return False
    if broker not in _partition(model, driven, -2)["isr"] or difference is None:
        return False
    unlike = (difference.refused or "").startswith("java.lang.IllegalStateException: the controller has Partition")
    return unlike or _is_of_the_partition(driven)


def _moved(model: Any, driven: Driven) -> bool:
    """In Kafka, a follower whose log was moved to another directory fetches with the epoch from before the move."""
    *before, label = _labels(driven)
    if label.action not in ("read-records", "fetch-records") or driven.difference is None:
        return False
    follower = label.to_json()["follower"]
    if not any(x.action == MOVE and x.to_json()["b"] == follower for x in before):
        return False
    if driven.difference.refused is not None:
        return driven.difference.refused == "the fetch is not recorded at all"
    return all(name.startswith(("answer[", "caught_up[")) for name in _parts(driven))


KNOWN: Final[Mapping[str, Callable[[Any, Driven], bool]]] = {
    "Kafka: a cleared ELR stays in an index": _cleared_elr,
    "Kafka: an election that elects nobody completes a reassignment": _completed,
    "Kafka and the model: a cancelled reassignment that leaves nobody in the ISR": _reverted,
    "the model: the ISR of a cancelled reassignment that is not active": _idle_isr,
    "the model: the directory of a replica that is added again": _added_again,
    "the model: a broker that is shut down before it has loaded its logs": _unloaded,
    "the model: the epoch sent by a follower whose log was moved": _moved,
}


def _labels(driven: Driven) -> list[Label]:
    """The labels of the steps. The start gets a label without a name."""
    return [Label("", (), ()), *(step.label for step in driven.steps[1:] if step.label is not None)]


def _partition(model: Any, driven: Driven, place: int = -1) -> dict[str, Any]:
    """The partition's registration in the model's controller, after the step `driven.steps[place]`."""
    found: dict[str, Any] = as_data(model.domains, driven.steps[place].state)["state"][0]
    return found


def _parts(driven: Driven) -> dict[str, tuple[Any, Any]]:
    if driven.difference is None or driven.difference.refused is not None:
        return {}
    return {name: (said, has) for name, said, has in driven.difference.parts}


def _is_of_the_partition(driven: Driven) -> bool:
    """Whether parts differ, and each is data of the controller about the partition or is called `enabled(ACTION)`."""
    parts = _parts(driven)
    return bool(parts) and all(name in (STATE, "elr[0]", LAST) or name.startswith("enabled(") for name in parts)
