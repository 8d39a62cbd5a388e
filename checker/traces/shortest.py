"""The counterexample of a result that its files show."""

from __future__ import annotations

from isrcheck.checker.results import Result, Trace


def counterexample(result: Result) -> tuple[str, str | None, Trace] | None:
    """One counterexample: its claim, the name of the invariant or property (if any), and its trace. None without one.

    The claim is "violation", "deadlock", "liveness" or "evaluation". The counterexample is the shortest trace of a
    violation or a deadlock, else the shortest lasso, else the trace of the evaluation error. Of traces of the same
    length, the first by name is taken. A deadlock is taken only if it is shorter than all violations.
    """
    found = [("violation", name, finding.trace) for name, finding in sorted(result.findings.items())]
    states: list[tuple[str, str | None, Trace | None]] = [*found]
    if result.deadlock is not None:
        states.append(("deadlock", None, result.deadlock.trace))
    lassos = [("liveness", name, finding.trace) for name, finding in sorted(result.liveness.items())]
    failures = [] if result.evaluation is None else [("evaluation", None, result.evaluation.trace)]
    for kind in (states, lassos, failures):
        shown = [(claim, name, trace) for claim, name, trace in kind if trace is not None]
        if shown:
            return min(shown, key=lambda each: each[2].length)
    return None
