"""A counterexample as text: the story of its steps, the whole last state, and why that state is wrong.

Without a story, or if the user asks for plain states, each step is shown as its action and its changes.

Liveness as text: the verdict on each property, the assumed fairness, and the length of a violation.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence

from isrcheck.checker.report.story_text import causes_text, fix_search_text, fix_text, for_ever, story_text
from isrcheck.checker.results.result import (
    EvaluationFailure,
    Instance,
    InvariantResult,
    PropertyResult,
    Result,
    Step,
    Trace,
)
from isrcheck.checker.results.state_text import data_text, differences, label_text, parts
from isrcheck.checker.results.story import Fix, Story
from isrcheck.checker.results.text_layout import PLAIN, Ink, columns, number, plural
from isrcheck.checker.trace.replay_result import Replayed
from isrcheck.model.language.fairness import Fairness
from isrcheck.model.semantics.transition_system import shown

INNER = "     "


def violations_text(
    violations: Sequence[tuple[str, InvariantResult]], ink: Ink = PLAIN, plain: bool = False
) -> list[str]:
    """The lines about one trace and the invariants that are false at its end."""
    first = violations[0][1]
    assert first.trace is not None
    title = ink("head", f"Counterexample: {', '.join(name for name, _ in violations)}")
    steps = steps_text(first.trace, None if plain else first.story, ink)
    lines = [title + ("" if first.canonical else " (not canonical)"), *steps]
    lines += ["", *_last_state(first.trace, ink)]
    shown_fixes: list[Fix] = []
    for name, outcome in violations:
        lines += ["", f"{ink('bad', name)} is false there: {outcome.sentence}"]
        lines += why_text(outcome.instance, first.trace)
        if not plain:
            lines += blame_text(outcome, shown_fixes)
            shown_fixes += outcome.fixes
            lines += fix_search_text(outcome.fix_search)
    return lines


def replayed_text(replayed: Sequence[Replayed], plain: bool = False) -> list[str]:
    """The lines about the common trace of all `replayed`, and about the property or invariants that are violated."""
    for each in replayed:
        if each.broken is not None:
            return property_violation_text(each.recorded.title, each.broken, plain=plain)
    violations = [
        (each.recorded.title, each.invariant_result) for each in replayed if each.invariant_result is not None
    ]
    if violations:
        return violations_text(violations, plain=plain)
    trace = replayed[0].outcome.trace
    steps = steps_text(trace, None if plain else replayed[0].story)
    return [f"Trace: {replayed[0].recorded.title}", *steps, "", *_last_state(trace, PLAIN)]


def choice_text(outcome: PropertyResult) -> str:
    """The values of a property's parameters, as text: ` for p 0, b 1`."""
    said = ", ".join(f"{name} {shown(value)}" for name, value in outcome.choice)
    return f" for {said}" if said else ""


def property_violation_text(name: str, outcome: PropertyResult, ink: Ink = PLAIN, plain: bool = False) -> list[str]:
    """The lines about the trace that violates a property. If the trace is a lasso, they also say why it is fair."""
    assert outcome.trace is not None
    lines = [ink("head", f"Counterexample: {name}{choice_text(outcome)}")]
    lines += steps_text(outcome.trace, None if plain else outcome.story, ink)
    lines += ["", f"{ink('bad', name)} is false of that: {outcome.sentence}"]
    if outcome.trace.loop is not None and not outcome.kept and outcome.trace.stays:
        return [*lines, "  no action with fairness can happen there"]
    return [*lines, *(f"  {promise} cannot happen in state {state}" for promise, state in outcome.kept)]


def steps_text(trace: Trace, story: Story | None, ink: Ink = PLAIN) -> list[str]:
    """The lines of a trace as a story, or as plain states if there is no story."""
    return trace_text(trace, ink) if story is None else story_text(story, trace, ink)


def blame_text(outcome: InvariantResult, already_shown: Collection[Fix] = ()) -> list[str]:
    """The lines on why an invariant is false: `last_held_text`, the facts behind the violation, and the fixes.

    Fixes in `by_action` are left out, because the report has shown them already.
    """
    lines = last_held_text(outcome) + causes_text(outcome.causes, outcome.story, outcome.fixes)
    return [*lines, *(line for fix in outcome.fixes if fix not in already_shown for line in fix_text(fix))]


def last_held_text(outcome: InvariantResult) -> list[str]:
    """The line about the last state in which the invariant's `last_held` condition was true.

    If the invariant has no such condition, there is no line.
    """
    if outcome.last_held is None:
        return []
    at = "at no moment" if outcome.last_held.state is None else f"last in state {outcome.last_held.state}"
    return [f"  {outcome.last_held.what}: {at}"]


def evaluation_text(failure: EvaluationFailure, ink: Ink = PLAIN, plain: bool = False) -> list[str]:
    """The lines about a trace to a state in which an action or a predicate cannot be evaluated."""
    action = "a predicate" if failure.label is None else label_text(failure.label)
    steps = steps_text(failure.trace, None if plain else failure.story, ink)
    lines = [ink("head", "Evaluation error: how to get there"), *steps, ""]
    return [
        *lines,
        *_last_state(failure.trace, ink),
        "",
        f"{action} is undefined there: {failure.where}: {failure.what}",
    ]


