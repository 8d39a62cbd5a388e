"""The report on a run of `isrcheck conform`, as lines of text."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from typing import Any

from isrcheck.checker.conformance.conformance_run import Outcome, Report, trace_of
from isrcheck.checker.report.counterexample_text import steps_text
from isrcheck.checker.results.text_layout import columns, plural
from isrcheck.checker.trace.narration import story
from isrcheck.model.semantics.transition_system import shown


def report_text(report: Report, plain: bool = False) -> list[str]:
    """The lines of the report: the verdict, the paths, the actions, and the path that shows the first difference."""
    lines = [headline(report), "", *_paths(report), "", *_actions(report)]
    if report.shown is not None:
        lines += ["", *_shown(report.shown, plain)]
    return lines


def headline(report: Report) -> str:
    differ = len(report.of("differs"))
    verdict = f"DOES NOT CONFORM: {plural(differ, 'path')} of" if differ else "CONFORMS:"
    count = f"{verdict} {plural(len(report.outcomes), 'path')}, {plural(report.steps, 'step')}"
    known = len(report.of("differs-as-is-known"))
    but = f"; {plural(known, 'path')} with known differences" if known else ""
    return f"{report.model} and Kafka {report.kafka}: {count}{but}"


def _paths(report: Report) -> Iterator[str]:
    words = {
        "conforms": "Conforming completely",
        "not-driven-to-its-end": "Conforming as far as they were run",
        "differs-as-its-settings-do": "Differing because of settings that do not describe this Kafka",
        "differs-as-is-known": "Differing in a known way, not run further",
        "differs": "Differing",
    }
    for verdict, text in words.items():
        found = report.of(verdict)
        if found:
            yield f"{text}: {plural(len(found), 'path')}"
            named = [x for x in found if verdict != "conforms" and (x.length is not None or verdict == "differs")]
            yield from columns([_row(x) for x in named], "  ")
            counts = Counter(x.known for x in found if x.known is not None)
            yield from columns([(words, plural(count, "path")) for words, count in counts.most_common()], "  ")
    kinds = Counter(_kind(x) for x in report.of("differs"))
    if len(kinds) > 1:
        yield "Kinds of difference:"
        yield from columns([(kind, plural(count, "path")) for kind, count in kinds.most_common()], "  ")


def _row(outcome: Outcome) -> tuple[str, ...]:
    of = "" if outcome.length is None else f" of {outcome.length}"
    at = f"step {outcome.driven.taken}{of}"
    if outcome.driven.unreached is not None:
        return outcome.name, at, f"not run further: {outcome.driven.unreached}"
    if outcome.left_out:
        steps = plural(outcome.left_out, "step")
        return outcome.name, at, f"{steps} skipped: refused by Kafka, or no longer possible"
    others = ", ".join(f"{name} = {shown(value)}" for name, value in outcome.of_others.items())
    return outcome.name, at, outcome.known or others or _kind(outcome)


def _kind(outcome: Outcome) -> str:
    difference, label = outcome.driven.difference, outcome.driven.steps[-1].label
    return f"{'start' if label is None else label.action}: {'' if difference is None else difference.kind}"


def _actions(report: Report) -> Iterator[str]:
    yield "How often each action was run:"
    yield from columns([(name, f"{count:,}") for name, count in sorted(report.actions.items())], "  ")
    yield f"Pairs of consecutive actions: {len(report.pairs):,}"
    if report.why:
        yield "Never run:"
        yield from columns(sorted(report.why.items()), "  ")
    elif report.never:
        yield f"Never run: {', '.join(report.never)}"
    yield "Not reached by the harness:"
    yield from columns(sorted(report.unreached.items()), "  ")
    if report.reached:
        yield "Coverage of Kafka's classes:"
        yield from columns([_reached(row) for row in report.reached], "  ")


def _reached(row: dict[str, Any]) -> tuple[str, ...]:
    methods, branches = ((row[name], row[f"of_{name}"]) for name in ("methods", "branches"))
    return row["class"], f"{methods[0]} of {methods[1]} methods", f"{branches[0]} of {branches[1]} branches"


def _shown(outcome: Outcome, plain: bool) -> Iterator[str]:
    """The path step by step, then the parts in which model and Kafka differ."""
    trace, difference = trace_of(outcome), outcome.driven.difference
    assert difference is not None
    yield f"The shortest path found to the difference in {outcome.name}:"
    yield from steps_text(trace, None if plain else story(outcome.model, trace))
    yield ""
    yield f"After state {difference.step + 1}:"
    rows = [("", "the model has", "Kafka has"), *((p, shown(a), shown(b)) for p, a, b in difference.rows())]
    yield from columns(rows, "  ")
