"""Results as rows, which pandas and Polars accept directly."""

from __future__ import annotations

from typing import Any

from isrcheck.checker.results import Result, Trace
from isrcheck.checker.wording.values import label_text, parts


def trace_rows(trace: Trace) -> list[dict[str, Any]]:
    """A row for each state of a trace: its position from 1, the actor, the action, and each part of the state.

    The action and the parts are text.
    """
    return [
        {
            "state": position,
            "actor": step.actor,
            "action": None if step.label is None else label_text(step.label),
            **dict(parts(trace.variables, step.state)),
        }
        for position, step in enumerate(trace.steps, 1)
    ]


def level_rows(result: Result) -> list[dict[str, Any]]:
    """A row for each level: its number from 1, the number of new states, and the number of enabled instances by action.

    If a search stopped early, its last levels were not expanded, and their rows have None for each action. If the
    engine counts no states, there are no rows.
    """
    return [
        {
            "level": level,
            "states": states,
            **{name: found[level - 1] if level <= len(found) else None for name, found in result.generated.items()},
        }
        for level, states in enumerate(result.levels, 1)
    ]
