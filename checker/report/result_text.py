"""The report of a check as text: the verdict, its basis (settings, search, vacuity), then each counterexample.

The text depends only on the result, and not on the width of a terminal.
"""

from __future__ import annotations

from isrcheck.checker.report.counterexample_text import (
    choice_text,
    evaluation_text,
    lasso_text,
    liveness_lines,
    property_text,
    property_violation_text,
    violations_text,
)
from isrcheck.checker.results.result import Exit, InvariantResult, Result, violated
from isrcheck.checker.results.text_layout import PLAIN, Ink, columns, number, plural, seconds, size
from isrcheck.model.language.setting_constraints import said


def report(result: Result, ink: Ink = PLAIN, plain: bool = False) -> str:
    """The text of the whole report, ending in a newline. With `plain` it shows variables instead of stories."""
    sections = [
        [verdict_line(result, ink)],
        _change(result, ink),
        _uncovered(result, ink),
        _settings(result, ink),
        _invariants(result, ink),
        liveness_lines(result, ink),
        _search(result, ink),
        _actions(result, ink),
        _vacuity(result, ink),
        _cost(result, ink),
        *counterexamples(result, ink, plain),
    ]
    return "\n\n".join("\n".join(lines) for lines in sections if lines) + "\n"


# --- the verdict ----------------------------------------------------------------------------------------------------


def verdict_line(result: Result, ink: Ink = PLAIN) -> str:
    """The verdict of a check in one line."""
    about = subject(result)
    if result.evaluation is not None:
        failure = result.evaluation
        return f"{ink('bad', 'EVALUATION ERROR')}  {about}: {failure.where}: {failure.what}"
    if result.verdict == "violated":
        return f"{ink('bad', 'VIOLATED')}  {about}: {_violations(result)}"
    if result.verdict == "incomplete":
        so_far = f"no violation in {_explored(result)}, depth {result.depth}"
        if not result.counted:
            so_far = f"no violation within {plural(result.depth - 1, 'step')}" if result.depth else "nothing is known"
        reason = result.reason or "the search did not finish"
        return f"{ink('open', 'INCOMPLETE')}  {about}: {reason}; {so_far}{_inactive(result)}"
    if result.asks_nothing:
        explored = f"all of {_explored(result)}, depth {result.depth}"
        what = "there is no invariant to check, and no property or deadlock was asked"
        return f"{ink('open', 'NOTHING ASKED')}  {about}: {what}; {explored}{_vacuously(result)}"
    return f"{ink('good', 'HOLDS')}  {about}: {_holding(result)}{_vacuously(result)}{_inactive(result)}"


def subject(result: Result) -> str:
    """The name of the model, and the release of the real system that it describes."""
    return result.model if result.system is None else f"{result.model} ({result.system})"


def _violations(result: Result) -> str:
    found = [
        f"{name} in {plural(outcome.trace.length, 'state')}" + ("" if outcome.canonical else " (not canonical)")
        for name, outcome in violated(result)
        if outcome.trace is not None
    ]
    broken = [(name, outcome) for name, outcome in result.liveness.items() if outcome.trace is not None]
    return ", ".join([*found, *(f"{name}{choice_text(f)} {lasso_text(f)}" for name, f in broken)])


def _holding(result: Result) -> str:
    names = [*result.invariants, *(["no deadlock"] if result.deadlock else []), *result.liveness]
    return f"{', '.join(names)}; all of {_explored(result)}, depth {result.depth}"


def _explored(result: Result) -> str:
    """The number of explored states as text. With symmetry, the number of orbits comes first."""
    if result.orbits is None:
        return plural(result.distinct, "state")
    return f"{plural(result.distinct, 'orbit')} ({plural(result.orbits.distinct, 'state')})"


def _unit(result: Result) -> str:
    """The unit of the counts: a state, or an orbit if there is symmetry."""
    return "state" if result.orbits is None else "orbit"


def _vacuously(result: Result) -> str:
    if result.exit_code != Exit.DIFFERENCE:
        return ""
    parts = ("never seen", _never(result)), ("nothing shown by", nothing_shown_by(result))
    said = [f"{what}: {', '.join(names)}" for what, names in parts if names]
    return f"; vacuous, {'; '.join(said)}" if said else ""


