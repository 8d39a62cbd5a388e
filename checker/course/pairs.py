"""Checks a violated scenario (`question`) and its fixed version. Exactly one setting differs."""

from __future__ import annotations

import shlex
from collections.abc import Iterator
from pathlib import Path

from isrcheck.checker.analysis.check import check
from isrcheck.checker.course.criteria import STATES, Criterion, require_meaning, shortest, unbroken, unheld
from isrcheck.checker.course.exercise import CONTROL, QUESTION, Pair
from isrcheck.checker.registry.loader import load_model_class
from isrcheck.checker.results.exploration import Limits
from isrcheck.checker.results.result import Result
from isrcheck.checker.scenarios.scenario import Scenario, read
from isrcheck.model.language.model import Model
from isrcheck.model.language.setting_constraints import said
from isrcheck.model.language.settings import BARE


def paired(pair: Pair, answer: Path) -> Iterator[Criterion]:
    """The criteria for a scenario and its control.

    If a scenario has a wrong model, wrong checks or a wrong expected result, there is only the first criterion. The
    criterion about given settings is left out if the exercise gives no settings.

    Raises `DamagedScenario` if one of the scenarios is missing or damaged, and `UnknownName` for settings that do not
    exist.
    """
    question, fixed_version = read(answer / QUESTION, answer), read(answer / CONTROL, answer)
    about = [*_other_subject(pair, question, QUESTION), *_other_subject(pair, fixed_version, CONTROL)]
    yield Criterion(f"both check {pair.invariant} on {pair.model}", not about, tuple(about))
    if about:
        return
    cls = load_model_class(pair.model).cls
    questions, fixed_versions = cls(**question.settings), cls(**fixed_version.settings)
    if pair.settings:
        yield _given(pair, questions, fixed_versions)
    yield _differ(cls, questions, fixed_versions)
    yield _question(pair, question)
    yield _fixed_version(pair, fixed_version)


def _other_subject(pair: Pair, scenario: Scenario, place: str) -> Iterator[str]:
    """Messages about a scenario whose model, checks or expected result are not those that the exercise wants."""
    expected = "violated" if place == QUESTION else "holds"
    if scenario.model != pair.model:
        yield f"{place}: model is {scenario.model!r}"
    if scenario.invariants != (pair.invariant,):
        yield f'{place}: write invariants = ["{pair.invariant}"]'
    if scenario.liveness or scenario.deadlock:
        yield f"{place}: liveness and deadlock are not checked here; remove them"
    if scenario.expect != expected:
        yield f'{place}: expect is "{scenario.expect}"; write "{expected}"'


def _given(pair: Pair, *models: Model) -> Criterion:
    """The criterion that both scenarios have the settings that the exercise gives (`pair.settings`)."""
    values = " ".join(f"{name}={said(value)}" for name, value in pair.settings.items())
    places = zip((QUESTION, CONTROL), models, strict=True)
    why = [
        f"{place}: {n} is {said(m.settings[n])}"
        for place, m in places
        for n, x in pair.settings.items()
        if m.settings[n] != x
    ]
    return Criterion(f"both have {values}", not why, tuple(why))


def _differ(cls: type[Model], one: Model, other: Model) -> Criterion:
    """The criterion that exactly one setting differs, and that this setting is a rule of the protocol, not a bound."""
    names = [name for name in cls.declared_settings() if one.settings[name] != other.settings[name]]
    values = ", ".join(f"{name} ({said(one.settings[name])}, {said(other.settings[name])})" for name in names)
    why = [] if len(names) == 1 else [f"{values or 'no setting'} differ" if names else "no setting differs"]
    if len(names) == 1 and cls.declared_settings()[names[0]].bound is not None:
        why = [f"{names[0]} is a bound, which only limits the search; change a protocol setting instead"]
    title = "they differ in exactly one setting, a rule of the protocol" + ("" if why else f": {values}")
    return Criterion(title, not why, tuple(why))


def _question(pair: Pair, scenario: Scenario) -> Criterion:
    result, shown = _checked(pair, scenario)
    why = unbroken(result, (pair.invariant,))
    trace = result.invariants[pair.invariant].trace
    done = {step.label.action for step in trace.steps if step.label is not None} if trace is not None else set()
    if not why:
        why = [f"its shortest trace is a different one: it lacks action {x}" for x in pair.steps if x not in done]
    return Criterion(
        "the question is violated, by the described sequence of events", not why, tuple(why), shortest(result), shown
    )


def _fixed_version(pair: Pair, scenario: Scenario) -> Criterion:
    result, shown = _checked(pair, scenario)
    why = unheld(result, pair.goals, pair.fires)
    return Criterion("its control holds, and is not trivial", not why, tuple(why), shortest(result), shown)


def _checked(pair: Pair, scenario: Scenario) -> tuple[Result, str]:
    limits = Limits(states=STATES)
    result = check(pair.model, scenario.settings, profile=BARE, invariants=(pair.invariant,), limits=limits)
    require_meaning(result)
    return result, shlex.join(["isrcheck", "check", "--scenario", str(scenario.folder)])
