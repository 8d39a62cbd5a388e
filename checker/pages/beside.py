"""The runs of fixed designs as the data of a page. The page shows each run beside the trace of a violation.

A fixed design is a model with a fix. A *run* has those steps of the trace that the fixed design can take
(`checker/told.py`).
"""

from __future__ import annotations

from typing import Any

from isrcheck.checker.pages.stories import story
from isrcheck.checker.reports.reasons import who
from isrcheck.checker.results import Finding, Step, Trace
from isrcheck.checker.told import Fix, Run


def beside(finding: Finding) -> list[dict[str, Any]]:
    """For each fixed design that has a run: its name, the story of its run, and how the run relates to the trace.

    The entry `parted` is the step at which the design differs from the trace. It is None if the design allows every
    step. The docstring of `Run` explains the entries `at` and `false`.
    """
    return [_beside(fix, fix.run) for fix in finding.fixes if fix.run is not None]


def _beside(fix: Fix, run: Run) -> dict[str, Any]:
    steps = tuple(Step(taken.label, taken.actor, taken.state) for taken in run.taken)
    return {
        "control": who(fix),
        "story": story(run.model, Trace(tuple(run.model.domains.items()), steps)),
        "at": list(run.at),
        "parted": fix.step,
        "false": run.false,
    }
