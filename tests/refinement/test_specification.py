"""The rules of the replicated log, tested in every state and step of a small log."""

from __future__ import annotations

from typing import Any

import pytest

from isrcheck.model.semantics.concrete_state import initial_states
from isrcheck.model.semantics.interpreter import Interpreter
from isrcheck.model.specifications.replicated_log import ReplicatedLog

SMALL = {"log_size": 2, "max_records": 2, "max_leader_epoch": 0, "consumers": True, "end_offsets": "may-fall"}


def steps(**settings: Any) -> list[tuple[dict[str, Any], str, dict[str, Any]]]:
    """Every step: the state before it, the action, and the state after it."""
    it = Interpreter(ReplicatedLog(**{**SMALL, **settings}), {})
    names = list(it.model.domains)
    seen = dict.fromkeys(initial_states(it.model))
    found, pending = [], list(seen)
    while pending:
        state = pending.pop()
        for instance, after in it.steps(state):
            assert isinstance(after, tuple)
            before, later = (dict(zip(names, each, strict=True)) for each in (state, after))
            found.append((before, it.labels[instance].action, later))
            if after not in seen:
                seen[after] = None
                pending.append(after)
    return found


def is_prefix(a: tuple[Any, ...], b: tuple[Any, ...]) -> bool:
    return b[: len(a)] == a


@pytest.mark.parametrize("partitions", [1, 2])
def test_what_is_committed_and_told_stays(partitions: int) -> None:
    few = {} if partitions == 1 else {"partitions": 2, "log_size": 1, "max_records": 2}
    taken = set()
    for before, action, after in steps(**few):
        taken.add(action)
        for p in range(partitions):
            assert is_prefix(before["committed"][p], after["committed"][p])
            assert is_prefix(before["read"][p], after["read"][p])
            assert is_prefix(after["read"][p], after["committed"][p])
            assert after["shown"][p] <= len(after["committed"][p])
            assert after["agreed"][p]
        committed = {i for log in after["committed"] for i, _ in log}
        for i, (old, new) in enumerate(zip(before["acknowledged"], after["acknowledged"], strict=True)):
            assert new >= old
            assert not new or i in committed
    assert taken == {"append", "acknowledge", "read-next", "show", "lose-or-find"}


def test_what_is_shown_may_fall_or_not() -> None:
    def falls(**settings: Any) -> bool:
        return any(after["shown"] < before["shown"] for before, _, after in steps(**settings))

    assert falls()
    assert not falls(end_offsets="never-fall")


def test_what_must_be_kept_is() -> None:
    assert any(not after["kept"][0] for _, _, after in steps())
    assert all(after["kept"][0] for _, _, after in steps(must_keep=True))


def test_only_its_owner_takes_a_log_back() -> None:
    for before, action, after in steps(deletions=True):
        if action == "delete":
            assert (after["committed"], after["read"], after["shown"]) == (((),), ((),), (0,))
            assert not any(after["acknowledged"])
        else:
            assert is_prefix(before["committed"][0], after["committed"][0])


def test_every_record_can_be_committed_and_read() -> None:
    ends = [after for _, _, after in steps() if len(after["read"][0]) == 2]
    assert {after["read"][0] for after in ends} == {((a, 0), (b, 0)) for a in range(2) for b in range(2)}
    assert any(all(after["acknowledged"]) for after in ends)
