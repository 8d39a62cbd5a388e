"""Guard mutation on a toy: the verdicts are worked out by hand, and compared with the reference semantics."""

from __future__ import annotations

from functools import cache
from pathlib import Path
from typing import Any

import pytest

from isrcheck import check
from isrcheck.checker.changes.mutation.mutant_verdicts import Question, Verdict
from isrcheck.checker.changes.mutation.mutants import mutated
from isrcheck.checker.changes.mutation.mutation_run import Mutation, mutation
from isrcheck.checker.registry.loader import load_model_class
from isrcheck.checker.results.exploration import Limits
from isrcheck.model.language.model import Model
from isrcheck.model.published.kip_101 import Kip101
from isrcheck.model.semantics.concrete_state import initial_states
from isrcheck.model.semantics.interpreter import Interpreter
from tests.mutation.turnstile import Turnstile

TURNSTILE = str(Path(__file__).parent / "turnstile.py")
VALVE = str(Path(__file__).parent / "valve.py")
SMALL = {"replicas": 2, "log_size": 2, "max_records": 1, "max_leader_epoch": 1}
LIMITS = Limits(memory=3 << 30)


@cache
def asked(model: str, actions: tuple[str, ...] = ()) -> Mutation:
    settings = {} if model in (TURNSTILE, VALVE) else SMALL
    return mutation(Question(model, settings, None, actions, limits=LIMITS, workers=1))


def of(action: str, change: str, model: str = TURNSTILE) -> Verdict:
    """The verdict on a mutant, which is given by its action and change."""
    mine = asked(model) if model == TURNSTILE else asked(model, (action,))
    (found,) = [v for v in mine.verdicts if (v.action, v.edit.words) == (action, change)]
    return found


def test_a_guard_that_an_invariant_needs_is_killed_by_the_shortest_trace() -> None:
    # Nobody has paid and somebody enters: two states. The invariant shares its condition with `pay`, and is not edited.
    found = of("enter", "without s.inside < s.paid")
    assert (found.outcome, found.killed_by, found.length) == ("killed", ("who-is-in-has-paid",), 2)
    assert (found.step, found.by) == (2, "enter()")
    assert [step["state"]["inside"] for step in found.trace] == [0, 1]


def test_a_boundary_off_by_one_is_killed_as_well() -> None:
    found = of("enter", "s.inside <= s.paid, not s.inside < s.paid")
    assert (found.outcome, found.length, found.edit.kind) == ("killed", 2, "weakened")


def test_a_guard_that_says_what_is_always_so_is_equivalent() -> None:
    # inside <= paid in every reachable state; so is paid > 0 where the lamp is on, and it is on where asked allows it.
    assert of("pay", "without self.is_paid_for(s)").outcome == "equivalent"
    assert of("pay", "s.inside <= s.paid + 1, not s.inside <= s.paid").outcome == "equivalent"
    assert of("ask", "without implies(s.lamp, s.paid > 0)").outcome == "equivalent"


def test_a_guard_that_no_invariant_of_states_can_see_reaches_nothing_new() -> None:
    # Without the lamp a second guest enters at once: (paid, inside, lamp, asked) = (2, 2, on, off) is reached either
    # way (off after being asked, then on again), so steps differ and states do not.
    found = of("enter", "without ~s.lamp")
    assert (found.outcome, found.extra) == ("nothing new", 0)
    found = of("switch-off", "without s.asked")
    assert (found.outcome, found.extra) == ("nothing new", 0)


def test_an_invariant_that_asks_what_is_enabled_is_asked_of_the_mutant() -> None:
    """No state is new, but the mutant can fill a full tank (two steps from the start). The model's guard cannot."""
    (found,) = [v for v in asked(VALVE).verdicts if v.edit.words == "without s.level < 2"]
    assert (found.outcome, found.killed_by, found.length) == ("killed", ("a-full-tank-is-not-filled",), 3)


def test_a_guard_of_a_domain_ends_in_an_evaluation_error() -> None:
    found = of("pay", "without s.paid < 3")
    assert found.outcome == "evaluation error"
    assert found.length == 4
    assert found.reason == "turnstile.py:26: paid: the value 4 is not a number from 0 to 3"


def test_a_dropped_update_is_a_mutant_of_its_action() -> None:
    # A guest who is not counted: the lamp goes on, and inside stays 0 for ever. It was never on with nobody inside.
    found = of("enter", "without s.inside += 1")
    assert (found.outcome, found.touches) == ("survived", "update")
    # A lamp that stays on when it is switched off: then nobody else comes in, and nothing is reached that was not.
    found = of("switch-off", "without s.lamp = False")
    assert (found.outcome, found.extra) == ("nothing new", -18)


def test_a_mutant_in_which_an_action_is_never_possible_any_more_is_vacuous() -> None:
    found = of("ask", "without s.asked = True")
    assert (found.outcome, found.reason) == ("vacuous", "never: switch-off")
    assert of("pay", "without s.paid += 1").reason == "never: enter, switch-off"


@pytest.mark.exhaustive
def test_what_only_forbids_is_counted_apart() -> None:
    # `~(...)` is nowhere, so each edit of the toy allows more or drops an update.
    assert asked(TURNSTILE).count("forbids") == 0
    # In kip-320 `~follows_in_same_epoch` guards the shrinking of the ISR: less of it forbids some shrinking.
    assert asked("kip-320", ("fenced-leader-shrink-isr",)).count("forbids") > 0


def test_a_mutant_reaches_nothing_new_if_and_only_if_all_its_states_are_the_models() -> None:
    model = set(reachable(Turnstile()))
    for verdict in asked(TURNSTILE).verdicts:
        if verdict.outcome in ("survived", "nothing new"):
            states = set(reachable(mutated(Turnstile, verdict.action, verdict.edit)()))
            assert (states <= model) == (verdict.outcome == "nothing new"), verdict


