"""Compares the verdicts on invariants, properties and recorded scenarios before and after a change."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator
from dataclasses import dataclass
from typing import Any, Literal

from isrcheck.checker.analysis.check import check
from isrcheck.checker.analysis.inclusion.inclusion_check import Side
from isrcheck.checker.changes.review.question_differences import Questions
from isrcheck.checker.registry.loader import LoadedModel, blaming
from isrcheck.checker.report.counterexample_text import lasso_text
from isrcheck.checker.results.exploration import Limits
from isrcheck.checker.results.result import Exit, InvariantResult, PropertyResult, Result
from isrcheck.checker.results.text_layout import plural
from isrcheck.checker.scenarios.collection import folders
from isrcheck.checker.scenarios.derived_files import run_scenario
from isrcheck.checker.scenarios.scenario import DamagedScenario, Scenario, read
from isrcheck.model.language.errors import EvaluationError, ModelError, UnknownName
from isrcheck.model.language.settings import BARE
from isrcheck.model.semantics.tracing import applicable_properties, checkable

Turn = Literal["broken", "mended", "vacuous", "otherwise", "open", "other", "same", "alone"]
"""The change of a verdict.

If several of the following apply, the change is the first of these. `alone`: only one side has the predicate. `open`: a
verdict is incomplete. `broken`: the predicate held before, and is violated now. `otherwise`: the question differs
(`Row.otherwise`). `vacuous`: the predicate now holds vacuously (`Answer.vacuous`), and did not before. `mended`: the
predicate was violated before, and holds now. `other`: the verdict is the same, but its text differs, for example in the
length of the trace. `same`: the text is the same, too.
"""


@dataclass(frozen=True)
class Answer:
    """A verdict (holds, violated or incomplete) and its text.

    `vacuous` is true if a predicate holds only because what it is about never happens. For example, the first condition
    of a `leads_to` is never true, or each behaviour in which it becomes true is excused (docs/explanation/liveness.md).
    """

    verdict: str
    text: str
    vacuous: bool = False

    @property
    def note(self) -> str:
        """What a predicate that holds holds with: `vacuously`, for example, or nothing."""
        return self.text.removeprefix("holds").removeprefix(",").strip() if self.verdict == "holds" else ""


@dataclass(frozen=True)
class Row:
    """An invariant or a property (`kind`) with the answers of both sides. A side that lacks the predicate has None.

    `otherwise` is true if the meaning of the predicate differs between the two versions. It is also true if a violation
    may be gone only because the new search leaves out the states of the violation.
    """

    name: str
    kind: Literal["invariant", "property"]
    sentence: str
    before: Answer | None
    after: Answer | None
    otherwise: bool = False

    @property
    def turn(self) -> Turn:
        if self.before is None or self.after is None:
            return "alone"
        return _turn(self.before, self.after, self.otherwise)

    @property
    def breaks(self) -> bool:
        """Whether the predicate is violated now, and either held before or is new."""
        is_new = self.before is None and self.after is not None and self.after.verdict == "violated"
        return is_new or self.turn == "broken"

    @property
    def is_open(self) -> bool:
        is_new = self.before is None and self.after is not None and self.after.verdict == "incomplete"
        return is_new or self.turn == "open"

    def to_json(self) -> dict[str, Any]:
        answers = [None if x is None else {"verdict": x.verdict, "text": x.text} for x in (self.before, self.after)]
        return {"name": self.name, "kind": self.kind, "turn": self.turn, "before": answers[0], "after": answers[1]}


def _turn(before: Answer, after: Answer, otherwise: bool) -> Turn:
    pair = before.verdict, after.verdict
    if "incomplete" in pair:
        return "open"
    if pair == ("holds", "violated"):
        return "broken"
    if otherwise:
        return "otherwise"
    if after.vacuous and not before.vacuous:
        return "vacuous"
    if pair[0] != pair[1]:
        return "mended"
    return "same" if before.text == after.text else "other"


def verdicts(old: Side, new: Side, limits: Limits, asked: Questions) -> tuple[list[Row], tuple[Result, Result]]:
    """Checks every invariant and property of both sides within the limits. Returns rows and the result of each side.

    The rows of invariants that a model's class lists in `invariants` come first. `asked` has the differences between
    the questions. If one side checks for deadlocks, both sides do. Raises `EvaluationError` if a model cannot be
    evaluated in some state.
    """
    deadlock = old.deadlock or new.deadlock
    results = _checked(old, limits, deadlock), _checked(new, limits, deadlock)
    named = dict.fromkeys((*old.loaded.cls.invariants, *new.loaded.cls.invariants))
    first = {name: i for i, name in enumerate(named)}
    rows = _rows(*results, asked)
    return sorted(rows, key=lambda row: first.get(row.name, len(first))), results


def _checked(side: Side, limits: Limits, deadlock: bool) -> Result:
    with blaming(side.loaded.source_file):
        names = tuple(checkable(side.model, side.loaded.invariants))
        liveness = tuple(applicable_properties(side.model, side.loaded.properties))
    return _finished(
        check(
            side.loaded,
            dict(side.model.settings),
            profile=BARE,
            invariants=names,
            liveness=liveness,
            fairness=side.fairness,
            deadlock=deadlock,
            keep_going=True,
            limits=limits,
        )
    )


def _finished(result: Result) -> Result:
    """Returns the given result. Raises `EvaluationError` if the model could not be evaluated in some state.

    Raises `KeyboardInterrupt` if the search was interrupted.
    """
    _require_wanted(result)
    if result.evaluation is not None:
        raise EvaluationError(result.evaluation.what, result.evaluation.where)
    return result


def _require_wanted(result: Result) -> None:
    """Raises `KeyboardInterrupt` if a search was interrupted, even if it has already seen a violation."""
    if result.reason == "interrupted":
        raise KeyboardInterrupt


def _results(result: Result) -> dict[str, InvariantResult]:
    return result.invariants if result.deadlock is None else {**result.invariants, "deadlock": result.deadlock}


def _rows(before: Result, after: Result, asked: Questions) -> Iterator[Row]:
    for kind, here, there in (
        ("invariant", _results(before), _results(after)),
        ("property", before.liveness, after.liveness),
    ):
        for name in dict.fromkeys([*here, *there]):
            found = here.get(name) or there[name]
            answers = _answer(here.get(name)), _answer(there.get(name))
            hidden = asked.cut or bool(asked.narrower)
            otherwise = _is_another_question({name}, *answers, asked, hidden)
            yield Row(name, kind, found.sentence, *answers, otherwise)  # type: ignore[arg-type]


def _is_another_question(
    names: Collection[str], before: Answer | None, after: Answer | None, asked: Questions, hidden: bool
) -> bool:
    """Whether a predicate in `names` has another meaning, or a violation may be gone because its states are left out.

    `hidden` says that the new check may leave out states that the old check visits.
    """
    ends = before is not None and after is not None and (before.verdict, after.verdict) == ("violated", "holds")
    return not asked.predicates.isdisjoint(names) or (hidden and ends)


def _answer(outcome: InvariantResult | PropertyResult | None) -> Answer | None:
    match outcome:
        case None:
            return None
        case InvariantResult(verdict="violated", trace=trace) if trace is not None:
            return Answer("violated", f"violated in {plural(trace.length, 'state')}")
        case InvariantResult(verdict="incomplete"):
            return Answer("incomplete", f"undecided beyond depth {outcome.checked_depth}")
        case PropertyResult(verdict="violated"):
            return Answer("violated", f"violated: {lasso_text(outcome)}")
        case PropertyResult(verdict="incomplete"):
            return Answer("incomplete", f"undecided: {outcome.why}")
        case PropertyResult(vacuous=True):
            return Answer("holds", "holds, vacuously", vacuous=True)
        case PropertyResult(only_excused=True):
            return Answer("holds", "holds, but a bound stops every behaviour", vacuous=True)
        case PropertyResult() if outcome.total("excused"):
            return Answer("holds", "holds, except where a bound stops it")
    return Answer("holds", "holds")


# --- scenarios ------------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Outcome:
    """The outcome of a scenario: the answer, and the names of the checked predicates (`asked`).

    `kind` is the kind of the violated predicate, or `invariant` if none is violated.
    """

    answer: Answer
    asked: frozenset[str]
    kind: Literal["invariant", "property"]


@dataclass(frozen=True)
class Turned:
    """A scenario whose answers in the two models differ (in verdict or text), or that has an open answer.

    `kind` is the kind of the predicate that is violated in the new model, or `invariant` if none is violated.
    """

    name: str
    title: str
    before: str
    after: str
    turn: Turn
    kind: Literal["invariant", "property"]

    def to_json(self) -> dict[str, Any]:
        return {"name": self.name, "title": self.title, "turn": self.turn, "before": self.before, "after": self.after}


@dataclass(frozen=True)
class Scenarios:
    """The scenarios whose answer changes or is open, the number of checked scenarios, and the unchecked scenarios.

    `not_asked` has the unchecked scenarios, each with a text that names what one of the models lacks (such as a
    setting). `lost` names the new model's scenarios that can be checked in the old model, but no longer in the new
    model. `unread` names the files that cannot be read, with the reasons.
    """

    turned: tuple[Turned, ...] = ()
    asked: int = 0
    not_asked: tuple[tuple[str, str], ...] = ()
    lost: tuple[str, ...] = ()
    unread: tuple[str, ...] = ()

    def to_json(self) -> dict[str, Any]:
        return {
            "asked": self.asked,
            "not_asked": [{"name": name, "reason": why} for name, why in self.not_asked],
            "lost": list(self.lost),
            "unread": list(self.unread),
            "turned": [each.to_json() for each in self.turned],
        }


def scenarios(old: Side, new: Side, limits: Limits, asked: Questions) -> Scenarios:
    """Checks the recorded scenarios of the old and of the new model in both models.

    Some settings of a side override those of the scenarios (`_own_settings`). `asked` has the differences between the
    questions. A scenario does not count as mended if its question differs.
    """
    own = [_own_settings(a, b) for a, b in ((old, new), (new, old))]
    turned, count, unable, lost, unread = list[Turned](), 0, list[tuple[str, str]](), list[str](), list[str]()
    for scenario in _different(_of((old.loaded, new.loaded), unread), own):
        before, after = (_outcome(scenario, *pair, limits) for pair in zip((old, new), own, strict=True))
        if isinstance(before, str) or isinstance(after, str):
            unable.append((scenario.name, after if isinstance(after, str) else str(before)))
            if not isinstance(before, str) and _asks_about(scenario) == _model_of(new.loaded):
                lost.append(scenario.name)
            continue
        count += 1
        other = _is_another_question(after.asked, before.answer, after.answer, asked, asked.cut)
        turn = _turn(before.answer, after.answer, before.asked != after.asked or other)
        if turn == "open" or before.answer != after.answer:
            texts = before.answer.text, after.answer.text
            turned.append(Turned(scenario.name, scenario.title, *texts, turn, after.kind))
    return Scenarios(tuple(turned), count, tuple(unable), tuple(lost), tuple(unread))


def _own_settings(mine: Side, other: Side) -> dict[str, Any]:
    """The settings of a side that override those of the scenarios.

    Such a setting differs between the sides, and either it was given for one side or the sides are two versions of one
    model. A setting that the other side lacks overrides only if it was given for this side. Bounds are not included,
    because a scenario keeps its own bounds.
    """
    declared = type(mine.model).declared_settings()
    is_same = type(mine.model).__name__ == type(other.model).__name__
    found = {}
    for name, value in mine.model.settings.items():
        there = other.model.settings
        differs = name not in there or value != there[name]
        wanted = differs and (name in mine.own or (name in there and (is_same or name in other.own)))
        if wanted and declared[name].bound is None:
            found[name] = value
    return found


def _of(models: Iterable[LoadedModel], unread: list[str]) -> Iterator[Scenario]:
    """The scenarios of the given models, in the order of their names.

    A scenario belongs to a user's model if it names the model's file. It also belongs to the model if it names a file
    beside it that is called like the model's file, because scenarios may have copies of their models. Scenarios that
    cannot be read are left out, and the reasons are added to `unread`.
    """
    given = list(models)
    names = {_model_of(loaded) for loaded in given}
    files = {loaded.source_file.resolve() for loaded in given if loaded.source_file is not None}
    try:
        there = folders(())
    except DamagedScenario as error:
        unread.append(str(error))
        return
    for folder, root in there:
        try:
            scenario = read(folder, root)
        except (DamagedScenario, OSError) as error:
            unread.append(str(error))
            continue
        if scenario.model.partition(":")[0] in names or (
            scenario.file is not None and scenario.file.resolve() in files
        ):
            yield scenario


def _asks_about(scenario: Scenario) -> str:
    """The name of the shipped model that a scenario is about, or the name of the model's file, without its folder."""
    return scenario.model if scenario.file is None else scenario.file.name


