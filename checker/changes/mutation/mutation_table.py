"""The table of guard mutation: each mutant with its outcome, then the meaning of the outcomes."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, cast

from isrcheck.checker.report.counterexample_text import fairness_text, lasso_text
from isrcheck.checker.results.result import Exit, PropertyResult
from isrcheck.checker.results.text_layout import PLAIN, WIDEST, Ink, columns, number, plural

if TYPE_CHECKING:
    from isrcheck.checker.changes.mutation.mutant_verdicts import Outcome, Verdict
    from isrcheck.checker.changes.mutation.mutation_run import Mutation

STYLES: Final = {"killed": "good", "vacuous": "good", "equivalent": "good", "survived": "bad"}


def mutation_text(found: Mutation, ink: Ink = PLAIN) -> str:
    """The text about the mutants of a model: the totals, the table, and notes. It ends in a newline."""
    sections = [
        [headline(found, ink)],
        [ink("head", "Mutants"), *_rows(found, ink)] if found.verdicts else [],
        _properties(found, ink),
        _scenarios(found, ink),
        _survivors(found, ink),
        _left_out(found, ink),
    ]
    return "\n\n".join("\n".join(lines) for lines in sections if lines) + "\n"


def headline(found: Mutation, ink: Ink = PLAIN) -> str:
    """The outcome in one line."""
    own = found.own
    if own.exit_code != Exit.HOLDS:
        names = ", ".join(name for name, f in own.invariants.items() if f.verdict == "violated")
        what = f"{names} is violated in it" if names else own.reason or "it does not hold"
        return f"{ink('bad', 'NOT MUTATED')}  {own.model}: {what}; use settings and invariants for which it holds"
    if found.reason is not None:
        return f"{ink('open', 'NOT MUTATED')}  {own.model}: {found.reason}"
    from isrcheck.checker.changes.mutation.mutant_verdicts import OUTCOMES

    counts = [(found.count(outcome), outcome) for outcome in OUTCOMES]
    listed = ", ".join(f"{n} {outcome}{_of_these(found, outcome)}" for n, outcome in counts if n)
    word, style = {
        Exit.HOLDS: ("NO SURVIVOR", "good"),
        Exit.LIMIT: ("NOT FINISHED", "open"),
    }.get(found.exit_code, ("SURVIVORS", "bad"))
    asked = ", ".join((*own.invariants, *found.asked_properties))
    model = f"{own.model} ({plural(own.distinct, 'state')}; {asked})"
    return f"{ink(style, word)}  {model}: {plural(len(found.verdicts), 'mutant')}{': ' if listed else ''}{listed}"


def _of_these(found: Mutation, outcome: Outcome) -> str:
    """Says how many mutants have an outcome because of a property, and how many have the outcome in a scenario."""
    by_property = sum(v.outcome == outcome and v.lasso is not None for v in found.verdicts)
    counts = (by_property, "by a property"), (found.elsewhere(outcome), "in a scenario")
    listed = ", ".join(f"{n} {what}" for n, what in counts if n)
    return f" ({listed})" if listed else ""


def _rows(found: Mutation, ink: Ink) -> list[str]:
    rows = [("", "outcome", "by", "action", "of its", "line", "change")]
    for v in found.verdicts:
        change = shortened(v.edit.words)
        rows.append((str(v.number), v.outcome, shortened(how(v)), v.action, v.touches, v.edit.where, change))
    return columns(rows, right=(0,))


def how(verdict: Verdict) -> str:
    """What notices a mutant or how it differs from the model, then the scenario and the unanswered properties."""
    unanswered = f"; undecided: {', '.join(name for name, _ in verdict.unanswered)}" if verdict.unanswered else ""
    return _how(verdict) + (f" ({verdict.scenario})" if verdict.scenario else "") + unanswered


def _how(verdict: Verdict) -> str:
    match verdict.outcome:
        case "killed" if verdict.lasso is not None:
            return f"{', '.join(verdict.killed_by)}, {verdict.lasso}"
        case "killed":
            return f"{', '.join(verdict.killed_by)} in {verdict.length}"
        case "survived" | "nothing new":
            more = verdict.extra or 0
            return "no more states" if more == 0 else f"{number(abs(more))} {'more' if more > 0 else 'fewer'} states"
        case "unread":
            return f"differs in {', '.join(verdict.differing) or 'nothing'}"
        case "forbids":
            return "fewer steps"
        case "equivalent":
            return "same states and steps"
        case "evaluation error":
            return f"undefined in state {verdict.length}"
    return verdict.reason or ""


def shortened(text: str) -> str:
    return text if len(text) <= WIDEST else text[: WIDEST - 3] + "..."


def _properties(found: Mutation, ink: Ink) -> list[str]:
    """The section on liveness: the fairness, properties that can kill no mutant, properties undecided for a mutant."""
    if not found.properties:
        return []
    lines = [
        [f"{name} cannot kill mutants: {why}"] for name, f in found.properties.items() if (why := _kills_nothing(f))
    ]
    reasons: dict[str, list[str]] = {}
    for v in found.verdicts:
        for name, why in v.unanswered:
            reasons.setdefault(f"{name} is undecided, {why}", []).append(str(v.number))
    lines += [[f"{what}: mutants {', '.join(numbers)}"] for what, numbers in sorted(reasons.items())]
    return [ink("head", f"Liveness ({fairness_text(found.question.fairness)})"), *columns(lines)]


def _kills_nothing(outcome: PropertyResult) -> str | None:
    if outcome.verdict == "violated":
        return f"it is violated in the model itself, {lasso_text(outcome)}"
    if outcome.verdict == "incomplete":
        return f"it is undecided in the model itself, {outcome.why}"
    return "its premise never becomes true in the model itself" if outcome.vacuous else None


def _scenarios(found: Mutation, ink: Ink) -> list[str]:
    asked = found.question.scenarios
    if not found.verdicts or not asked:
        return []
    last, _, states = asked[-1]
    words = (
        f"{plural(len(asked), 'scenario')} in which the model holds, the largest being {last} with "
        f"{plural(states, 'state')}"
    )
    return [ink("head", "Checked in"), *columns([[words]])]


def _survivors(found: Mutation, ink: Ink) -> list[str]:
    asked = "invariants and properties" if found.asked_properties else "invariants"
    lines = [
        [words]
        for outcome, words in (
            (
                "survived",
                f"A survivor means that within these bounds none of these {asked} needs the line, or that "
                "one is missing.",
            ),
            ("unread", "unread: the mutant differs only in values that no other step and no invariant depends on."),
            (
                "forbids",
                "forbids: the mutant only lacks steps of the model, so it reaches no new states and no "
                "invariant can detect it.",
            ),
        )
        if found.count(cast("Outcome", outcome))
    ]
    return [ink("head", "Not killed"), *columns(lines)] if lines else []


def _left_out(found: Mutation, ink: Ink) -> list[str]:
    if not found.verdicts:
        return []
    return [ink("head", "Not counted"), *columns([[f"{plural(found.senseless, 'edit')} that are not valid models"]])]
