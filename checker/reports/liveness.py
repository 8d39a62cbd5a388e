"""Liveness as text: the verdict on each property, the assumed fairness, and the length of a violation."""

from __future__ import annotations

from collections.abc import Iterator

from isrcheck.checker.reports.counterexample import choice_text
from isrcheck.checker.results import PropertyFinding, Result
from isrcheck.checker.wording.layout import PLAIN, Ink, columns, number, plural
from isrcheck.model.language.fairness import Fairness


def liveness_lines(result: Result, ink: Ink = PLAIN) -> list[str]:
    """The lines about liveness: the fairness of the actions, then each property with its verdict."""
    if not result.liveness or result.fairness is None:
        return []
    rows = [row for name, finding in result.liveness.items() for row in _rows(name, finding)]
    return [ink("head", f"Liveness ({promised_text(result.fairness)})"), *columns(rows)]


def promised_text(fairness: Fairness) -> str:
    """The fairness that is assumed, as text: `weak fairness ...; strong: commit; unfair: fetch`."""
    named = [(name, sorted(getattr(fairness, name))) for name in ("strong", "weak", "unfair")]
    said = [f"{name}: {', '.join(actions)}" for name, actions in named if actions]
    return "; ".join([f"{fairness.default} fairness of healing actions unless their model says other", *said])


def _rows(name: str, finding: PropertyFinding) -> Iterator[tuple[str, str]]:
    yield name, property_text(finding)
    if finding.why is not None:
        return
    several = sum(1 for each in finding.asked if each.choice)
    asked = f"{plural(several, 'choice')} of parameters, " if several > 1 else ""
    so_far = "" if finding.canonical else ", of those explored"
    yield "", f"{asked}{plural(finding.total('region'), 'state')} in which it is open{so_far}; {_components(finding)}"
    if finding.verdict == "holds" and finding.fairness_used:
        yield "", f"because these are fair: {', '.join(finding.fairness_used)}"


def _components(finding: PropertyFinding) -> str:
    fair, unfair = finding.total("fair_components"), finding.total("unfair_components")
    ends = plural(finding.total("fair_ends"), "fair end")
    return f"{ends}, {plural(fair, 'fair component')}, {number(unfair)} unfair"


def property_text(finding: PropertyFinding) -> str:
    """The verdict on a property, in a few words."""
    if finding.verdict == "incomplete":
        return f"incomplete: {finding.why}"
    if finding.trace is not None:
        return f"violated{choice_text(finding)}, {lasso_text(finding)}"
    if finding.vacuous:
        return "holds, vacuously: its premise never comes true"
    ends, components = finding.total("excused_ends"), finding.total("excused_components")
    excused = " and ".join(plural(count, what) for count, what in ((ends, "end"), (components, "component")) if count)
    return f"holds; excused for want of room: {excused} (raise the bounds)" if excused else "holds"


def lasso_text(finding: PropertyFinding) -> str:
    """The length of a violation and how it ends, in words: `stuck after 6 states`."""
    trace = finding.trace
    assert trace is not None
    other = "" if finding.canonical else " (not canonical)"
    if trace.loop is None:
        return f"in {plural(trace.length, 'state')}{other}"
    if trace.stays:
        return f"stuck after {plural(trace.length, 'state')}{other}"
    cycle = plural(trace.length - trace.loop - 1, "step")
    return f"after {plural(trace.loop + 1, 'state')} round and round in {cycle}{other}"