def nothing_shown_by(result: Result) -> list[str]:
    """The properties that hold only vacuously, or only because every behaviour is excused."""
    return [name for name, outcome in result.liveness.items() if outcome.shows_nothing]


def _inactive(result: Result) -> str:
    """The end of a verdict line that says that the change of the model never acts; empty if it acts."""
    if result.change is None or not result.change.never:
        return ""
    if result.left and result.change.parts:
        return "; your change has not acted so far"
    asked = "" if result.change.added else ": nothing was asked about it"
    sizes = ", ".join(f"{name}={said(value)}" for name, value in result.change.sizes.items())
    return f"; your change never acts at these settings{f': only bounds differ, {sizes}' if sizes else asked}"


def _change(result: Result, ink: Ink) -> list[str]:
    lines = change_lines(result)
    return [ink("head", "Your change"), *columns([line] for line in lines)] if lines else []


def change_lines(result: Result) -> list[str]:
    """The lines about a changed model: what was changed, and at which depth the change first acts."""
    change = result.change
    if change is None:
        return []
    settings = [f"{n}={said(here)} (without it {said(base)})" for n, (here, base) in change.settings.items()]
    lines = [", ".join(settings)] if settings else []
    if change.sizes:
        sizes = ", ".join(f"{name}={said(value)}" for name, value in change.sizes.items())
        lines.append(f"compared with {change.base} at the same bounds: {sizes}")
    if change.added:
        lines.append(f"asks what {change.base} does not: {', '.join(change.added)}")
    if change.first is not None:
        acting = sorted((level, name) for name, level in change.parts.items() if level is not None)
        silent = [name for name, level in change.parts.items() if level is None]
        lines.append(
            f"acts first at depth {change.first}: {', '.join(n for level, n in acting if level == change.first)}"
        )
        later = [f"{name} at {level}" for level, name in acting if level != change.first]
        lines += [f"later: {', '.join(later)}"] if later else []
        lines += [f"not seen: {', '.join(silent)}"] if silent else []
    elif change.never:
        states = f"in none of the {_explored(result)}" + (" explored so far" if result.left else "")
        same = (
            f"; {', '.join(change.parts)} would differ" if change.parts else f": the steps are those of {change.base}"
        )
        lines.append(f"acts {states}{same}")
    elif not change.unlocated:
        lines.append(f"the steps are those of {change.base}")
    return lines + [f"not known whether it acts: {why}" for why in change.unlocated]


def _never(result: Result) -> list[str]:
    """The actions that never fired and the goals that were never reached."""
    return [f"action {n}" for n in result.actions_never_fired] + [f"goal {n}" for n in result.goals_never_reached]


def _uncovered(result: Result, ink: Ink) -> list[str]:
    lines = uncovered(result)
    return [ink("head", "Not covered"), *columns([line] for line in lines)] if lines else []


def uncovered(result: Result) -> list[str]:
    """The lines about what a search has not explored. There are none if the search explored everything.

    If the engine does not count states, it examines only paths up to some depth. So there is always a line.
    """
    if not result.counted:
        reason = [f"the search stopped: {result.reason}"] if result.reason and result.verdict != "incomplete" else []
        return [*reason, f"nothing is known beyond depth {result.depth}"]
    if result.verdict != "incomplete" and result.left == 0 and result.partial is None:
        return []
    lines = [
        f"{plural(result.left, _unit(result))} found but not expanded; nothing is known beyond depth {result.depth}"
    ]
    if result.partial is not None:
        seen, at = result.partial.get("distinct", 0), result.partial.get("level", result.depth + 1)
        some = f"{plural(seen, _unit(result))} of depth {at} also seen, but not counted (not reproducible)"
        lines.append(some if seen else f"depth {at} was started; none of its states is counted")
    lines += _size_estimate(result)
    if result.reason and result.verdict != "incomplete" and result.reason != result.failure:
        lines.insert(0, f"the search stopped: {result.reason}")
    return lines


