"""The report of a result as a page, for a notebook or for a file."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from markupsafe import escape

from isrcheck.checker.checking import loaded_of
from isrcheck.checker.pages.report import report_page
from isrcheck.model.language import Model, UnknownName

if TYPE_CHECKING:
    from isrcheck.checker.library import LoadedModel
    from isrcheck.checker.results import Result


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
    loaded = loaded_of(type(model) if isinstance(model, Model) else result.model if model is None else model)
    if loaded.name != result.model:
        raise UnknownName(f"the result is of model {result.model}, not of {loaded.name}")
    return Page(report_page(result, loaded), height)
