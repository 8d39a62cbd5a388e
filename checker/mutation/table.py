"""The table of guard mutation: each mutant with its outcome, then what the outcomes mean."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from isrcheck.checker.results import Exit
from isrcheck.checker.wording.layout import PLAIN, Ink, columns, number, plural

if TYPE_CHECKING:
    from isrcheck.checker.mutation.running import Mutation, Verdict

WIDEST: Final = 110
STYLES: Final = {"killed": "good", "equivalent": "good", "survived": "bad"}


def mutation_text(found: Mutation, ink: Ink = PLAIN) -> str:
    """The table and the totals, ending in a newline."""
    sections = [
        [headline(found, ink)],
        [ink("head", "Mutants"), *_rows(found, ink)] if found.verdicts else [],
        _survivors(found, ink),
        _left_out(found, ink),
    ]
    return "\n\n".join("\n".join(lines) for lines in sections if lines) + "\n"


def headline(found: Mutation, ink: Ink = PLAIN) -> str:
    """The outcome in one line."""
    own = found.own
    if own.exit_code != Exit.HOLDS:
        names = ", ".join(name for name, f in own.findings.items() if f.verdict == "violated")
        what = f"{names} is false in it" if names else own.reason or "it does not hold"
        return f"{ink('bad', 'NOT MUTATED')}  {own.model}: {what}; take settings and invariants for which it holds"
    if found.reason is not None:
        return f"{ink('open', 'NOT MUTATED')}  {own.model}: {found.reason}"
    from isrcheck.checker.mutation.running import OUTCOMES

    counts = [(found.count(outcome), outcome) for outcome in OUTCOMES]
    told = ", ".join(f"{n} {outcome}" for n, outcome in counts if n)
    word, style = {
        Exit.HOLDS: ("ALL NOTICED", "good"),
        Exit.LIMIT: ("NOT FINISHED", "open"),
    }.get(found.exit_code, ("SURVIVORS", "bad"))
    model = f"{own.model} ({plural(own.distinct, 'state')}; {', '.join(own.findings)})"
    return f"{ink(style, word)}  {model}: {plural(len(found.verdicts), 'mutant')}{': ' if told else ''}{told}"


def _rows(found: Mutation, ink: Ink) -> list[str]:
    rows = [("", "outcome", "by", "action", "of its", "line", "change")]
    for v in found.verdicts:
        change = shortened(v.edit.words)
        rows.append((str(v.number), v.outcome, how(v), v.action, v.touches, v.edit.where, change))
    return columns(rows, right=(0,))


def how(verdict: Verdict) -> str:
    """By what a mutant is noticed, or in what it differs."""
    match verdict.outcome:
        case "killed":
            return f"{', '.join(verdict.killed_by)} in {verdict.length}"
        case "survived":
            more = verdict.extra or 0
            return "no more states" if more == 0 else f"{number(abs(more))} {'more' if more > 0 else 'fewer'} states"
        case "equivalent":
            return "same states and steps"
        case "evaluation error":
            return f"no meaning in state {verdict.length}"
    return verdict.reason or ""


def shortened(text: str) -> str:
    return text if len(text) <= WIDEST else text[: WIDEST - 3] + "..."


def _survivors(found: Mutation, ink: Ink) -> list[str]:
    if not found.count("survived"):
        return []
    words = "A survivor is a line that none of these invariants needs within these bounds, or an invariant is missing."
    return [ink("head", "Survivors"), *columns([[words]])]


def _left_out(found: Mutation, ink: Ink) -> list[str]:
    if not found.verdicts:
        return []
    lines = [
        [f"{plural(found.not_weaker, 'edit')} that forbid what the model does: no invariant of safety sees those"],
        [f"{plural(found.senseless, 'edit')} that make no model"],
    ]
    return [ink("head", "Not counted"), *columns(lines)]