def _size_estimate(result: Result) -> list[str]:
    """The line that forecasts the size of the whole state space, if the levels allow an estimate."""
    if result.extra.get("forecast") is None:
        return []
    expected = result.extra["forecast"]
    words = {"states": number, "seconds": seconds, "store_bytes": size}
    names = {"states": " states in total", "seconds": " at the current speed", "store_bytes": " of states"}
    estimates = [f"{words[n](e['low'])} to {words[n](e['high'])}{names[n]}" for n, e in expected.items()]
    return [f"estimate from the growth of levels: {', '.join(estimates)}"]


# --- what the verdict rests on --------------------------------------------------------------------------------------


def _settings(result: Result, ink: Ink) -> list[str]:
    if not result.settings:
        return []
    rows = [(name, said(value), note_on(result, name, result.bound(name))) for name, value in result.settings.items()]
    return [ink("head", settings_heading(result)), *columns(rows)]


def settings_heading(result: Result) -> str:
    """The heading of the settings, with their profile if there is one."""
    return "Settings" if result.profile is None else f"Settings (profile {result.profile})"


def note_on(result: Result, name: str, bound: str) -> str:
    """The note on a setting. If the setting has no effect, the note says this.

    Otherwise the note says what the setting leaves out, and then repeats `bound` (such as `bound hit`).
    """
    if name in result.inert:
        return f"no effect: {result.inert[name]}"
    left_out = [f"leaves out {result.left_out[name]}"] if name in result.left_out else []
    return "; ".join([*left_out, *([bound] if bound else [])])


def _invariants(result: Result, ink: Ink) -> list[str]:
    rows = [(name, invariant_text(outcome, result)) for name, outcome in result.invariants.items()]
    if result.deadlock is not None:
        rows.append(("no deadlock", invariant_text(result.deadlock, result)))
    rows += [(name, f"not checked by default: --invariant {name}") for name in result.unchecked]
    return [ink("head", "Invariants"), *columns(rows or [("none", "")])]


def invariant_text(outcome: InvariantResult, result: Result) -> str:
    """The verdict on an invariant, in a few words."""
    if outcome.verdict == "violated" and outcome.trace is not None:
        otherwise = (
            ", found in an unfinished level" if result.counted else ", perhaps not the canonical one of this length"
        )
        exact = "" if outcome.canonical else otherwise
        return f"violated, trace of {plural(outcome.trace.length, 'state')}{exact}"
    if outcome.verdict == "incomplete":
        return f"incomplete, no violation up to depth {outcome.checked_depth}"
    return "holds"


def _search(result: Result, ink: Ink) -> list[str]:
    if not result.counted:
        rows = [("depth", number(result.depth)), ("states", "not enumerated")]
        return [ink("head", f"Search ({result.engine} engine)"), *columns(rows)]
    rows = [
        *_symmetry(result),
        ("distinct", number(result.distinct)),
        ("generated", number(result.generated_total)),
        ("depth", number(result.depth)),
        ("left", number(result.left)),
    ]
    if result.rejected:
        rows.append(("outside constraints", number(result.rejected)))
    if result.degrees is not None:
        least, mean, greatest = result.degrees
        rows.append(("out-degree", f"min {least}, mean {mean:.2f}, max {greatest}"))
    workers = plural(result.workers, "worker")
    return [ink("head", f"Search ({result.engine} engine, {workers})"), *columns(rows)]


def _symmetry(result: Result) -> list[tuple[str, str]]:
    """The rows about symmetry: the interchangeable values, and what is counted."""
    if result.orbits is None:
        return []
    alike: dict[str, list[str]] = {}
    for members in result.orbits.classes:
        alike.setdefault(f"{members[0][0]}s", []).append(", ".join(str(number) for _, number in members))
    said = " and ".join(f"{of} {' and '.join(classes)}" for of, classes in alike.items())
    return [
        ("interchangeable", f"{said}: {plural(result.orbits.permutations, 'permutation')}"),
        ("counted", f"orbits, of {plural(result.orbits.distinct, 'state')}"),
    ]


