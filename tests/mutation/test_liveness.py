"""Mutants of a toy that no invariant kills but a property does. A brute-force search confirms the verdicts."""

from __future__ import annotations

import json
from collections.abc import Iterator
from functools import cache
from itertools import combinations
from pathlib import Path
from typing import Any

import pytest

from isrcheck.checker.analysis.liveness import liveness_verdicts
from isrcheck.checker.analysis.liveness.region import NotAllowed
from isrcheck.checker.changes.mutation.mutant_verdicts import Question, Verdict
from isrcheck.checker.changes.mutation.mutants import mutated
from isrcheck.checker.changes.mutation.mutation_run import Mutation, mutation
from isrcheck.checker.changes.mutation.mutation_table import mutation_text
from isrcheck.checker.results.result import Exit
from isrcheck.model.language import Model
from isrcheck.model.language.fairness import Fairness
from isrcheck.model.semantics.concrete_state import initial_states
from isrcheck.model.semantics.interpreter import Interpreter
from tests.cli.running import run
from tests.mutation.courier import Courier

COURIER = Path(__file__).parent / "courier.py"
ONCE = "without ~s.returned"


def asking(*properties: str, workers: int = 1, fairness: Fairness = Fairness()) -> Mutation:
    return mutation(Question(str(COURIER), {}, None, workers=workers, liveness=properties, fairness=fairness))


@cache
def asked(*properties: str) -> Mutation:
    return asking(*properties)


def of(found: Mutation, action: str, change: str) -> Verdict:
    (verdict,) = [v for v in found.verdicts if (v.action, v.edit.words) == (action, change)]
    return verdict


def test_a_livelock_that_no_invariant_sees_is_killed_by_the_property() -> None:
    """If the letter can be given back again and again, it goes to and fro, but all states are states of the model."""
    assert of(asked(), "give-back", ONCE).outcome == "nothing new"
    found = of(asked("is-delivered"), "give-back", ONCE)
    assert (found.outcome, found.killed_by) == ("killed", ("is-delivered",))
    # Carried, given back, and from there again: what the model does not do is the second time.
    assert [step.get("action") for step in found.trace] == [None, "carry", "give-back", "carry", "give-back"]
    assert (found.length, found.loop, found.step, found.by) == (5, 2, 5, "give-back()")
    assert found.trace[2]["state"] == found.trace[4]["state"]
    assert found.lasso == "after 3 states in a cycle of 2 steps"


def test_what_only_forbids_may_be_noticed_too() -> None:
    """A letter that was given back is never carried again. The model takes the same steps, but can continue."""
    assert of(asked(), "carry", "without s.delivered").outcome == "forbids"
    found = of(asked("is-delivered"), "carry", "without s.delivered")
    assert (found.outcome, found.length, found.loop, found.step, found.by) == ("killed", 3, 2, None, None)
    assert found.lasso == "stuck after 3 states"


@pytest.mark.parametrize(("action", "change"), [("carry", "without s.at = 1"), ("deliver", "without s.delivered")])
def test_what_is_vacuous_may_be_noticed_too(action: str, change: str) -> None:
    """For the second mutant, the steps of the model alone show that the letter is never delivered."""
    assert of(asked(), action, change).outcome == "vacuous"
    assert of(asked("is-delivered"), action, change).killed_by == ("is-delivered",)


def test_the_shortest_lasso_is_told_with_all_that_it_violates() -> None:
    found = of(asked("all"), "deliver", "without s.delivered = True")
    assert found.killed_by == ("is-delivered", "is-handed-over")
    # To and fro from the start: from the door on it is one state more until the first round begins.
    found = of(asked("all"), "give-back", "without s.returned = True")
    assert (found.killed_by, found.length) == (("is-delivered",), 3)
    found = of(asked("is-handed-over"), "give-back", "without s.returned = True")
    assert (found.killed_by, found.length) == (("is-handed-over",), 4)