CONSTRAINT = """
    @constraint
    def few(self, s: Any) -> Any:
        \"""Only some states are explored.\"""
        return CONDITION
"""
CONSTRAINTS = ["s.paid <= 3", "s.paid < 3", "s.inside < 2", "(s.inside < 2) | s.lamp", "~s.asked | (s.paid > 1)"]


@cache
def constrained(file: Path) -> tuple[Mutation, type[Model]]:
    return mutation(Question(str(file), {}, None, (), limits=LIMITS, workers=1)), load_model_class(str(file)).cls


def with_constraint(folder: Path, condition: str) -> tuple[Mutation, type[Model]]:
    file = folder / "turnstile.py"
    text = Path(TURNSTILE).read_text().replace("import Model, action,", "import Model, action, constraint,")
    file.write_text(text + CONSTRAINT.replace("CONDITION", condition))
    return constrained(file)


def checked_states(model: Model) -> set[Any]:
    """The states in which invariants are checked: those within the constraints, and those one step further."""
    interpreter, pending, found = Interpreter(model, {}), initial_states(model), set()
    while pending:
        state = pending.pop()
        if state not in found:
            found.add(state)
            if interpreter.counted(state):
                pending += [after for _, after in interpreter.steps(state) if isinstance(after, tuple)]
    return found


@pytest.mark.parametrize("condition", CONSTRAINTS)
def test_within_constraints_too_nothing_new_is_said_if_and_only_if_it_is_so(tmp_path: Path, condition: str) -> None:
    found, cls = with_constraint(tmp_path, condition)
    model, outcomes = checked_states(cls()), set()
    for verdict in found.verdicts:
        if verdict.outcome in ("survived", "nothing new"):
            states = checked_states(mutated(cls, verdict.action, verdict.edit)())
            assert (states <= model) == (verdict.outcome == "nothing new"), (verdict.action, verdict.edit.words)
            outcomes.add(verdict.outcome)
    assert "nothing new" in outcomes


def test_a_constraint_that_leaves_nothing_out_changes_no_verdict(tmp_path: Path) -> None:
    verdicts = [
        (v.action, v.edit.words, v.outcome, v.extra) for v in with_constraint(tmp_path, "s.paid <= 3")[0].verdicts
    ]
    assert verdicts == [(v.action, v.edit.words, v.outcome, v.extra) for v in asked(TURNSTILE).verdicts]


def test_the_fence_of_a_fetch_is_noticed_in_kip_101() -> None:
    """A replica that accepts requests of old epochs returns to a deposed leader."""
    fence = of("become-follower", "without s.replica[replica].leader_epoch < epoch", "kip-101")
    assert (fence.outcome, fence.killed_by) == ("killed", ("weak-isr",))
    assert fence.by is not None
    assert fence.by.startswith("become-follower(")


@pytest.mark.parametrize(
    ("model", "cls"),
    [
        (TURNSTILE, Turnstile),
        pytest.param("kip-101", Kip101, marks=[pytest.mark.exhaustive, pytest.mark.release]),
    ],
)
def test_the_reference_engine_says_the_same_of_every_mutant(model: str, cls: type[Model]) -> None:
    settings = {} if cls is Turnstile else SMALL
    own = reachable(cls(**settings))
    for verdict in asked(model).verdicts:
        mutant = mutated(cls, verdict.action, verdict.edit)
        if verdict.outcome == "equivalent":
            assert reachable(mutant(**settings)) == own, verdict
            continue
        result = check(
            mutant, settings, profile="bare", invariants=INVARIANTS[model], engine="reference", limits=LIMITS
        )
        names = {n: f.trace.length for n, f in result.invariants.items() if f.trace is not None}
        if verdict.outcome == "killed":
            assert {n for n, length in names.items() if length == verdict.length} == set(verdict.killed_by), verdict
        elif verdict.outcome == "forbids":
            assert set(reachable(mutant(**settings))) <= own.keys(), verdict
        elif verdict.outcome == "vacuous":
            never = set((verdict.reason or "").removeprefix("never: ").split(", "))
            goals = {f"goal {name}" for name in result.goals_never_reached}
            assert never and never <= {*result.actions_never_fired, *goals}, verdict
        elif verdict.outcome == "evaluation error":
            assert result.evaluation is not None, verdict
            assert result.evaluation.trace.length == verdict.length, verdict
        else:
            assert result.verdict == "holds", verdict
            assert result.distinct == verdict.distinct, verdict
            assert reachable(mutant(**settings)) != own, verdict


INVARIANTS = {
    TURNSTILE: ("who-is-in-has-paid",),
    "kip-101": ("leader-in-isr-or-none", "strong-isr", "weak-isr"),
    "kip-320": ("leader-in-isr-or-none", "strong-isr", "weak-isr"),
}


def reachable(model: Model) -> dict[Any, list[tuple[int, Any]]]:
    """Every reachable state with its steps, computed by the methods themselves."""
    interpreter = Interpreter(model, {})
    pending, found = initial_states(model), {}
    while pending:
        state = pending.pop()
        if state not in found:
            found[state] = list(interpreter.steps(state))
            pending += [after for _, after in found[state] if isinstance(after, tuple)]
    return found


def test_an_edit_of_another_model_is_refused() -> None:
    found = of("enter", "without ~s.lamp")
    with pytest.raises(RuntimeError, match=r"Kip101 has no function with one of turnstile\.py:32"):
        mutated(Kip101, "become-leader", found.edit)
