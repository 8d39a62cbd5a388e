"""The report of a proof attempt as text: the verdict, its basis (settings, lemmas, checks), and what is not proved."""

from __future__ import annotations

from isrcheck.checker.proofs.obligations import DOMAINS, MEANING, PREDICATES, START, TARGET
from isrcheck.checker.proofs.proof_result import Counterexample, Failing, ProofResult
from isrcheck.checker.report.counterexample_text import trace_text, why_text
from isrcheck.checker.results.text_layout import PLAIN, Ink, columns, number, plural, seconds

SHOWN = 3
"""The number of counterexamples to induction that a report shows, unless the user asks for all."""


def report(result: ProofResult, ink: Ink = PLAIN, every: bool = False) -> str:
    """The text of the whole report of a proof attempt, ending in a newline."""
    sections = [
        [verdict_line(result, ink)],
        _settings(result, ink),
        _named("Proved" if result.verdict == "proved" else "To prove", result.targets, ink),
        _named(f"Lemmas ({len(result.lemmas)})", result.lemmas, ink),
        _dropped(result, ink),
        _named("Checks", result.checks, ink),
        _failing(result, ink),
        *_counterexamples(result, ink, every),
        _violation(result, ink),
        _cost(result, ink),
    ]
    return "\n\n".join("\n".join(lines) for lines in sections if lines) + "\n"


def verdict_line(result: ProofResult, ink: Ink = PLAIN) -> str:
    """The verdict of a proof attempt in one line."""
    names, how = ", ".join(result.targets), _how(result)
    match result.verdict:
        case "proved":
            return f"{ink('good', 'PROVED')}  {result.model}: {names}; {how}"
        case "violated":
            return f"{ink('bad', 'VIOLATED')}  {result.model}: {result.reason}"
        case "not proved":
            return f"{ink('bad', 'NOT PROVED')}  {result.model}: {names}: {result.reason}; {how}"
    return f"{ink('open', 'INCOMPLETE')}  {result.model}: {names}: {result.reason}; {how}"


def _how(result: ProofResult) -> str:
    by = (
        f"{result.k}-induction"
        if result.by == "induction"
        else f"{plural(len(result.lemmas), 'lemma')} of {result.proof}"
    )
    form = "without bounds" if result.form == "unbounded" else "with these settings"
    fixed = [f"{n} = {x}" for n, x in result.settings.items() if isinstance(x, int) and not isinstance(x, bool)]
    if result.form == "unbounded" and fixed:
        form = f"{form}, at {', '.join(fixed)}"
    versions = ", ".join(f"{name} {version}" for name, version in result.solvers.items())
    return f"by {by}, {form}, {number(result.obligations)} goals checked by {versions}"


def _settings(result: ProofResult, ink: Ink) -> list[str]:
    rows = [(name, str(x).lower() if isinstance(x, bool) else str(x)) for name, x in result.settings.items()]
    return [ink("head", "Settings"), *columns(rows)] if rows else []


def _named(title: str, sentences: dict[str, str], ink: Ink) -> list[str]:
    return [ink("head", title), *columns(sentences.items())] if sentences else []


def _dropped(result: ProofResult, ink: Ink) -> list[str]:
    lines = []
    if result.dropped:
        lines += [ink("head", "Dropped: not preserved by every step"), *columns([name] for name in result.dropped)]
    if result.redundant is not None:
        names = result.redundant or ["none"]
        lines += [ink("head", "Redundant: any one of these can be dropped"), *columns([name] for name in names)]
    return lines


def _failing(result: ProofResult, ink: Ink) -> list[str]:
    rows = [
        (f.action, "does not preserve" if f.action not in (START, TARGET) else "do not imply", f.goal, _instances(f))
        for f in result.failing
    ]
    return [ink("head", "Failed goals"), *columns(rows)] if rows else []


def _instances(failing: Failing) -> str:
    doubt = ", the solver gave up" if failing.answer == "unknown" else ""
    return f"{plural(len(failing.instances), 'instance')}{doubt}"


def _counterexamples(result: ProofResult, ink: Ink, every: bool) -> list[list[str]]:
    shown = [(f, f.counterexample) for f in result.failing if f.counterexample is not None]
    kept = shown if every else shown[:SHOWN]
    sections = [_counterexample(result, failing, found, ink) for failing, found in kept if found is not None]
    if len(kept) < len(shown):
        sections.append([f"{len(shown) - len(kept)} more counterexamples to induction; --all shows them"])
    return sections


def _counterexample(result: ProofResult, failing: Failing, found: Counterexample, ink: Ink) -> list[str]:
    what = "in which all assumptions hold" if failing.action != START else "at the start"
    head = f"Counterexample to induction: {failing.action} and {failing.goal}"
    lines = [ink("head", head), *trace_text(found.trace, ink, f"a state {what}")]
    if found.reachability is not None and failing.action != START:
        lines += ["", f"The first state is {found.reachability.text()}."]
    false = "false there" if failing.goal not in (MEANING, PREDICATES, DOMAINS) else "not so"
    lines += ["", f"{ink('bad', failing.goal)} is {false}: {failing.sentence}"]
    return lines + why_text(found.instance, found.trace)


def _violation(result: ProofResult, ink: Ink) -> list[str]:
    if result.violation is None:
        return []
    return [ink("head", "From an initial state"), *trace_text(result.violation, ink)]


def _cost(result: ProofResult, ink: Ink) -> list[str]:
    spent = ", ".join(f"{name} {seconds(s)}" for name, s in result.seconds.items())
    return [ink("head", "Cost"), *columns([("time", spent)])]