def test_what_an_invariant_kills_is_not_asked() -> None:
    """A letter that is given back after delivery is not at the door. An invariant notices, so no lasso is searched."""
    before, found = (of(asked(*names), "give-back", "without ~s.delivered") for names in ((), ("is-delivered",)))
    assert (found.outcome, found.killed_by, found.lasso) == ("killed", ("delivered-at-the-door",), None)
    assert found == before


@pytest.mark.parametrize("strong", [frozenset[str](), frozenset({"deliver"})])
def test_by_hand_the_same_mutants_go_on_for_ever_undelivered(strong: frozenset[str]) -> None:
    found = asking("is-delivered", fairness=Fairness(strong=strong))
    unkilled = [v for v in found.verdicts if v.lasso is not None or v.outcome != "killed"]
    for v in unkilled:
        mutant = mutated(Courier, v.action, v.edit)()
        assert _may_stay_undelivered(mutant, strong) == (v.lasso is not None), v
    assert len({v.lasso for v in unkilled}) > 2


def _may_stay_undelivered(model: Model, strong: frozenset[str]) -> bool:
    """True if a fair behaviour can stay in undelivered states for ever. Every set of states is tried."""
    steps = _steps(model)
    undelivered = [s for s in steps if not s[-1]]
    sets = (set(x) for n in range(1, len(undelivered) + 1) for x in combinations(undelivered, n))
    return any(_is_fair(steps, states, strong) for states in sets if _is_connected(steps, states))


Steps = dict[Any, list[tuple[str, Any]]]
"""For each reachable state its steps: the action and the next state."""


def _steps(model: Model) -> Steps:
    interpreter = Interpreter(model, {})
    pending, found = initial_states(model), Steps()
    while pending:
        state = pending.pop()
        if state not in found:
            steps = [(interpreter.labels[i].action, after) for i, after in interpreter.steps(state)]
            found[state] = [(action, after) for action, after in steps if after != state]
            pending += [after for _, after in found[state]]
    return found


def _is_connected(steps: Steps, states: set[Any]) -> bool:
    return all(states <= set(_within(steps, states, start)) for start in states)


def _within(steps: Steps, states: set[Any], start: Any) -> Iterator[Any]:
    pending, seen = [start], {start}
    while pending:
        state = pending.pop()
        yield state
        new = {after for _, after in steps[state]} & states - seen
        seen |= new
        pending += new


def _is_fair(steps: Steps, states: set[Any], strong: frozenset[str]) -> bool:
    """True if each action is taken within the states, or is disabled somewhere (if strongly fair: everywhere)."""
    for action in ("carry", "give-back", "deliver"):
        able = [any(a == action for a, _ in steps[s]) for s in states]
        taken = any(a == action and after in states for s in states for a, after in steps[s])
        if not taken and (any(able) if action in strong else all(able)):
            return False
    return True


def test_what_is_promised_decides() -> None:
    """With strong fairness, a courier who can deliver again and again does deliver in the end."""
    found = asking("is-delivered", fairness=Fairness(strong=frozenset({"deliver"})))
    assert of(found, "give-back", ONCE).outcome == "nothing new"
    found = asking("is-delivered", fairness=Fairness(unfair=frozenset({"deliver"})))
    assert found.asked_properties == ()
    assert [v.outcome for v in found.verdicts] == [v.outcome for v in asked().verdicts]


def test_a_property_that_is_violated_or_vacuous_in_the_model_kills_nothing() -> None:
    found = asked("comes-back", "is-delivered", "is-found")
    assert found.verdicts == asked("is-delivered").verdicts
    assert asked("comes-back", "is-found").verdicts == asked().verdicts
    text = mutation_text(found)
    killed = [v.lasso is not None for v in asked("is-delivered").verdicts if v.outcome == "killed"]
    total = f"{len(killed)} killed ({sum(killed)} by a property), "
    assert f"courier (6 states; delivered-at-the-door, is-delivered): {len(asked().verdicts)} mutants: {total}" in text
    assert "  comes-back cannot kill mutants: it is violated in the model itself, stuck after 3 states\n" in text
    assert "  is-found cannot kill mutants: its premise never becomes true in the model itself\n" in text
    assert found.exit_code == asked().exit_code == Exit.HOLDS