def _model_of(loaded: LoadedModel) -> str:
    """The name that scenarios use for a model: the model's own name, or the name of its file."""
    return loaded.name if loaded.source_file is None else loaded.source_file.name


def _different(found: Iterable[Scenario], own: list[dict[str, Any]]) -> list[Scenario]:
    """The scenarios without repetitions. Of several scenarios that ask the same question, only the first is returned.

    `own` has, for each side, the settings that override those of the scenarios (`_own_settings`). So scenarios that
    differ only in overridden settings ask the same question.
    """
    first: dict[str, Scenario] = {}
    for each in found:
        settings = [sorted((each.settings | mine).items()) for mine in own]
        asked = (settings, each.invariants, each.liveness, each.fairness.to_json(), each.deadlock, each.keep_going)
        first.setdefault(repr(asked), each)
    return list(first.values())


def _outcome(scenario: Scenario, side: Side, own: dict[str, Any], limits: Limits) -> Outcome | str:
    """The outcome of checking a scenario in a model, or a text if the model lacks something that the scenario needs.

    A `ModelError` gives an incomplete answer.
    """
    settings = scenario.settings | own
    unknown = [name for name in settings if name not in side.loaded.cls.declared_settings()]
    if unknown:
        return f"{side.name} has no setting {', '.join(unknown)}"
    try:
        result = run_scenario(scenario, side.loaded, settings, limits)
    except UnknownName as error:
        return str(error).partition(";")[0]
    except ModelError as error:
        return Outcome(Answer("incomplete", f"undefined: {error}"), frozenset(), "invariant")
    kind: Literal["invariant", "property"] = "property" if result.exit_code == Exit.NOT_LIVE else "invariant"
    return Outcome(_said(result), frozenset((*result.invariants, *result.liveness)), kind)


def _said(result: Result) -> Answer:
    """The answer that a check gives.

    It is `incomplete` if the model cannot be evaluated in some state, or if a check without a violation did not finish.
    """
    _require_wanted(result)
    if result.evaluation is not None:
        return Answer("incomplete", f"undefined: {result.evaluation.where}: {result.evaluation.what}")
    found: dict[str, InvariantResult | PropertyResult] = {**_results(result), **result.liveness}
    answers = {name: _answer(outcome) for name, outcome in found.items()}
    violated = [f"{name} {x.text}" for name, x in answers.items() if x is not None and x.verdict == "violated"]
    if violated:
        return Answer("violated", ", ".join(violated))
    if result.exit_code != Exit.HOLDS:
        return Answer("incomplete", f"{result.verdict}: {result.reason}")
    notes = [f"{name} {x.note}" for name, x in answers.items() if x is not None and x.note]
    vacuous = any(x.vacuous for x in answers.values() if x is not None)
    return Answer("holds", ", ".join(["holds", *notes]), vacuous)
