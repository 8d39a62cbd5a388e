"""Chooses the counterexample for a file that can show only one trace, such as an ITF file or a diagram."""

from __future__ import annotations

from isrcheck.checker.results import Result, Trace


def counterexample(result: Result) -> tuple[str, str | None, Trace] | None:
    """One counterexample: its claim, the name of the invariant or property, and its trace. None if there is none.

    The claim is "violation", "deadlock", "liveness" or "evaluation". The name is None for a deadlock and an evaluation
    error. The counterexample is the shortest trace of a violation or a deadlock, else the shortest trace of a violated
    property, else the trace of the evaluation error. Of traces of the same length, the first by name is taken. A
    deadlock is taken only if its trace is shorter than the traces of all violations.
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