def test_an_open_answer_kills_nothing_and_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    decide, count = liveness_verdicts.answers, iter(range(99))

    def answers(*given: Any) -> Iterator[Any]:
        if next(count) > 0:
            raise NotAllowed("memory", 7)
        yield from decide(*given)

    monkeypatch.setattr(liveness_verdicts, "answers", answers)
    found = asking("is-delivered")
    assert [v.outcome for v in found.verdicts] == [v.outcome for v in asked().verdicts]
    assert found.exit_code == Exit.LIMIT
    why = "it needs 7 more bytes than allowed (--max-memory)"
    verdict = of(found, "give-back", ONCE)
    assert (verdict.outcome, verdict.unanswered) == ("nothing new", (("is-delivered", why),))
    text = mutation_text(found)
    assert text.startswith("NOT FINISHED  courier (6 states; delivered-at-the-door, is-delivered)")
    numbers = ", ".join(str(v.number) for v in found.verdicts if v.outcome not in ("killed", "equivalent"))
    assert f"  is-delivered is undecided, {why}: mutants {numbers}\n" in text
    assert "no more states; undecided: is-delivered  " in text
    assert found.to_json()["mutants"][verdict.number - 1]["unanswered"] == {"is-delivered": why}


def test_a_property_that_is_open_in_the_model_kills_nothing_and_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    def answers(*given: Any) -> Iterator[Any]:
        raise NotAllowed("time", 0)

    monkeypatch.setattr(liveness_verdicts, "answers", answers)
    found = asking("is-delivered")
    assert found.verdicts == asked().verdicts
    assert found.exit_code == Exit.LIMIT
    line = (
        "is-delivered cannot kill mutants: it is undecided in the model itself, the time limit is reached "
        "(--max-seconds)"
    )
    assert line in mutation_text(found)


@pytest.mark.exhaustive
def test_nothing_depends_on_workers() -> None:
    assert asking("all", workers=2).to_json() == asked("all").to_json()


def test_at_the_command_line(tmp_path: Path) -> None:
    asks = ("mutate", COURIER, "--action", "give-back", "--workers", "1")
    outcome = run(*asks, "--liveness", "all", "--json", tmp_path / "all.json")
    assert outcome.code == 0
    data = json.loads((tmp_path / "all.json").read_text())
    assert data["liveness"] == {
        "comes-back": {"verdict": "violated", "vacuous": False, "reason": None},
        "is-delivered": {"verdict": "holds", "vacuous": False, "reason": None},
        "is-handed-over": {"verdict": "holds", "vacuous": False, "reason": None},
        "is-found": {"verdict": "holds", "vacuous": True, "reason": None},
    }
    assert data["fairness"]["default"] == "weak"
    number, loop = next((m["number"], m["loop"]) for m in data["mutants"] if m["change"] == ONCE)
    assert loop == 2
    shown = run(*asks, "--liveness", "is-delivered", "--show", number)
    assert "Counterexample: is-delivered" in shown.out
    assert "is-delivered is false of that: The letter is delivered in the end." in shown.out
    brief = (*asks, "--liveness", "is-delivered", "--quiet")
    assert "3 killed (2 by a property), " in run(*brief).out
    assert "1 killed, " in run(*brief, "--strong", "deliver").out
    assert run(*asks, "--liveness", "is-deliverd").code == 150
    assert run(*asks, "--liveness", "all", "--weak", "delivr").code == 150
    assert run(*asks, "--strong", "deliver").code == 2
