"""The result of a refinement check. Before a trace is reported, it is replayed and its last step is compared again."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import Any, Final

from isrcheck.checker.analysis.refinement.refused_step import (
    Change,
    begins_otherwise,
    refusals,
    refused_step,
    sentence_of,
)
from isrcheck.checker.analysis.refinement.step_comparison import Refused, Watching
from isrcheck.checker.analysis.result_builder import ResultBuilder
from isrcheck.checker.results.exploration import Path
from isrcheck.checker.results.result import EvaluationFailure, Exit, InvariantResult, Result, Trace
from isrcheck.checker.results.story import Story
from isrcheck.checker.trace.canonical import CanonicalPaths, back, canonical_walk
from isrcheck.checker.trace.narration import story
from isrcheck.checker.trace.refinement_replay import Implementation, widened, widened_story
from isrcheck.checker.trace.trace_evaluation import EvaluatedTrace
from isrcheck.model.language.domains import Domain
from isrcheck.model.language.errors import EvaluationError
from isrcheck.model.semantics.concrete_values import State

PREFIX: Final = "refines-"
"""The prefix of the result's name, before the name of the specification."""


@dataclass
class Refined:
    """The result of a refinement check: the result of the search, and data about the specification.

    The only entry in `result.invariants` is the refinement. `states` counts the distinct states of the specification
    that the model's states represent. `steps` counts the distinct pairs of different specification states that the
    model's steps represent. If the refinement is violated, `beside` has the specification's state for each state of the
    trace, and `refused` has all changes of the specification's state in the last step. A change that the specification
    refuses has a reason. If the trace has only one state, `refused` has all parts of the specification's state. For
    each violated property of the specification, `lassos` has the specification's states along the trace that violates
    the property.
    """

    result: Result
    specification: str
    mapping: str
    settings: dict[str, Any]
    at_most: int | None
    states: int
    steps: int
    variables: tuple[tuple[str, Domain], ...]
    beside: tuple[State, ...] = ()
    refused: tuple[Change, ...] = ()
    lassos: dict[str, tuple[State, ...]] = field(default_factory=dict)
    evaluated: EvaluatedTrace | None = field(default=None, repr=False)
    """The trace to a refused step, and a condition that this step makes false. None if no step is refused.

    Explanations of the refused step start from this condition.
    """

    @property
    def name(self) -> str:
        return f"{PREFIX}{self.specification}"

    @property
    def vacuous(self) -> bool:
        """Whether the refinement holds, but no step of the model represents a step of the specification."""
        return self.result.invariants[self.name].verdict == "holds" and not self.steps

    def side_by_side(self) -> Result:
        """The result, with the variables of the specification added to its traces."""
        outcome = self.result.invariants[self.name]
        outcomes = {self.name: replace(outcome, **self._wider(outcome.trace, outcome.story, self.beside))}
        properties = {
            name: replace(each, **self._wider(each.trace, each.story, self.lassos.get(name, ())))
            for name, each in self.result.liveness.items()
        }
        return replace(self.result, invariants=outcomes, liveness=properties)

    def _wider(self, trace: Trace | None, trace_story: Story | None, beside: tuple[State, ...]) -> dict[str, Any]:
        """The trace and the story of a result, with the specification's states added. Empty if there is no trace."""
        if trace is None:
            return {}
        wider = widened(trace, self.specification, self.variables, beside)
        return {"trace": wider, "story": None if trace_story is None else widened_story(trace_story, wider)}

    def to_json(self) -> dict[str, Any]:
        """The entries about the refinement, for the JSON of the result."""
        lassos = {name: self._as_json(states) for name, states in self.lassos.items()}
        return {
            "specification": self.specification,
            "specification_settings": self.settings,
            "mapping": self.mapping,
            "at_most": self.at_most,
            "states": self.states,
            "steps": self.steps,
            "beside": self._as_json(self.beside),
            "refused": [change.to_json() for change in self.refused],
            **({"lassos": lassos} if lassos else {}),
        }

    def _as_json(self, states: tuple[State, ...]) -> list[dict[str, Any]]:
        return [{n: d.to_json(x) for (n, d), x in zip(self.variables, s, strict=True)} for s in states]


