"""A review as sections: tables, sentences and blocks of text, for every form of output."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any, Final

from isrcheck.checker.analysis.inclusion.inclusion_check import Comparison
from isrcheck.checker.changes.mutation.mutation_run import Mutation
from isrcheck.checker.changes.mutation.mutation_table import headline as mutation_headline
from isrcheck.checker.changes.mutation.mutation_table import how, shortened
from isrcheck.checker.changes.review.change_review import Review, review_summary
from isrcheck.checker.changes.review.model_differences import ChangedFunction
from isrcheck.checker.changes.review.verdict_differences import Row, Turned
from isrcheck.checker.proofs.proof_result import ProofResult
from isrcheck.checker.report.github import escaped, fenced
from isrcheck.checker.report.inclusion_text import endings_text, inclusion_summary
from isrcheck.checker.report.pages.page import page
from isrcheck.checker.report.pages.trace_data import page_trace
from isrcheck.checker.results.text_layout import PLAIN, Ink, columns, plural

WORDS: Final = {
    "alone": "one side only",
    "mended": "fixed",
    "open": "undecided",
    "other": "different trace",
    "otherwise": "checked differently",
}
"""Words for the turns (kinds of change of a verdict) whose own names would not be clear."""

MEANINGS: Final = {
    "requires otherwise": "changed guards",
    "does otherwise": "changed effects",
    "requires and does otherwise": "changed guards and effects",
}
"""Words for changes of actions whose own names would not be clear."""


@dataclass(frozen=True)
class Section:
    """A title, a table with its head, sentences below the table, and titled blocks of text that can be opened."""

    title: str
    head: tuple[str, ...] = ()
    rows: tuple[tuple[str, ...], ...] = ()
    lines: tuple[str, ...] = ()
    blocks: tuple[tuple[str, str], ...] = ()


def sections(found: Review) -> list[Section]:
    """All sections of a review, except empty ones."""
    made = [
        *_settings(found),
        *_fairness(found),
        *_text(found),
        _verdicts(found),
        *_scenarios(found),
        _inclusion(found.inclusion),
    ]
    if found.guards is not None:
        made.append(_guards(found.guards))
    if found.proofs is not None:
        made.append(_proofs(found, found.proofs))
    return made


def _settings(found: Review) -> Iterator[Section]:
    if not found.settings:
        return
    declared = type(found.old.model).declared_settings() | type(found.new.model).declared_settings()
    rows = tuple((name, one or "-", two or "-", declared[name].meaning) for name, one, two in found.settings)
    yield Section("Different settings", ("setting", "before", "after", "meaning"), rows)


def _fairness(found: Review) -> Iterator[Section]:
    rows = found.questions.fairness
    if rows:
        yield Section("Different fairness", ("action", "before", "after"), rows)


def _text(found: Review) -> Iterator[Section]:
    text = found.text
    asked = found.questions
    if not (text.changed or text.new or text.gone or text.actions or asked.predicates or asked.states):
        return
    rows = [row for function in text.changed for row in _function(function)]
    lines = [f"{word}: {', '.join(names)}" for word, names in (("New", text.new), ("Gone", text.gone)) if names]
    meanings: dict[str, list[str]] = {}
    for action, meaning in text.actions:
        meanings.setdefault(MEANINGS.get(meaning, meaning), []).append(action)
    lines += [f"Actions, {meaning}: {', '.join(names)}" for meaning, names in sorted(meanings.items())]
    if asked.states:
        lines.append(f"States changed by: {', '.join(asked.states)}")
    if asked.predicates:
        lines.append(f"Checked differently: {', '.join(sorted(asked.predicates))}")
    blocks = tuple((f"{f.name} ({f.where})", "\n".join(f.lines)) for f in text.changed)
    yield Section("Changed code", ("function", "guard", "", "where"), tuple(rows), tuple(lines), blocks)


def _function(function: ChangedFunction) -> Iterator[tuple[str, ...]]:
    name = function.name if function.before == function.name else f"{function.name}, was {function.before}"
    if not function.lost and not function.added:
        yield name, "changed, with the same guards", "", function.where
    for guards, word in ((function.lost, "no more"), (function.added, "now")):
        for guard in guards:
            yield name, guard.text, word, guard.where


def _verdicts(found: Review) -> Section:
    order = ("broken", "mended", "vacuous", "otherwise", "other", "open", "alone")
    unknown = [row for row in found.turned("open") if row.before == row.after]
    turned = [row for turn in order for row in found.turned(turn) if row not in unknown]
    rows = tuple((_turn(row), row.name, *(x.text if x else "-" for x in (row.before, row.after))) for row in turned)
    same = found.turned("same")
    holding = [(row.name, row.after) for row in same if row.after and row.after.verdict == "holds"]
    held = [name + (f" ({answer.note})" if answer.note else "") for name, answer in holding]
    kept = [f"{row.name} ({row.after.text})" for row in same if row.after and row.after.verdict == "violated"]
    lines = [
        f"{word}: {', '.join(names)}"
        for word, names in (
            ("Hold before and after", held),
            ("Violated before and after", kept),
            ("Undecided before and after", [row.name for row in unknown]),
        )
        if names
    ]
    states = [f"{'all' if whole else 'the first'} {plural(count, 'state')}" for count, whole in found.states]
    if found.questions.narrower:
        names = ", ".join(found.questions.narrower)
        lines.append(
            f"The new version is explored less ({names}): a violation that disappears for this reason is not fixed"
        )
    lines.append(f"Explored: {states[0]} before, {states[1]} after, with these settings")
    return Section("Invariants and properties", ("", "name", "before", "after"), rows, tuple(lines))


def _turn(row: Row | Turned) -> str:
    if row.turn == "other" and isinstance(row, Row) and row.before is not None and row.before.vacuous:
        return "no longer vacuous"
    return WORDS.get(row.turn, row.turn)


def _scenarios(found: Review) -> Iterator[Section]:
    asked = found.scenarios
    if asked is None or not (asked.asked or asked.not_asked or asked.unread):
        return
    rows = tuple((_turn(x), x.name, x.before, x.after) for x in asked.turned)
    count = len(found.recorded("open"))
    left = f", {count} open" if count else ""
    turn = len(rows) - count
    lines = [
        f"{plural(asked.asked, 'recorded scenario')} of these models checked with both, {turn} with a "
        f"changed verdict{left}"
    ]
    reasons: dict[str, list[str]] = {}
    for name, why in asked.not_asked:
        reasons.setdefault(why, []).append(name)
    lines += [f"Not checked, because {why}: {', '.join(names)}" for why, names in reasons.items()]
    lines += [f"Not checked: {why}" for why in asked.unread]
    yield Section("Scenarios with a changed verdict", ("", "scenario", "before", "after"), rows, tuple(lines))


def _inclusion(found: Comparison) -> Section:
    lines = [
        f"{inclusion_summary(found)[0].upper()}{inclusion_summary(found)[1:]}",
        f"Compared by changes of {', '.join(found.visible)}",
    ]
    blocks = []
    for way, word, mine, other in ((found.new, "new", found.b, found.a), (found.gone, "gone", found.a, found.b)):
        if way.endings is not None:
            text_lines = endings_text(way.endings, mine.name, other.name)
            blocks.append((f"What is {word}", "\n".join(text_lines).strip("\n")))
    return Section("Behaviours", lines=tuple(lines), blocks=tuple(blocks))


def _guards(found: Mutation) -> Section:
    quiet = ("survived", "forbids", "unread", "nothing new")
    open_ones = [v for v in found.verdicts if v.outcome in quiet and v.touches != "update"]
    rows = tuple((v.outcome, v.action, v.edit.where, v.edit.words, how(v)) for v in open_ones)
    head = ("outcome", "action", "line", "change", "")
    return Section(
        "Guards that no invariant or property needs", head, rows, (" ".join(mutation_headline(found).split()),)
    )


def _proofs(found: Review, proofs: tuple[ProofResult, ProofResult]) -> Section:
    rows, lines = [], []
    for side, proof in zip((found.old, found.new), proofs, strict=True):
        by = f"{len(proof.lemmas)} lemmas" if proof.by == "lemmas" else f"induction over {proof.k or 1}"
        rows.append((side.name, proof.verdict, by, ", ".join(proof.targets)))
        broken = [f"{each.goal} after {each.action}" for each in proof.failing]
        lines += [f"{side.name} does not preserve: {', '.join(broken)}"] if broken else []
        lines += [f"{side.name}: {proof.reason}"] if proof.reason else []
    return Section("Proofs", ("", "verdict", "by", "of"), tuple(rows), tuple(lines))


def text(found: Review, ink: Ink = PLAIN) -> list[str]:
    """A review as lines for a terminal, without the sections' blocks of text."""
    lines = list(review_summary(found))
    for section in sections(found):
        lines += ["", ink("head", section.title)]
        if section.rows:
            lines += columns([section.head, *(tuple(map(shortened, row)) for row in section.rows)])
        lines += [f"  {line}" for line in section.lines]
    return lines


