"""`enabled` on a traced state: an action that was traced is not traced again."""

from __future__ import annotations

import pytest

from isrcheck.checker.registry.loader import load_model_class
from isrcheck.model.semantics.tracing import SymbolicState, _Sheet, predicate_at, trace
from isrcheck.model.semantics.transition_system import TransitionSystem

ASKING = ("nothing-awaits-acknowledgement", "every-live-replica-follows")


@pytest.mark.parametrize("model", ["v3", "alter-isr"])
def test_it_is_the_same_as_of_an_action_that_is_traced_anew(model: str, monkeypatch: pytest.MonkeyPatch) -> None:
    loaded, runs = load_model_class(model), list[str]()
    anew = SymbolicState._guards_of

    def noted(state: SymbolicState, method: object, name: str) -> object:
        runs.append(name)
        return anew(state, method, name)  # type: ignore[arg-type]

    def traced() -> TransitionSystem:
        runs.clear()
        return trace(loaded.cls(), {name: loaded.invariants[name] for name in ASKING})

    monkeypatch.setattr(SymbolicState, "_guards_of", noted)
    known = traced()
    assert not runs
    monkeypatch.setattr(
        _Sheet, "_state", lambda self, writable: SymbolicState(self.model, self.variables, self.leaves, writable)
    )
    for one, other in zip(known.invariants, traced().invariants, strict=True):
        assert one.holds is other.holds and one.failure is other.failure
    healing = [name for name, method in loaded.cls.actions().items() if not method.__action__.environment]  # type: ignore[attr-defined]
    assert len(runs) == len(ASKING) * len(healing)


def test_a_predicate_by_itself_asks_each_action_once(monkeypatch: pytest.MonkeyPatch) -> None:
    loaded, anew, runs = load_model_class("v3"), SymbolicState._guards_of, list[str]()

    def noted(state: SymbolicState, method: object, name: str) -> object:
        runs.append(name)
        return anew(state, method, name)  # type: ignore[arg-type]

    monkeypatch.setattr(SymbolicState, "_guards_of", noted)
    model = loaded.cls()
    found = predicate_at(model, "service-goes-on", loaded.invariants["service-goes-on"])
    assert found.holds and runs and len(runs) == len({*runs})