def _actions(result: Result, ink: Ink) -> list[str]:
    absent = result.actions_without_instance
    counts = result.generated if result.counted else {}
    rows = [(name, number(sum(levels))) for name, levels in counts.items() if name not in absent]
    return [ink("head", "Generated per action"), *columns(rows, right=(1,))] if rows else []


def _vacuity(result: Result, ink: Ink) -> list[str]:
    return [ink("head", "Vacuity"), *columns([line] for line in vacuity(result))]


def vacuity(result: Result) -> list[str]:
    """The lines about actions that never fired and goals that were never reached.

    An invariant may hold only because these actions never fired.
    """
    if not result.counted:
        return ["unknown: use another engine to see which actions fire"]
    so_far = " so far" if result.left else ""
    lines = [f"warning: action {name} has never fired{so_far}" for name in result.actions_never_fired]
    lines += [f"warning: goal {name} was never reached{so_far}" for name in result.goals_never_reached]
    fired = "every action fired" + (", every goal was reached" if result.goals else "")
    absent = [*result.actions_without_instance, *(f"goal {name}" for name in result.goals_switched_off)]
    off = [f"disabled by the settings: {', '.join(absent)}"] if absent else []
    return [*(lines or [fired]), *off]


def brief(result: Result, ink: Ink = PLAIN) -> str:
    """The verdict in one line. If nothing is wrong, further lines have warnings and what the settings leave out.

    The warnings name the actions that never fired and the goals that were never reached. They also name the properties
    that hold only vacuously, or with excused ends or components (docs/explanation/liveness.md). If the verdict line
    itself names actions and goals that were never seen, there is no further line.
    """
    unproblematic = result.verdict != "violated" and result.evaluation is None
    never = _never(result) if result.counted and unproblematic and not _vacuously(result) else []
    warning = [f"warning: never seen{' so far' if result.left else ''}: {', '.join(never)}"] if never else []
    left_out = [f"left out: {', '.join(result.left_out.values())}"] if result.left_out and unproblematic else []
    held = {name: property_text(outcome) for name, outcome in result.liveness.items() if outcome.verdict == "holds"}
    only_so = [f"warning: {name} {text}" for name, text in held.items() if text != "holds" and unproblematic]
    change = result.change if result.verdict == "holds" else None
    unknown = change is not None and change.first is None and bool(change.unlocated)
    located = [f"warning: {line}" for line in change_lines(result)[-1:]] if unknown else []
    return "\n".join([verdict_line(result, ink), *warning, *only_so, *left_out, *located]) + "\n"


def _cost(result: Result, ink: Ink) -> list[str]:
    spent = ", ".join(f"{name} {seconds(s)}" for name, s in result.seconds.items())
    rows = [("time", spent or "not measured"), ("peak memory", size(result.peak_rss_bytes))]
    if result.store_bytes and result.distinct:
        rows.append(
            ("states", f"{size(result.store_bytes)}, {result.store_bytes / result.distinct:.0f} bytes {_each(result)}")
        )
    if result.counted:
        rows.append(("speed", f"{number(round(result.states_per_second))} {_unit(result)}s/s"))
    return [ink("head", "Cost"), *columns(rows)]


def _each(result: Result) -> str:
    return "a state" if result.orbits is None else "an orbit"


def counterexamples(result: Result, ink: Ink, plain: bool) -> list[list[str]]:
    """The different counterexamples, each with the invariants or the property that it violates.

    The counterexamples to invariants come first. The trace to an evaluation error comes last.
    """
    by_trace: list[list[tuple[str, InvariantResult]]] = []
    for name, outcome in violated(result):
        same = [group for group in by_trace if group[0][1].trace == outcome.trace]
        if same:
            same[0].append((name, outcome))
        else:
            by_trace.append([(name, outcome)])
    sections = [violations_text(group, ink, plain) for group in by_trace]
    broken = [(name, outcome) for name, outcome in result.liveness.items() if outcome.trace is not None]
    sections += [property_violation_text(name, outcome, ink, plain) for name, outcome in broken]
    if result.evaluation is not None:
        sections.append(evaluation_text(result.evaluation, ink, plain))
    return sections