def markdown(found: Review) -> str:
    """A review as Markdown for a pull request. The sections' blocks of text are included, but folded."""
    first, *more = review_summary(found)
    parts = [f"**{escaped(first)}**\n", *(f"{escaped(line)}\n" for line in more)]
    return "\n".join([*parts, *(line for section in sections(found) for line in _section(section))]) + "\n"


def _section(section: Section) -> Iterator[str]:
    yield f"### {escaped(section.title)}\n"
    if section.rows:
        yield _row(section.head)
        yield _row(["---"] * len(section.head), raw=True)
        yield from (_row(row) for row in section.rows)
        yield ""
    for line in section.lines:
        yield f"{escaped(line)}\n"
    for title, block in section.blocks:
        language = "diff" if block.startswith("@@") else "text"
        yield f"<details><summary>{escaped(title)}</summary>\n\n{fenced(block, language)}\n</details>\n"


def _row(cells: list[str] | tuple[str, ...], raw: bool = False) -> str:
    return "| " + " | ".join(cell if raw else escaped(cell) for cell in cells) + " |"


def review_page(review_summary: Sequence[str], sections: Sequence[Any], inclusion: Comparison) -> str:
    """The page of a review: the lines of `review_summary`, the sections, and behaviours that a reader can step through.

    Each section has the fields `title`, `head`, `rows`, `lines` and `blocks`.
    """
    stories = _stories(inclusion)
    title = f"{inclusion.a.name} -> {inclusion.b.name}"
    return page("review.html", stories, title=title, review_summary=review_summary, sections=sections, stories=stories)


def _stories(found: Comparison) -> dict[str, Any]:
    """The behaviours that only one of the two models has, as traces in the form that the script of a page reads."""
    sides = (("new", found.new, found.b, found.a), ("gone", found.gone, found.a, found.b))
    return {
        word: page_trace(mine.model, way.endings.trace)
        | {"title": f"{word.capitalize()}: {mine.name} allows this, {other.name} does not"}
        for word, way, mine, other in sides
        if way.endings is not None
    }
