"""The report of random walks as text: the verdict, what the walks met, then each counterexample."""

from __future__ import annotations

from typing import Any

from isrcheck.checker.report.result_text import counterexamples, note_on, settings_heading, subject
from isrcheck.checker.report.result_text import verdict_line as line_of_a_search
from isrcheck.checker.results.result import NOT_EXPLORED, InvariantResult, Result
from isrcheck.checker.results.text_layout import PLAIN, Ink, columns, number, plural, seconds, size
from isrcheck.model.language.setting_constraints import said


def report(result: Result, ink: Ink = PLAIN) -> str:
    """The text of the whole report on the walks, ending in a newline."""
    sampling = result.extra["sampling"]
    sections = [
        [verdict_line(result, ink)],
        _uncovered(result, ink),
        _settings(result, sampling, ink),
        _invariants(result, sampling, ink),
        _walks(result, sampling, ink),
        _actions(result, sampling, ink),
        _goals(sampling, ink),
        _cost(result, sampling, ink),
        *counterexamples(result, ink, plain=False),
    ]
    return "\n\n".join("\n".join(lines) for lines in sections if lines) + "\n"


def verdict_line(result: Result, ink: Ink = PLAIN) -> str:
    """The verdict in one line. If no walk finds a mistake, this is INCOMPLETE, because walks may miss states."""
    if result.verdict != "incomplete" or result.evaluation is not None:
        return line_of_a_search(result, ink)
    sampling = result.extra["sampling"]
    visited = plural(sampling["states_visited"], "state")
    seed = f"seed {sampling['seed']}"
    met = f"no violation found in {plural(sampling['walks'], 'random walk')} over {visited} ({seed})"
    stopped = f"{result.reason}; " if not sampling["reproducible"] and result.reason else ""
    return f"{ink('open', 'INCOMPLETE')}  {subject(result)}: {stopped}{met}"


def brief(result: Result, ink: Ink = PLAIN) -> str:
    """The verdict in one line. If nothing is wrong, a second line names the actions and goals that no walk met."""
    sampling = result.extra["sampling"]
    never = [f"action {n}" for n in sampling["actions_never_taken"]]
    never += [f"goal {n}" for n in sampling["goals_never_reached"]]
    unproblematic = result.verdict != "violated" and result.evaluation is None and never
    warning = [f"warning: never seen in any walk: {', '.join(never)}"] if unproblematic else []
    return "\n".join([verdict_line(result, ink), *warning]) + "\n"


def _uncovered(result: Result, ink: Ink) -> list[str]:
    sampling = result.extra["sampling"]
    lines = ["random walks are samples: what they did not reach may be reachable, and no invariant is proved"]
    if not sampling["reproducible"]:
        lines.append("the end of the walks depended on time, so the same seed may reach more or less")
    return [ink("head", "Not covered"), *columns([line] for line in lines)]


def _settings(result: Result, sampling: dict[str, Any], ink: Ink) -> list[str]:
    notes = {name: note_on(result, name, _bound(result, sampling, name)) for name in result.settings}
    rows = [(name, said(value), notes[name]) for name, value in result.settings.items()]
    return [ink("head", settings_heading(result)), *columns(rows)] if rows else []


def _bound(result: Result, sampling: dict[str, Any], name: str) -> str:
    walks = sampling["bounds"].get(name)
    if name in result.bounds_not_explored:
        return NOT_EXPLORED
    return "" if walks is None else f"bound hit in {plural(walks, 'walk')}" if walks else "bound not hit"


def _invariants(result: Result, sampling: dict[str, Any], ink: Ink) -> list[str]:
    found = [*result.invariants.items(), *([("deadlock", result.deadlock)] if result.deadlock else [])]
    rows = [(name, _invariant_text(outcome, sampling["shortened"].get(name))) for name, outcome in found]
    return [ink("head", "Invariants"), *columns(rows or [("none", "")])]


def _invariant_text(outcome: InvariantResult, shortened: dict[str, Any] | None) -> str:
    if outcome.trace is None or shortened is None:
        return "incomplete, no violation found"
    walked, now = shortened["walked"], shortened["shortened"]
    how = f"shortened from {walked} to {now}" if now < walked else f"as walked, {now}"
    proved = "shortest" if shortened["shortest"] else "not proved shortest"
    return f"violated, trace of {plural(outcome.trace.length, 'state')} ({how}; {proved})"


def _walks(result: Result, sampling: dict[str, Any], ink: Ink) -> list[str]:
    error = 100 * sampling["distinct_standard_error"]
    rows = [
        ("seed", str(sampling["seed"])),
        ("walks", number(sampling["walks"])),
        ("states visited", number(sampling["states_visited"])),
        (
            "distinct",
            f"about {number(sampling['distinct_estimate'])} (estimated from fingerprints, standard error "
            f"{error:.1f} %)",
        ),
    ]
    if sampling["constraint_rejected"]:
        rows.append(("outside constraints", number(sampling["constraint_rejected"])))
    if sampling["lengths"] is not None:
        names = {"least": "min", "quarter": "25 %", "median": "median", "three_quarters": "75 %", "greatest": "max"}
        words = ", ".join(f"{word} {sampling['lengths'][name]}" for name, word in names.items())
        rows.append(("states per walk", f"{words}; limit {sampling['depth_limit']}"))
    ends = ", ".join(f"{number(count)} {words}" for words, count in sampling["ends"].items() if count)
    if ends:
        rows.append(("ended", ends))
    return [ink("head", f"Random walks ({plural(result.workers, 'worker')})"), *columns(rows)]


def _actions(result: Result, sampling: dict[str, Any], ink: Ink) -> list[str]:
    absent = result.actions_without_instance
    actions = [(n, number(a["taken"]), number(a["enabled"])) for n, a in sampling["actions"].items() if n not in absent]
    if not actions:
        return []
    return [ink("head", "Actions"), *columns([("", "taken", "enabled"), *actions], right=(1, 2))]


def _goals(sampling: dict[str, Any], ink: Ink) -> list[str]:
    rows = [(name, f"reached in {plural(n, 'walk')}") for name, n in sampling["goals"].items() if n]
    rows += [(name, "not reached in any walk") for name in sampling["goals_never_reached"]]
    rows += [(name, "never taken in any walk") for name in sampling["actions_never_taken"]]
    return [ink("head", "Goals, and actions that were never taken"), *columns(rows)] if rows else []


def _cost(result: Result, sampling: dict[str, Any], ink: Ink) -> list[str]:
    spent = ", ".join(f"{name} {seconds(s)}" for name, s in result.seconds.items())
    rate = sampling["states_visited"] / max(result.seconds.get("search", 0.0), 1e-9)
    rows = [("time", spent), ("peak memory", size(result.peak_rss_bytes)), ("speed", f"{number(round(rate))} states/s")]
    return [ink("head", "Cost"), *columns(rows)]