@dataclass
class Verdicts:
    """Turns the result of a search into the result of a refinement check."""

    builder: ResultBuilder
    paths: CanonicalPaths
    implementation: Implementation
    watching: Watching

    def answer(self, result: Result, specification: str, mapping: str) -> Refined:
        """The answer about the refinement. Also adds the verdict on the refinement to `result`.

        If the search has found a mistake, the exit code of `result` is set, too.
        """
        target = self.implementation.specification.model
        answer = Refined(
            result,
            specification,
            mapping,
            dict(target.settings),
            self.implementation.steps,
            len(self.watching.abstraction.rows),
            self.watching.pairs,
            tuple(target.domains.items()),
        )
        if self.watching.refused is not None:
            self._refuse(answer, self.watching.refused)
        else:
            verdict, depth = (
                ("incomplete", self.builder.exploration.depth) if self.builder.exploration.stopped else ("holds", None)
            )
            result.invariants[answer.name] = InvariantResult(verdict, sentence_of(specification), checked_depth=depth)  # type: ignore[arg-type]
        if self.watching.nothing is not None:
            self._fail(result, self.watching.nothing)
        result.extra = result.extra | {"refinement": answer.to_json()}
        return answer

    def tell_lassos(self, answer: Refined) -> None:
        """Adds to the answer, for each violated property, the specification's states along the violating trace."""
        for name, outcome in answer.result.liveness.items():
            if outcome.trace is not None:
                stands_for = self.implementation.stands_for
                answer.lassos[name] = tuple(stands_for(step.state) for step in outcome.trace.steps)
        answer.result.extra = answer.result.extra | {"refinement": answer.to_json()}

    # --- a step that is not allowed ---------------------------------------------------------------------------------

    def _refuse(self, answer: Refined, refused: Refused) -> None:
        shown = self.builder.replayed(self._path(refused))
        states = [step.state for step in shown.steps]
        objection = self.implementation.objection(states)
        if objection is not None:
            raise AssertionError(f"the trace for {answer.name} does not end in a violation: {objection}")
        answer.beside = tuple(self.implementation.stands_for(state) for state in states)
        answer.refused = self._changes(answer.beside)
        result, allowed = answer.result, self.watching.allowed
        result.invariants[answer.name], answer.evaluated = refused_step(
            self.implementation, allowed, answer.specification, shown, refused.whole
        )
        result.verdict, result.exit_code = "violated", Exit.VIOLATED

    def _path(self, refused: Refused) -> Path:
        levels = self.paths.levels
        if refused.edges is None:
            assert refused.targets is not None
            return Path(min(levels.leaves(refused.targets)), ())
        return canonical_walk(levels, back(levels, refused.edges, refused.level - 1), self.paths.actors)[0]

    def _changes(self, beside: tuple[State, ...]) -> tuple[Change, ...]:
        allowed = self.watching.allowed
        rows = allowed.kernel.layout.pack([allowed.system.encode(state) for state in beside[-2:]])
        return begins_otherwise(allowed, rows[0]) if len(beside) == 1 else refusals(allowed, rows[0], rows[1])

    # --- a state that represents nothing ----------------------------------------------------------------------------

    def _fail(self, result: Result, nothing: Refused) -> None:
        levels = self.paths.levels
        least = min(levels.leaves(nothing.targets))
        path = self.paths.to_state(least, nothing.level)
        shown = self.builder.replayed(path)
        try:
            self.implementation.stands_for(shown.steps[-1].state)
        except EvaluationError as error:
            words = story(self.builder.interpreter.model, shown)
            canonical = path.canonical and nothing.whole
            result.evaluation = EvaluationFailure(error.what, error.where, None, shown, canonical, words)
            result.exit_code = Exit.EVALUATION
            return
        raise AssertionError("the kernel cannot map a state that the reference semantics maps")
