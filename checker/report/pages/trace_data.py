"""The traces of a result as the data of a page, each with the invariants or the property that it violates.

The runs of fixed designs as the data of a page. The page shows each run beside the trace of a violation.

A fixed design is a model with a fix. A *run* has those steps of the trace that the fixed design can take
(`checker/results/story.py`).

The recorded traces of a file as a page.

The page shows the part of each trace that the model allows, and the invariant or property that the trace violates. It
always shows the first state, even if the model does not allow this state.
"""

from __future__ import annotations

from dataclasses import replace
from string import ascii_lowercase
from typing import Any

from isrcheck.checker.report.counterexample_text import choice_text, last_held_text
from isrcheck.checker.report.pages.page import page
from isrcheck.checker.report.pages.story_data import story
from isrcheck.checker.report.story_text import fix_search_text, fix_text, span, who
from isrcheck.checker.results.result import Instance, InvariantResult, PropertyResult, Result, Step, Trace, violated
from isrcheck.checker.results.state_text import data_text
from isrcheck.checker.results.story import Causes, Fix, Run
from isrcheck.checker.trace.replay_result import Replayed
from isrcheck.model.language.model import Model
from isrcheck.model.semantics.interpreter import Interpreter
from isrcheck.model.semantics.transition_system import shown


def beside(outcome: InvariantResult) -> list[dict[str, Any]]:
    """For each fixed design that has a run: its name, the story of its run, and how the run relates to the trace.

    The entry `parted` is the step at which the design differs from the trace. It is None if the design allows every
    step. The docstring of `Run` explains the entries `at` and `false`.
    """
    return [_beside(fix, fix.run) for fix in outcome.fixes if fix.run is not None]


def _beside(fix: Fix, run: Run) -> dict[str, Any]:
    steps = tuple(Step(taken.label, taken.actor, taken.state) for taken in run.taken)
    return {
        "control": who(fix),
        "story": story(run.model, Trace(tuple(run.model.domains.items()), steps)),
        "at": list(run.at),
        "parted": fix.step,
        "false": run.false,
    }


def page_traces(result: Result, model: Model) -> dict[str, Any]:
    """The traces by number from 1, each with the invariants or the property that it violates.

    Traces that violate invariants come first, from the shortest to the longest. Invariants with equal traces share one
    trace. Then come the traces that violate properties, also from the shortest to the longest. The trace to an
    evaluation error comes last.
    """
    found: list[tuple[Trace, dict[str, Any]]] = []
    for name, outcome in violated(result):
        assert outcome.trace is not None
        known = [pages for trace, pages in found if trace == outcome.trace]
        if not known:
            known = [page_trace(model, outcome.trace) | {"beside": beside(outcome)}]
            found.append((outcome.trace, known[0]))
        known[0]["falsified"].append(falsified(name, outcome))
    pages = [pages for _, pages in found]
    for each in pages:
        each["title"] = "Counterexample: " + ", ".join(one["name"] for one in each["falsified"])
    lassos = [
        (broken.trace, name, broken) for name, broken in sorted(result.liveness.items()) if broken.trace is not None
    ]
    for trace, name, broken in sorted(lassos, key=lambda each: each[0].length):
        lasso = page_trace(model, trace)
        lasso["falsified"].append(falsified_property(name, broken))
        pages.append(lasso | {"title": f"Counterexample: {name}{choice_text(broken)}"})
    if result.evaluation is not None:
        failing = page_trace(model, result.evaluation.trace)
        pages.append(failing | {"title": "Evaluation error: how to get there"})
    return {str(i): each for i, each in enumerate(pages, 1)}


def page_trace(model: Model, trace: Trace) -> dict[str, Any]:
    """A trace in the form that the script of a page reads."""
    return {**story(model, trace), "title": "Trace", "falsified": [], "beside": [], "for_ever": trace.loop is not None}


def falsified(name: str, outcome: InvariantResult) -> dict[str, Any]:
    """A violated invariant as data of a page."""
    assert outcome.trace is not None
    about = {
        "name": name,
        "sentence": outcome.sentence,
        "notes": [line.strip() for line in last_held_text(outcome)],
        "reasons": _causes(outcome.causes),
        "needs": {} if outcome.causes is None else outcome.causes.to_json()["needs"],
        "fixes": [_fix(fix) for fix in outcome.fixes],
        "alternatives": "\n".join(line[2:] for line in fix_search_text(outcome.fix_search)),
    }
    return about | instance_data(outcome.instance, outcome.trace)


def _causes(causes: Causes | None) -> dict[str, Any] | None:
    """The reasons for a violation as data of a page: each has a letter, its steps, and its facts in words."""
    if causes is None:
        return None
    each_reason = [
        {
            "letter": ascii_lowercase[i % len(ascii_lowercase)],
            "end": reason.end,
            "steps": list(reason.steps),
            "facts": [fact.text for fact in reason.facts],
            "way": span(step for step in reason.steps if step != reason.end),
        }
        for i, reason in enumerate(causes.causes)
    ]
    start = [fact.text for fact in causes.from_the_start]
    return {"at_once": list(causes.at_once), "each": each_reason, "from_the_start": start}


def _fix(fix: Fix) -> dict[str, Any]:
    """A fix as data of a page: the step at which it acts, and the lines about it."""
    title, *lines = (line.strip() for line in fix_text(fix))
    return {"step": fix.step, "title": title, "lines": lines}


def falsified_property(name: str, outcome: PropertyResult) -> dict[str, Any]:
    """A violated property as data of a page. If its trace is a lasso, the entry `notes` says why the lasso is fair."""
    notes = [f"{promise} cannot happen in state {state}" for promise, state in outcome.kept]
    said: dict[str, Any] = {"reasons": None, "needs": {}, "fixes": [], "alternatives": "", "choice": [], "reads": []}
    return {"name": name, "sentence": outcome.sentence, "notes": notes, **said}


def instance_data(instance: Instance | None, trace: Trace) -> dict[str, Any]:
    """The choice of `for_all` that makes a predicate false, and the values that the predicate then reads, as texts."""
    if instance is None:
        return {"choice": [], "reads": []}
    return {
        "choice": [[name, shown(value)] for name, value in instance.choice],
        "reads": [[path, data_text(trace.variables, path, data)] for path, data in instance.reads],
    }


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
    each_reason = page_trace(interpreter.model, allowed)
    refused = [] if refusal is None else each.text().splitlines()
    found = [] if each.invariant_result is None else [falsified(each.recorded.title, each.invariant_result)]
    if each.broken is not None:
        found = [falsified_property(each.recorded.title, each.broken)]
    if each.against is not None:
        refused = each.text().splitlines()
    each_reason["beside"] = [] if each.invariant_result is None else beside(each.invariant_result)
    return {**each_reason, "title": each.recorded.title, "falsified": found, "refused": refused}
