"""The traces of a result as data of a page, and what is false at their ends."""

from __future__ import annotations

from typing import Any

from isrcheck.checker.pages.stories import story
from isrcheck.checker.reports.counterexample import blame_text
from isrcheck.checker.reports.text import violated
from isrcheck.checker.results import Finding, Instance, Result, Trace
from isrcheck.checker.wording.values import data_text
from isrcheck.model.language.model import Model
from isrcheck.model.language.system import shown


def told_traces(result: Result, model: Model) -> dict[str, Any]:
    """Each trace once, shortest first, with everything that is false at its end, numbered from 1."""
    found: list[tuple[Trace, dict[str, Any]]] = []
    for name, finding in violated(result):
        assert finding.trace is not None
        known = [told for trace, told in found if trace == finding.trace]
        if not known:
            known = [told_trace(model, finding.trace)]
            found.append((finding.trace, known[0]))
        known[0]["falsified"].append(falsified(name, finding))
    told = [told for _, told in found]
    for each in told:
        each["title"] = "Counterexample: " + ", ".join(one["name"] for one in each["falsified"])
    if result.evaluation is not None:
        failing = told_trace(model, result.evaluation.trace)
        told.append(failing | {"title": "Evaluation error: how to get there"})
    return {str(i): each for i, each in enumerate(told, 1)}


def told_trace(model: Model, trace: Trace) -> dict[str, Any]:
    """A trace as the script of a page reads it."""
    return {**story(model, trace), "title": "Trace", "falsified": []}


def falsified(name: str, finding: Finding) -> dict[str, Any]:
    """What a page says of something false; `culprits` are steps by the states that they lead to."""
    assert finding.trace is not None
    blamed = [] if finding.culprits is None else [i for i, yes in enumerate(finding.culprits, 2) if yes]
    about = {
        "name": name,
        "sentence": finding.sentence,
        "notes": [line.strip() for line in blame_text(finding)],
        "culprits": blamed,
    }
    return about | instance_data(finding.instance, finding.trace)


def instance_data(instance: Instance | None, trace: Trace) -> dict[str, Any]:
    """The choice that falsifies a predicate in the last state of a trace, and what is read there, as texts."""
    if instance is None:
        return {"choice": [], "reads": []}
    return {
        "choice": [[name, shown(value)] for name, value in instance.choice],
        "reads": [[path, data_text(trace.variables, path, data)] for path, data in instance.reads],
    }
