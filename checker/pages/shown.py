"""The recorded traces of a file as a page.

The page shows the part of each trace that the model allows, and the invariant or property that the trace violates. It
always shows the first state, even if the model does not allow this state.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from isrcheck.checker.engines.interpreter import Interpreter
from isrcheck.checker.pages.beside import beside
from isrcheck.checker.pages.findings import falsified, falsified_property, told_trace
from isrcheck.checker.pages.page import page
from isrcheck.checker.traces.verdicts import Replayed
from isrcheck.model.language.model import Model
from isrcheck.model.language.system import shown


def shown_page(file: str, model: str, interpreter: Interpreter, replayed: list[Replayed]) -> str:
    """The page of a file's replayed traces. `model` is the name of their model."""
    stories = shown_stories(interpreter, replayed)
    settings = [setting_data(interpreter.model, name) for name in interpreter.model.settings]
    return page("show.html", stories, file=file, model=model, settings=settings, stories=stories)


def shown_stories(interpreter: Interpreter, replayed: list[Replayed]) -> dict[str, dict[str, Any]]:
    """Each trace as data of a page. The keys are the numbers of the traces, from 1."""
    return {str(i): _story(interpreter, each) for i, each in enumerate(replayed, 1)}


def setting_data(model: Model, name: str) -> dict[str, Any]:
    """A setting as data of the page. `prominent` is true if its value is not the default."""
    declared, value = model.declared_settings()[name], model.settings[name]
    about = {"name": name, "value": shown(value), "meaning": declared.meaning, "bound": ""}
    return about | {"prominent": value != declared.default}


def _story(interpreter: Interpreter, each: Replayed) -> dict[str, Any]:
    each = each.side_by_side()
    trace, refusal = each.outcome.trace, each.outcome.refusal
    allowed = trace if refusal is None else replace(trace, steps=trace.steps[: max(refusal.state - 1, 1)])
    told = told_trace(interpreter.model, allowed)
    refused = [] if refusal is None else each.text().splitlines()
    found = [] if each.finding is None else [falsified(each.recording.title, each.finding)]
    if each.broken is not None:
        found = [falsified_property(each.recording.title, each.broken)]
    if each.against is not None:
        refused = each.text().splitlines()
    told["beside"] = [] if each.finding is None else beside(each.finding)
    return {**told, "title": each.recording.title, "falsified": found, "refused": refused}
