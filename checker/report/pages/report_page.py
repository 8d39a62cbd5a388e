"""The report of a check as a page: verdict, interactive traces, settings and bounds, statistics with plots."""

from __future__ import annotations

from typing import Any, Final

from markupsafe import Markup

from isrcheck.checker.registry.loader import LoadedModel
from isrcheck.checker.report.counterexample_text import property_text
from isrcheck.checker.report.pages.page import page
from isrcheck.checker.report.pages.trace_data import page_traces
from isrcheck.checker.report.result_text import invariant_text, note_on, subject, uncovered, vacuity, verdict_line
from isrcheck.checker.results.drawing import Panel, plotted, svg
from isrcheck.checker.results.result import Result
from isrcheck.checker.results.text_layout import number, plural, seconds, size
from isrcheck.model.semantics.tracing import sentence_of
from isrcheck.model.semantics.transition_system import shown

PLOTTED: Final = 7
"""How many actions have their own colour in a plot. The others share one colour."""


def report_page(result: Result, loaded: LoadedModel) -> str:
    """The HTML of the page about a result."""
    stories = page_traces(result, loaded.cls(**result.settings))
    return page("report.html", stories, report=_report(result, loaded), stories=stories)


# --- what the verdict rests on --------------------------------------------------------------------------------------


def _report(result: Result, loaded: LoadedModel) -> dict[str, Any]:
    word, _, line = verdict_line(result).partition(f"  {subject(result)}: ")
    return {
        "word": word,
        "model": result.model,
        "verdict": result.verdict,
        "line": line,
        "sentence": sentence_of(loaded.cls),
        "system": result.system,
        "profile": result.profile,
        "uncovered": uncovered(result),
        "invariants": _invariants(result),
        "settings": [_setting(result, loaded, name, value) for name, value in result.settings.items()],
        "vacuity": vacuity(result),
        "numbers": _numbers(result),
        "plot": Markup(_plot(result)),
        "levels": [number(count) for count in result.levels],
        "actions": _actions(result, loaded),
    }


def _setting(result: Result, loaded: LoadedModel, name: str, value: Any) -> dict[str, Any]:
    """A setting as data of the page. `prominent` is true if a search hit the bound or the value is not the default."""
    declared, hit = loaded.cls.declared_settings()[name], result.bounds.get(name)
    return {
        "name": name,
        "value": shown(value),
        "meaning": declared.meaning,
        "bound": note_on(result, name, result.bound(name)),
        "prominent": hit is True or value != declared.default,
    }


def _invariants(result: Result) -> list[dict[str, str]]:
    found = dict(result.invariants)
    if result.deadlock is not None:
        found["no deadlock"] = result.deadlock
    rows = [(name, f.verdict, invariant_text(f, result), f.sentence) for name, f in found.items()]
    rows += [(name, f.verdict, property_text(f), f.sentence) for name, f in result.liveness.items()]
    return [dict(zip(("name", "verdict", "text", "sentence"), row, strict=True)) for row in rows]


def _numbers(result: Result) -> list[tuple[str, str]]:
    rows = [("engine", f"{result.engine}, {plural(result.workers, 'worker')}"), ("depth", number(result.depth))]
    if result.counted:
        rows += [
            ("distinct states", number(result.distinct)),
            ("generated", number(result.generated_total)),
            ("not expanded", number(result.left)),
        ]
        if result.rejected:
            rows.append(("outside constraints", number(result.rejected)))
        if result.degrees is not None:
            least, mean, greatest = result.degrees
            rows.append(("enabled actions per state", f"min {least}, mean {mean:.2f}, max {greatest}"))
    spent = ", ".join(f"{name} {seconds(s)}" for name, s in result.seconds.items())
    return [*rows, ("time", spent or "not measured"), ("peak memory", size(result.peak_rss_bytes))]


def _plot(result: Result) -> str:
    """The SVG plot of the states and the enabled instances of each level, or "" if the result has no counts."""
    if not result.counted or not result.levels:
        return ""
    labels = [str(level) for level in range(1, len(result.levels) + 1)]
    panels = [Panel("States per level", labels, {"states": result.levels})]
    expanded = max((len(counts) for counts in result.generated.values()), default=0)
    if expanded:
        panels.append(Panel("Enabled actions per level", labels[:expanded], _series(result, expanded)))
    return svg(plotted(panels), on_a_page=True)


def _series(result: Result, levels: int) -> dict[str, list[int]]:
    counts = {name: [*found, *[0] * (levels - len(found))] for name, found in result.generated.items()}
    by_size = sorted(counts, key=lambda name: (-sum(counts[name]), name))
    rest = [counts[name] for name in by_size[PLOTTED:]]
    series = {name: counts[name] for name in by_size[:PLOTTED]}
    return series | ({"all others": [sum(column) for column in zip(*rest, strict=True)]} if rest else {})


def _actions(result: Result, loaded: LoadedModel) -> list[dict[str, str]]:
    if not result.counted:
        return []
    counts = {n: sum(x) for n, x in result.generated.items() if n not in result.actions_without_instance}
    most, methods = max(counts.values(), default=0) or 1, loaded.cls.actions()
    return [
        {
            "name": name,
            "count": number(count),
            "share": f"{100 * count / most:.2f}",
            "sentence": sentence_of(methods[name]),
        }
        for name, count in sorted(counts.items(), key=lambda pair: (-pair[1], pair[0]))
    ]
