"""Answers questions about a walk through a model. The answers are JSON data that the reference semantics computes.

A *path* is the number of an initial state, followed by the numbers of action instances. A question contains its path,
so nothing is kept between questions.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from hashlib import sha256
from typing import Any, Final

from isrcheck.checker.registry.loader import LoadedModel
from isrcheck.checker.report.explorer.specification_view import SpecificationView
from isrcheck.checker.report.pages.story_data import lifelines, partners, sentence, story
from isrcheck.checker.report.pages.trace_data import instance_data
from isrcheck.checker.results.result import Instance, Step, Trace
from isrcheck.checker.results.state_text import differences, label_text, parts
from isrcheck.checker.results.story import Lifeline
from isrcheck.checker.results.text_layout import plural
from isrcheck.checker.trace.itf import as_text, to_itf
from isrcheck.checker.trace.narration import lifeline_of
from isrcheck.checker.trace.step_replay import is_instance, replay, unmet_requirement
from isrcheck.checker.trace.trace_evaluation import evaluated
from isrcheck.checker.trace.trace_files import DamagedFile, RecordedTrace, decoded, recognised
from isrcheck.model.language.errors import EvaluationError, ModelError
from isrcheck.model.language.model import Model, as_parameter
from isrcheck.model.semantics.concrete_state import explain, holds, initial_states
from isrcheck.model.semantics.concrete_values import State
from isrcheck.model.semantics.interpreter import Interpreter
from isrcheck.model.semantics.tracing import sentence_of, trace
from isrcheck.model.semantics.transition_system import Label

LONGEST_PATH: Final = 500
RETURNS: Final = "the action returns before it requires or assigns anything, so it has no such instance"


class Unanswerable(Exception):
    """A question that has no answer, with the reason in one line."""


@dataclass(frozen=True)
class Path:
    """An initial state, the instances taken from there, and the number `at` of instances before the current state."""

    initial: int
    steps: tuple[int, ...]
    at: int

    @staticmethod
    def of(data: Any) -> Path:
        """The path in a question. Raises `Unanswerable` if the question has no valid path."""
        initial, steps = data.get("initial", 0), data.get("path", [])
        if not isinstance(steps, list) or not all(_is_number(x) for x in (initial, *steps)):
            raise Unanswerable("a path must be the number of an initial state and a list of action instance numbers")
        if len(steps) > LONGEST_PATH:
            raise Unanswerable(f"the path has {len(steps)} steps; the limit is {LONGEST_PATH}")
        at = data.get("at", len(steps))
        if not _is_number(at) or at > len(steps):
            raise Unanswerable(f"the path has {plural(len(steps), 'step')}; there is no state after step {at!r}")
        return Path(initial, tuple(steps), at)

    def to_json(self) -> dict[str, Any]:
        return {"initial": self.initial, "path": list(self.steps), "at": self.at}


def _is_number(value: Any) -> bool:
    return type(value) is int and value >= 0


def _into(trace: Trace, at: int) -> tuple[State | None, State]:
    """The state before a position of a trace (None at the first position), and the state at this position."""
    return (trace.steps[at - 1].state if at else None), trace.steps[at].state


class Walking:
    """Answers questions about a model at its settings. `beside` is a specification that the model should refine.

    `there` has the numbers of the action instances that exist (see `is_instance`), enabled or not. `mark` identifies
    the model and its settings in the addresses of the page.
    """

    def __init__(self, loaded: LoadedModel, model: Model, beside: SpecificationView | None = None) -> None:
        self.loaded, self.model, self.beside = loaded, model, beside
        self.initial = initial_states(model)
        if not self.initial:
            raise ModelError(f"model {loaded.name} has no initial state with these settings; choose other settings")
        self.unchecked = dict(self._unchecked())
        asked = {name: f for name, f in loaded.invariants.items() if name not in self.unchecked}
        self.interpreter = Interpreter(model, asked)
        self.numbers = {label: i for i, label in enumerate(self.interpreter.labels)}
        self.unexplored = trace(model).unexplored
        texts = [loaded.name, *(f"{n}={x}" for n, x in model.settings.items()), *map(label_text, self.numbers)]
        self.mark = sha256("\n".join(texts).encode()).hexdigest()[:8]
        self.there = [number for number in self.numbers.values() if self._is_there(number)]

    def _is_there(self, number: int) -> bool:
        return is_instance(self.model, self.initial[0], *self._call(number))

    def _call(self, number: int) -> tuple[Callable[..., Any], list[Any]]:
        """The action method of an instance, and the arguments of the call."""
        label = self.interpreter.labels[number]
        arguments = [as_parameter(d, v) for d, (_, v) in zip(label.domains, label.parameters, strict=True)]
        return self.model.actions()[label.action], arguments

    def _unchecked(self) -> Iterator[tuple[str, str]]:
        """The invariants that do not fit the model at these settings, each with a message that says why.

        An invariant does not fit if its evaluation in the first initial state raises `ModelError`. An invariant that is
        only undefined in this state (`EvaluationError`) fits.
        """
        for name, predicate in self.loaded.invariants.items():
            try:
                holds(self.model, self.initial[0], predicate)
            except EvaluationError:
                pass
            except ModelError as error:
                yield name, str(error)

    def about(self) -> dict[str, Any]:
        """The data about the model that do not change during a walk."""
        default = self.loaded.chosen(None)
        of_class = type(self.model)
        return {
            "model": self.loaded.name,
            "sentence": sentence_of(of_class),
            "settings": self.model.settings,
            "initial": len(self.initial),
            "of": self.mark,
            "lanes": lifelines(self.model, map(self._lifeline, range(len(self.interpreter.labels)))),
            "longest": LONGEST_PATH,
            "actions": {name: self._action(method) for name, method in self.model.actions().items()},
            "instances": [
                {"action": label.action, "text": label_text(label), "lane": self._lifeline(number).name}
                for number, label in enumerate(self.interpreter.labels)
            ],
            "invariants": {
                name: {"sentence": sentence_of(method), "default": name in default}
                for name, method in self.interpreter.invariants.items()
            }
            | ({} if self.beside is None else {self.beside.name: {"sentence": self.beside.sentence, "default": True}}),
            "unasked": self.unchecked,
            "goals": {name: sentence_of(method) for name, method in self.interpreter.goals.items()},
            "bounds": {name: self.model.declared_settings()[name].meaning for name in self.interpreter.bounds},
            "bounds_not_explored": sorted(self.unexplored),
            "constraints": {name: sentence_of(method) for name, method in self.interpreter.constraints.items()},
        }

    def _lifeline(self, number: int) -> Lifeline:
        return lifeline_of(self.model, self.interpreter.labels[number], self.interpreter.actors[number])

    @staticmethod
    def _action(method: Any) -> dict[str, Any]:
        return {"sentence": sentence_of(method), "perturbation": method.__action__.environment}

    # --- the current state ------------------------------------------------------------------------------------------

    def state(self, path: Path) -> dict[str, Any]:
        """The story of a path (see `story`), and data about the path's current state.

        The data are the possible next steps with their changes, the numbers of the disabled instances, and the values
        of the invariants, goals, bounds and constraints.
        """
        trace = self._trace(path)
        here = trace.steps[path.at].state
        truth = self.interpreter.evaluated(here, self.interpreter.invariants)
        choices = [self._choice(here, truth, number, after) for number, after in self.interpreter.steps(here)]
        possible = {choice["instance"] for choice in choices}
        return {
            **path.to_json(),
            "story": story(self.model, self._shown(trace)),
            "choices": choices,
            "disabled": [number for number in self.there if number not in possible],
            "invariants": truth | self._refines(trace, path.at),
            "goals": self.interpreter.evaluated(here, self.interpreter.goals),
            "bounds": self.interpreter.evaluated(here, self.interpreter.bounds),
            "constraints": self.interpreter.evaluated(here, self.interpreter.constraints),
        }

    def _shown(self, trace: Trace) -> Trace:
        """The trace to show: if there is a specification, each state also has the specification's state."""
        return trace if self.beside is None else self.beside.along(trace)

    def _refines(self, trace: Trace, at: int) -> dict[str, bool | None]:
        """Maps the refinement's name to whether the specification allows the step to position `at`.

        The mapping is empty if there is no specification.
        """
        if self.beside is None:
            return {}
        return {self.beside.name: self.beside.allows(*_into(trace, at))}

    def _trace(self, path: Path) -> Trace:
        if path.initial >= len(self.initial):
            there = plural(len(self.initial), "initial state")
            raise Unanswerable(f"there is no initial state {path.initial}; the model has {there}, counted from 0")
        steps = [Step(None, None, self.initial[path.initial])]
        for number in path.steps:
            steps.append(self._taken(steps[-1].state, number, len(steps)))
        return Trace(tuple(self.model.domains.items()), tuple(steps))

    def _taken(self, state: State, number: int, position: int) -> Step:
        self._require_instance(number)
        label = self.interpreter.labels[number]
        try:
            after = self.interpreter.step(state, number)
        except EvaluationError as error:
            raise Unanswerable(f"step {position}: {label_text(label)} is undefined there: {error}") from None
        if after is None:
            raise Unanswerable(f"step {position}: {label_text(label)} is not possible there")
        return Step(label, self.interpreter.actors[number], after)

    def _require_instance(self, number: int) -> None:
        if number >= len(self.interpreter.labels):
            there = len(self.interpreter.labels)
            raise Unanswerable(f"there is no instance {number}; the model has {there}, counted from 0")

    def _choice(
        self, here: State, truth: dict[str, bool | None], number: int, after: State | EvaluationError
    ) -> dict[str, Any]:
        label, actor = self.interpreter.labels[number], self.interpreter.actors[number]
        about = {"instance": number, "partners": partners(self.model, label, actor)}
        after = self._meant(after)
        if isinstance(after, EvaluationError):
            return {**about, "error": f"it is undefined here: {after}", "sentence": "", "changes": [], "breaks": []}
        return {
            **about,
            "error": None,
            "sentence": sentence(self.model, label, here, after),
            "changes": [list(row) for row in self._differences(label, here, after)],
            "breaks": [*self._broken(truth, after), *self._refuses(here, after)],
        }

    def _differences(self, label: Label, here: State, after: State) -> list[tuple[str, str, str]]:
        """The changes of a step, including those of the specification's state."""
        domains = tuple(self.model.domains.items())
        shown = self._shown(Trace(domains, (Step(None, None, here), Step(label, None, after))))
        return list(differences(shown.variables, shown.steps[0].state, shown.steps[1].state))

    def _refuses(self, here: State, after: State) -> list[str]:
        """The name of the refinement if the specification refuses the step; otherwise an empty list."""
        return [] if self.beside is None or self.beside.allows(here, after) is not False else [self.beside.name]

    def _meant(self, after: State | EvaluationError) -> State | EvaluationError:
        """The state `after`, or an error if `after` maps to no state of the specification.

        If `after` is an error already, returns this error. A walk cannot take a step that leads to an error.
        """
        if self.beside is not None and not isinstance(after, EvaluationError):
            try:
                self.beside.stands_for(after)
            except EvaluationError as error:
                return error
        return after

    def _broken(self, truth: dict[str, bool | None], after: State) -> list[str]:
        """The invariants that a step to the state `after` makes false."""
        asked = {name: f for name, f in self.interpreter.invariants.items() if truth[name] is not False}
        return [name for name, answer in self.interpreter.evaluated(after, asked).items() if answer is False]

    # --- why --------------------------------------------------------------------------------------------------------

    def disabled(self, path: Path, number: Any) -> dict[str, Any]:
        """Why an instance is disabled in a path's current state: the false requirement, and the values it reads.

        If no requirement is false, `reason` says what is the case instead (such as that the instance is possible).
        """
        if not _is_number(number):
            raise Unanswerable("give the number of an action instance")
        self._require_instance(number)
        here, label = self._trace(path).steps[path.at].state, self.interpreter.labels[number]
        about = {"instance": number, "text": label_text(label), "where": None, "values": []}
        try:
            if self.interpreter.step(here, number) is not None:
                return {**about, "condition": None, "reason": "it is enabled here"}
            unmet = unmet_requirement(self.model, here, *self._call(number))
        except EvaluationError as error:
            return {**about, "condition": None, "reason": f"it is undefined here: {error}"}
        if unmet is None:
            return {**about, "condition": None, "reason": RETURNS}
        return {**about, "condition": unmet.condition, "where": unmet.where, "values": list(unmet.values), "reason": ""}

    def violated(self, path: Path, name: Any) -> dict[str, Any]:
        """Why an invariant is false in a path's current state: for which elements of `for_all`, and with which values.

        If the invariant is true or undefined there, `reason` says so.
        """
        if self.beside is not None and name == self.beside.name:
            return self._refused(path, self.beside)
        if not isinstance(name, str) or name not in self.interpreter.invariants:
            raise Unanswerable("give the name of an invariant")
        trace, predicate = self._trace(path), self.interpreter.invariants[name]
        here = trace.steps[path.at].state
        try:
            if holds(self.model, here, predicate).value:
                return {"name": name, "reason": "it holds here", "choice": [], "reads": []}
        except EvaluationError as error:
            return {"name": name, "reason": f"it is undefined here: {error}", "choice": [], "reads": []}
        why = instance_data(Instance(*explain(self.model, here, predicate)), trace)
        return {"name": name, "reason": "", **why}

    def _refused(self, path: Path, beside: SpecificationView) -> dict[str, Any]:
        """Why the specification refuses the step to a path's current state.

        If the specification allows the step, or if this is not known, `reason` says so.
        """
        old, new = _into(self._trace(path), path.at)
        about = {"name": beside.name, "reason": "", "choice": [], "reads": []}
        match beside.allows(old, new):
            case True:
                return about | {"reason": "it holds here"}
            case None:
                return about | {"reason": "unknown here: the specification is undefined or has too many states"}
        changes = beside.refusals(old, new)
        changed = ((c.path, c.new if c.old is None else f"{c.old} -> {c.new}", c.said) for c in changes)
        return about | {"reads": [[part, text if said is None else f"{text}: {said}"] for part, text, said in changed]}

    def whole(self, path: Path) -> list[tuple[str, str]]:
        """Every part of a path's current state, with its value as text."""
        shown = self._shown(self._trace(path))
        return [*parts(shown.variables, shown.steps[path.at].state)]

    def changes(self, path: Path) -> list[tuple[str, str]]:
        """The changes in the step to a path's current state, each as `old -> new`; none for an initial state."""
        shown = self._shown(self._trace(path))
        steps = shown.steps[max(path.at - 1, 0) : path.at + 1]
        found = differences(shown.variables, steps[0].state, steps[-1].state)
        return [(part, f"{old} -> {new}") for part, old, new in found]

    def evaluated(self, path: Path, text: Any) -> dict[str, Any]:
        """The value of an expression in each state of a path, as text.

        Raises `Unanswerable` if the expression is empty or the path is impossible, and `ModelError` for a mistake in
        the expression.
        """
        if not isinstance(text, str) or not text.strip():
            raise Unanswerable("write an expression, such as s.quorum.isr")
        return {"values": evaluated(self.model, [step.state for step in self._trace(path).steps], text)}

    def saved(self, path: Path) -> dict[str, Any]:
        """The path as the text of an ITF file, which `isrcheck replay` and the explorer can read."""
        return {"content": as_text(to_itf(self._trace(path), self.loaded.name, self.model.settings, "path"))}

    # --- traces -----------------------------------------------------------------------------------------------------

    def loaded_traces(self, content: str) -> dict[str, Any]:
        """The paths of the traces in a file. Each path ends before the first step that the model does not allow.

        Raises `DamagedFile` if the file is damaged or has no trace. Raises `Unanswerable` if the file is for another
        model or for other settings, or if a trace is too long or does not begin in an initial state.
        """
        file = recognised(content.encode(errors="surrogatepass"))
        if file.model is not None and file.model != self.loaded.name:
            raise Unanswerable(f"the file is for model {file.model!r}, but this is {self.loaded.name}")
        differing = {n: v for n, v in (file.settings or {}).items() if self.model.settings.get(n, v) != v}
        if differing:
            options = " ".join(f"-s {n}={str(v).lower() if isinstance(v, bool) else v}" for n, v in differing.items())
            raise Unanswerable(f"the file has other settings; start the explorer with {options}")
        if not file.traces:
            raise DamagedFile("it contains no trace: nothing was violated")
        return {"traces": [self._loaded(each) for each in file.traces]}

    def _loaded(self, recorded: RecordedTrace) -> dict[str, Any]:
        trace = decoded(self.interpreter, recorded)
        if trace.length > LONGEST_PATH + 1:
            raise Unanswerable(f"the trace has {trace.length} states; the limit is {LONGEST_PATH + 1}")
        outcome = replay(self.interpreter, trace)
        about = {"title": recorded.title, "length": trace.length}
        if trace.steps[0].state not in self.initial:
            raise Unanswerable(f"{recorded.title}: its first state is not an initial state of the model")
        allowed = trace.length if outcome.refusal is None else outcome.refusal.state - 1
        labels = [step.label for step in outcome.trace.steps[1:allowed]]
        steps = tuple(self.numbers[label] for label in labels if label is not None)
        path = Path(self.initial.index(trace.steps[0].state), steps, 0)
        refused = None if outcome.refusal is None else f"state {allowed + 1} cannot follow: {outcome.refusal.what}"
        return {**about, **path.to_json(), "refused": refused}