def trace_text(trace: Trace, ink: Ink = PLAIN, first: str = "initial state") -> list[str]:
    """The lines of a trace: the whole first state, then for each step its action, its actor, and its changes."""
    lines = ["", f"  1  {ink('head', first)}", *columns(parts(trace.variables, trace.steps[0].state), INNER)]
    for i, step in enumerate(trace.steps[1:], 1):
        lines += [*for_ever(trace, i + 1, ink), "", _heading(i + 1, step, ink), *_changes(trace, i)]
    return [*lines, *for_ever(trace, trace.length + 1, ink)]


def _heading(position: int, step: Step, ink: Ink) -> str:
    what = "" if step.label is None else label_text(step.label)
    who = "" if step.actor is None else f"   by {step.actor}"
    return f"{position:>3}  {ink('head', what)}{who}"


def _changes(trace: Trace, i: int) -> list[str]:
    before, after = trace.steps[i - 1].state, trace.steps[i].state
    rows = [(path, f"{old} -> {new}") for path, old, new in differences(trace.variables, before, after)]
    return columns(rows or [("nothing changes",)], INNER)


def _last_state(trace: Trace, ink: Ink) -> list[str]:
    head = ink("head", f"State {trace.length} whole")
    return [head, *columns(parts(trace.variables, trace.steps[-1].state), INNER)]


def why_text(instance: Instance | None, trace: Trace) -> list[str]:
    """The lines about parameters for which an invariant is false, and the values that it reads for these parameters."""
    if instance is None:
        return []
    choice = ", ".join(f"{name} {shown(value)}" for name, value in instance.choice)
    lines = (
        [f"  for {choice}" + (", where" if instance.reads else "")] if choice else ["  where"] if instance.reads else []
    )
    rows = [(path, data_text(trace.variables, path, data)) for path, data in instance.reads]
    return lines + columns(rows, INNER)


def liveness_lines(result: Result, ink: Ink = PLAIN) -> list[str]:
    """The lines about liveness: the fairness of the actions, then each property with its verdict."""
    if not result.liveness or result.fairness is None:
        return []
    rows = [row for name, outcome in result.liveness.items() for row in _rows(name, outcome)]
    return [ink("head", f"Liveness ({fairness_text(result.fairness)})"), *columns(rows)]


def fairness_text(fairness: Fairness) -> str:
    """The fairness that is assumed, as text: `weak fairness ...; strong: commit; unfair: fetch`."""
    named = [(name, sorted(getattr(fairness, name))) for name in ("strong", "weak", "unfair")]
    said = [f"{name}: {', '.join(actions)}" for name, actions in named if actions]
    return "; ".join([f"{fairness.default} fairness of healing actions unless the model declares otherwise", *said])


def _rows(name: str, outcome: PropertyResult) -> Iterator[tuple[str, str]]:
    yield name, property_text(outcome)
    if outcome.why is not None:
        return
    several = sum(1 for each in outcome.asked if each.choice)
    asked = f"{plural(several, 'choice')} of parameters, " if several > 1 else ""
    so_far = "" if outcome.canonical else ", of those explored"
    yield (
        "",
        (f"{asked}{plural(outcome.total('region'), 'state')} in which it is pending{so_far}; {_components(outcome)}"),
    )
    if outcome.verdict == "holds" and outcome.fairness_used:
        yield "", f"because of the fairness of {', '.join(outcome.fairness_used)}"


def _components(outcome: PropertyResult) -> str:
    fair, unfair = outcome.total("fair_components"), outcome.total("unfair_components")
    ends = plural(outcome.total("fair_ends"), "fair end")
    return f"{ends}, {plural(fair, 'fair component')}, {number(unfair)} unfair"


def property_text(outcome: PropertyResult) -> str:
    """The verdict on a property, in a few words."""
    if outcome.verdict == "incomplete":
        return f"incomplete: {outcome.why}"
    if outcome.trace is not None:
        return f"violated{choice_text(outcome)}, {lasso_text(outcome)}"
    if outcome.vacuous:
        return "holds vacuously: its premise never becomes true"
    ends, components = outcome.total("excused_ends"), outcome.total("excused_components")
    excused = " and ".join(plural(count, what) for count, what in ((ends, "end"), (components, "component")) if count)
    if outcome.only_excused:
        return f"holds, but a bound stops every behaviour: {excused} (raise the bounds)"
    return f"holds, except where a bound stops it: {excused} (raise the bounds)" if excused else "holds"


def lasso_text(outcome: PropertyResult) -> str:
    """The length of a violation and how it ends, in words: `stuck after 6 states`."""
    trace = outcome.trace
    assert trace is not None
    other = "" if outcome.canonical else " (not canonical)"
    if trace.loop is None:
        return f"in {plural(trace.length, 'state')}{other}"
    if trace.stays:
        return f"stuck after {plural(trace.length, 'state')}{other}"
    cycle = plural(trace.length - trace.loop - 1, "step")
    return f"after {plural(trace.loop + 1, 'state')} in a cycle of {cycle}{other}"
