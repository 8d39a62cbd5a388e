"""The report of a result as a page, for a notebook or for a file.

Results as rows, which pandas and Polars accept directly.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from markupsafe import escape

from isrcheck.checker.report.outputs import Answered, model_of
from isrcheck.checker.results.result import Result, Trace
from isrcheck.checker.results.state_text import label_text, parts

if TYPE_CHECKING:
    from isrcheck.checker.registry.loader import LoadedModel
    from isrcheck.model.language.model import Model


@dataclass(frozen=True)
class Page:
    """The HTML of a page that is one file. A notebook shows the page in a frame that is `height` pixels high."""

    html: str = field(repr=False)
    height: int = 720

    def _repr_html_(self) -> str:
        # The sandboxed frame has an origin of its own, so the page's scripts cannot reach the notebook.
        attributes = f'sandbox="allow-scripts" width="100%" height="{self.height}" style="border: 0"'
        return f'<iframe srcdoc="{escape(self.html)}" {attributes}></iframe>'


def page(result: Result, model: str | type[Model] | Model | LoadedModel | None = None, *, height: int = 720) -> Page:
    """The page that `isrcheck check --html` writes. A notebook shows the page if this call is the last line of a cell.

    `model` is the model that was given to `check`. It can be left out for a shipped model, because the result has the
    name of the model. Raises the errors of `load_model_class`, and `UnknownName` if the result is of another model.
    """
    return Page(Answered(result, model_of(result, model)).to_html(), height)


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
