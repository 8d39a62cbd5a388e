"""What is true before and after: every invariant and property that can be asked, and recorded scenarios."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from contextlib import suppress
from dataclasses import dataclass
from typing import Any, Literal

from isrcheck.checker.behaviours.comparing import Side
from isrcheck.checker.checking import check
from isrcheck.checker.exploration import Limits
from isrcheck.checker.library import LoadedModel, blaming
from isrcheck.checker.reports.liveness import lasso_text
from isrcheck.checker.results import Exit, Finding, PropertyFinding, Result
from isrcheck.checker.scenarios.collection import folders
from isrcheck.checker.scenarios.scenario import DamagedScenario, Scenario, read
from isrcheck.checker.wording.layout import plural
from isrcheck.model.language import Model, UnknownName
from isrcheck.model.language.profiles import BARE
from isrcheck.model.language.tracing import askable, predicate_at

Turn = Literal["broken", "mended", "open", "other", "same", "alone"]
"""`other`: violated before and after, by traces of other lengths. `alone`: asked of one side only."""


@dataclass(frozen=True)
class Answer:
    """One verdict: holds, violated or incomplete, and in a few words."""

    verdict: str
    text: str


@dataclass(frozen=True)
class Row:
    """An invariant or a property (`kind`) with its answers; None where it is not asked."""

    name: str
    kind: Literal["invariant", "property"]
    sentence: str
    before: Answer | None
    after: Answer | None

    @property
    def turn(self) -> Turn:
        if self.before is None or self.after is None:
            return "alone"
        pair = self.before.verdict, self.after.verdict
        if "incomplete" in pair:
            return "broken" if pair == ("holds", "violated") else "open"
        if pair[0] != pair[1]:
            return "broken" if pair[1] == "violated" else "mended"
        return "same" if self.before.text == self.after.text else "other"

    def to_json(self) -> dict[str, Any]:
        answers = [None if x is None else {"verdict": x.verdict, "text": x.text} for x in (self.before, self.after)]
        return {"name": self.name, "kind": self.kind, "turn": self.turn, "before": answers[0], "after": answers[1]}


def verdicts(old: Side, new: Side, limits: Limits) -> tuple[list[Row], tuple[Result, Result]]:
    """Every invariant and property of both sides, asked of all their states; what the models name stands first."""
    results = _checked(old, limits), _checked(new, limits)
    named = dict.fromkeys((*old.loaded.cls.invariants, *new.loaded.cls.invariants))
    first = {name: i for i, name in enumerate(named)}
    return sorted(_rows(*results), key=lambda row: first.get(row.name, len(first))), results


def _checked(side: Side, limits: Limits) -> Result:
    with blaming(side.loaded.origin):
        names = tuple(_askable(side.loaded, side.model))
        liveness = tuple(askable(side.model, side.loaded.properties))
    settings = dict(side.model.settings)
    return _finished(
        check(side.loaded, settings, profile=BARE, invariants=names, liveness=liveness, keep_going=True, limits=limits)
    )


def _finished(result: Result) -> Result:
    """A result, unless somebody wants to have none."""
    if result.exit_code == Exit.INTERRUPTED:
        raise KeyboardInterrupt
    return result


def _askable(loaded: LoadedModel, model: Model) -> Iterator[str]:
    """The invariants that are not about what a setting switches off."""
    for name, predicate in loaded.invariants.items():
        with suppress(UnknownName):
            predicate_at(model, name, predicate)
            yield name


def _rows(before: Result, after: Result) -> Iterator[Row]:
    for kind, here, there in (
        ("invariant", before.findings, after.findings),
        ("property", before.liveness, after.liveness),
    ):
        for name in dict.fromkeys([*here, *there]):
            found = here.get(name) or there[name]
            yield Row(name, kind, found.sentence, _answer(here.get(name)), _answer(there.get(name)))  # type: ignore[arg-type]


def _answer(finding: Finding | PropertyFinding | None) -> Answer | None:
    match finding:
        case None:
            return None
        case Finding(verdict="violated", trace=trace) if trace is not None:
            return Answer("violated", f"violated in {plural(trace.length, 'state')}")
        case Finding(verdict="incomplete"):
            return Answer("incomplete", f"open beyond depth {finding.checked_depth}")
        case PropertyFinding(verdict="violated"):
            return Answer("violated", f"violated: {lasso_text(finding)}")
        case PropertyFinding(verdict="incomplete"):
            return Answer("incomplete", f"open: {finding.why}")
    return Answer("holds", "holds")


# --- scenarios ------------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Turned:
    """A scenario with its verdicts in the two models: the exit codes of a check in words."""

    name: str
    title: str
    before: str
    after: str

    def to_json(self) -> dict[str, Any]:
        return vars(self).copy()


@dataclass(frozen=True)
class Scenarios:
    """Those of which the verdict turns, how many were asked, and those that one of the models cannot be asked."""

    turned: tuple[Turned, ...] = ()
    asked: int = 0
    not_asked: tuple[str, ...] = ()

    def to_json(self) -> dict[str, Any]:
        return {
            "asked": self.asked,
            "not_asked": list(self.not_asked),
            "turned": [each.to_json() for each in self.turned],
        }


def scenarios(old: Side, new: Side, limits: Limits) -> Scenarios:
    """The recorded scenarios of the old model and of the new one, asked of both.

    What is set on one side alone is set in the scenarios, too.
    """
    own = [_own_settings(a.model, b.model) for a, b in ((old, new), (new, old))]
    turned, asked, unable = list[Turned](), 0, list[str]()
    for scenario in _different(_of((old.loaded, new.loaded)), own):
        try:
            found = [_outcome(scenario, side, mine, limits) for side, mine in zip((old, new), own, strict=True)]
        except UnknownName:
            unable.append(scenario.name)
            continue
        asked += 1
        if found[0] != found[1]:
            turned.append(Turned(scenario.name, scenario.title, *found))
    return Scenarios(tuple(turned), asked, tuple(unable))


def _own_settings(mine: Model, other: Model) -> dict[str, Any]:
    """The settings in which a side differs from one of the same kind; a scenario keeps its own bounds."""
    if not _same_settings(mine, other):
        return {}
    bounds = {name for name, setting in type(mine).declared_settings().items() if setting.bound is not None}
    return {n: x for n, x in mine.settings.items() if x != other.settings[n] and n not in bounds}


def _same_settings(mine: Model, other: Model) -> bool:
    """Whether two models are one, perhaps in two versions of its file."""
    return type(mine).__name__ == type(other).__name__ and mine.settings.keys() == other.settings.keys()


def _of(models: Iterable[LoadedModel]) -> Iterator[Scenario]:
    """The scenarios of some models, those of files by the names of these, in the order of their names."""
    names = {loaded.name if loaded.origin is None else loaded.origin.name for loaded in models}
    for folder, root in folders(()):
        with suppress(DamagedScenario):
            scenario = read(folder, root)
            if scenario.model.partition(":")[0] in names:
                yield scenario


def _different(found: Iterable[Scenario], own: list[dict[str, Any]]) -> list[Scenario]:
    """Each question once: a scenario and its control may ask the same of a model at its own settings."""
    first: dict[str, Scenario] = {}
    for each in found:
        settings = [sorted((each.settings | mine).items()) for mine in own]
        asked = (settings, each.invariants, each.liveness, each.fairness.to_json(), each.deadlock, each.keep_going)
        first.setdefault(repr(asked), each)
    return list(first.values())


def _outcome(scenario: Scenario, side: Side, own: dict[str, Any], limits: Limits) -> str:
    """What a check of a scenario says in a model; `UnknownName` for settings or invariants that it does not have."""
    settings = scenario.settings | own
    unknown = [name for name in settings if name not in side.loaded.cls.declared_settings()]
    if unknown:
        raise UnknownName(f"{side.name} has no setting {unknown[0]}")
    result = check(
        side.loaded,
        settings,
        profile=BARE,
        invariants=scenario.invariants,
        liveness=scenario.liveness,
        fairness=scenario.fairness,
        deadlock=scenario.deadlock,
        keep_going=scenario.keep_going,
        limits=limits,
    )
    return _said(_finished(result))


def _said(result: Result) -> str:
    found: dict[str, Finding | PropertyFinding] = {**result.findings, **result.liveness}
    if result.deadlock is not None:
        found["deadlock"] = result.deadlock
    violated = [f"{name} {answer.text}" for name, f in found.items() if (answer := _answer(f)) and f.trace is not None]
    if violated:
        return ", ".join(violated)
    return "holds" if result.exit_code == Exit.HOLDS else f"{result.verdict}: {result.reason}"
