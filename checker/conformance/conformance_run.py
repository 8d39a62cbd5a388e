"""Drives paths of a model through Kafka: first the recorded paths of its scenarios, then random walks."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from importlib import import_module
from typing import Any, Final

from isrcheck.checker.conformance.covering_walks import Covering, Pair, by_first, pairs_of
from isrcheck.checker.conformance.driver import Driven, Driver
from isrcheck.checker.conformance.harness_process import Conformance, Harness
from isrcheck.checker.registry.loader import LoadedModel
from isrcheck.checker.results.errors import CommandError
from isrcheck.checker.results.result import FORMAT, Exit, Step, Trace, story_json
from isrcheck.checker.scenarios import collection
from isrcheck.checker.scenarios.scenario import Scenario, read
from isrcheck.checker.trace.narration import story
from isrcheck.checker.trace.trace_files import decoded
from isrcheck.checker.trace.trace_files import read as read_traces
from isrcheck.model.language.errors import UnknownName, nearest
from isrcheck.model.language.model import Model
from isrcheck.model.semantics.interpreter import Interpreter

MAPPINGS: Final = {"kraft": "isrcheck.checker.conformance.kraft_mapping"}
TRACE: Final = "trace.itf.json"


@dataclass(frozen=True)
class Outcome:
    """The outcome of one path.

    `of_others` has the model's settings whose values are not true of this version of Kafka. If there are any, and model
    and Kafka differ on the path, the verdict is `differs-as-its-settings-do`. For a recorded path,
    `Conforming.at_kafkas_settings` first tests whether these settings are the cause. `length` is the number of steps of
    a recorded path, and None for a random walk. `known` describes the difference if the mapping knows this difference,
    else it is None.
    """

    name: str
    model: Model
    driven: Driven
    of_others: dict[str, Any]
    length: int | None
    known: str | None = None

    @property
    def verdict(self) -> str:
        if self.driven.difference is not None:
            if self.of_others:
                return "differs-as-its-settings-do"
            return "differs" if self.known is None else "differs-as-is-known"
        return "conforms" if self.driven.unreached is None and not self.left_out else "not-driven-to-its-end"

    @property
    def left_out(self) -> int:
        """The number of steps of a recorded path that were skipped because the model or Kafka could not take them.

        It is 0 for a random walk. It is 0 also for a path that ended at a difference, or at an action that the harness
        cannot take.
        """
        if self.length is None or self.driven.difference is not None or self.driven.unreached is not None:
            return 0
        return self.length - self.driven.taken

    def to_json(self) -> dict[str, Any]:
        difference = self.driven.difference
        found: dict[str, Any] = {
            "path": self.name,
            "verdict": self.verdict,
            "steps": self.driven.taken,
            "of": self.length,
            "left_out": self.left_out,
            "settings_not_of_kafka": self.of_others,
            "unreached": self.driven.unreached,
            "known": self.known,
        }
        if difference is None:
            return found
        label = self.driven.steps[-1].label
        return {**found, "difference": {**difference.to_json(), "action": None if label is None else label.action}}


@dataclass
class Report:
    """The outcomes of all paths of one run. `shown` is the first path with the verdict `differs`, shortened.

    `known` has the names of the model's actions. `pairs` counts pairs of successive actions. After covering walks,
    `why` maps each action in `never` to the reason why no path took the action. If coverage is measured, `reached` has
    a row for each of the measured classes of Kafka.
    """

    model: str
    kafka: str
    settings: dict[str, Any]
    seed: int
    outcomes: list[Outcome] = field(default_factory=list)
    shown: Outcome | None = None
    actions: Counter[str] = field(default_factory=Counter)
    unreached: Mapping[str, str] = field(default_factory=dict)
    known: tuple[str, ...] = ()
    pairs: Counter[Pair] = field(default_factory=Counter)
    why: dict[str, str] = field(default_factory=dict)
    reached: list[dict[str, Any]] = field(default_factory=list)

    def add(self, outcome: Outcome) -> None:
        actions = [step.label.action for step in outcome.driven.steps[1:] if step.label is not None]
        self.outcomes.append(outcome)
        self.actions.update(actions)
        self.pairs.update(pairs_of(actions))

    @property
    def steps(self) -> int:
        return sum(x.driven.taken for x in self.outcomes)

    @property
    def never(self) -> list[str]:
        """Actions that the harness can take but no path took."""
        return sorted(name for name in self.known if name not in self.actions and name not in self.unreached)

    def of(self, verdict: str) -> list[Outcome]:
        return [x for x in self.outcomes if x.verdict == verdict]

    @property
    def exit_code(self) -> int:
        return Exit.NONCONFORMING if self.of("differs") else Exit.HOLDS

    def to_json(self) -> dict[str, Any]:
        return {
            "format": FORMAT,
            "model": self.model,
            "kafka": self.kafka,
            "settings": self.settings,
            "seed": self.seed,
            "exit_code": self.exit_code,
            "steps": self.steps,
            "paths": [x.to_json() for x in self.outcomes],
            "actions": dict(sorted(self.actions.items())),
            "never": self.never,
            "why": self.why,
            "pairs": by_first(self.pairs),
            "reached": self.reached,
            "unreached": dict(self.unreached),
            "shown": None if self.shown is None else {**self.shown.to_json(), "trace": story_of(self.shown)},
        }


def story_of(outcome: Outcome) -> list[dict[str, Any]]:
    """The path of an outcome as JSON data, with the sentences of its steps."""
    trace = trace_of(outcome)
    return story_json(trace, story(outcome.model, trace))


def trace_of(outcome: Outcome) -> Trace:
    return Trace(tuple(outcome.model.domains.items()), outcome.driven.steps)


def mapping_of(name: str) -> Conformance:
    """The mapping of a model. Raises `UnknownName` if the model has no mapping."""
    if name not in MAPPINGS:
        raise UnknownName(f"model {name} has no mapping to Kafka's classes; {nearest(name, MAPPINGS)}")
    return import_module(MAPPINGS[name])


@dataclass
class Conforming:
    """One run of `isrcheck conform`. The outcome of each path is added to the report when the path has been driven."""

    harness: Harness
    loaded: LoadedModel
    mapping: Conformance
    report: Report
    keep_going: bool
    tell: Callable[[str], None]

    def scenarios(self, chosen: Iterable[Scenario]) -> None:
        for scenario in chosen:
            if self._ended():
                return
            model, path = recorded(self.loaded, scenario)
            driver = self._driver(model)
            name, length = f"scenario {scenario.name}", len(path) - 1
            outcome = self._outcome(driver, name, driver.drive(driver.along(path)), length)
            if outcome.of_others and outcome.driven.difference is not None:
                driver, outcome = self.at_kafkas_settings(driver, outcome, path)
            self._add(driver, outcome)

    def at_kafkas_settings(self, driver: Driver, outcome: Outcome, path: list[Step]) -> tuple[Driver, Outcome]:
        """Drives a path again at Kafka's own settings, to test whether the settings of a scenario cause a difference.

        `driver` and `outcome` are those of the first run, at the scenario's settings. If model and Kafka differ in the
        test too, returns the driver and the outcome of the test. Otherwise returns `driver` and `outcome`. If the test
        did not take all steps that come before the difference in the first run, the settings need not be the cause.
        Then the returned outcome has an empty `of_others`.
        """
        kafka = self.mapping.of_kafka(self.report.kafka)
        own = {name: kafka[name][0] for name in outcome.of_others}
        other = self._driver(self.loaded.cls(**{**driver.model.settings, **own}))
        # At other settings the model may have other variables, so the first state of `path` cannot be used.
        begun = [other.first(), *path[1:]]
        fixed_version = self._outcome(other, outcome.name, other.drive(other.along(begun)), outcome.length)
        if fixed_version.driven.difference is not None:
            return other, fixed_version
        before = slice(1, outcome.driven.taken)
        follows = [x.label for x in fixed_version.driven.steps[before]] == [
            x.label for x in outcome.driven.steps[before]
        ]
        return driver, outcome if follows else replace(outcome, of_others={})

    def _driver(self, model: Model) -> Driver:
        return Driver(self.harness, Interpreter(model, {}), self.mapping)

    def walks(self, count: int, depth: int, cover: bool = False) -> None:
        """Drives random walks or, with `cover`, covering walks. `Covering` also counts the steps of earlier paths."""
        driver = self._driver(self.loaded.cls(**self.report.settings))
        covering = Covering(Counter(self.report.pairs), set(self.report.actions)) if cover else None
        for number in range(1, count + 1):
            if self._ended():
                break
            driven = driver.drive(driver.walk(self.report.seed, number, depth, covering))
            self._add(driver, self._outcome(driver, f"walk {number} of seed {self.report.seed}", driven, None))
            self.tell(f"walk {number} of {count}")
        if covering is not None:
            first = driver.first().state
            self.report.why = {x: covering.why(driver.interpreter, first, x) for x in self.report.never}

    def _ended(self) -> bool:
        return not self.keep_going and bool(self.report.of("differs"))

    def _outcome(self, driver: Driver, name: str, driven: Driven, length: int | None) -> Outcome:
        known = None if driven.difference is None else self.mapping.known(driver.model, driven)
        return Outcome(name, driver.model, driven, self._not_of_kafka(driver.model), length, known)

    def _not_of_kafka(self, model: Model) -> dict[str, Any]:
        """The settings whose values in the model are not true of this version of Kafka, with those values."""
        kafka = self.mapping.of_kafka(self.report.kafka)
        return {name: model.settings[name] for name, own in kafka.items() if model.settings[name] not in own}

    def _add(self, driver: Driver, outcome: Outcome) -> None:
        self.report.add(outcome)
        if outcome.verdict == "differs" and self.report.shown is None:
            self.tell(f"{outcome.name} differs: looking for a shorter path")
            self.report.shown = replace(outcome, driven=driver.shortened(outcome.driven))


def recorded(loaded: LoadedModel, scenario: Scenario) -> tuple[Model, list[Step]]:
    """The model at a scenario's settings, and the recorded path of that scenario."""
    traces = read_traces(scenario.folder / TRACE)
    interpreter = Interpreter(loaded.cls(**(traces.settings or scenario.settings)), {})
    path = list(decoded(interpreter, traces.traces[0]).steps)
    if any(step.label is None for step in path[1:]):
        raise CommandError(f"{scenario.folder / TRACE} does not name the actions of its steps", Exit.UNKNOWN)
    return interpreter.model, path


def with_traces(model: str, names: tuple[str, ...]) -> list[Scenario]:
    """The scenarios with these names. Without names, all shipped scenarios of the model that have a recorded path.

    Raises `UnknownName` if a named scenario does not exist, is of another model or has no recorded path.
    """
    found = [collection.one(name) for name in names] if names else list(_all(model))
    for scenario in found:
        if scenario.model != model:
            raise UnknownName(f"scenario {scenario.name} is of model {scenario.model}, not of {model}")
        if not (scenario.folder / TRACE).is_file():
            raise UnknownName(f"scenario {scenario.name} has no recorded path, because everything it checks holds")
    return found


def _all(model: str) -> Iterator[Scenario]:
    for folder, root in collection.folders((str(collection.shipped()),)):
        scenario = read(folder, root)
        if scenario.model == model and (folder / TRACE).is_file():
            yield scenario
