"""Turns the exploration of an engine into verdicts, replayed traces, and an exit code."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Final

from isrcheck.checker.analysis.free_memory import peak_memory
from isrcheck.checker.results.exploration import Exploration, Limits, Path, Paths
from isrcheck.checker.results.result import (
    ChangeEffect,
    EvaluationFailure,
    Exit,
    Instance,
    InvariantResult,
    Result,
    Step,
    Trace,
    Verdict,
)
from isrcheck.checker.trace.causes import causes
from isrcheck.checker.trace.narration import story
from isrcheck.checker.trace.trace_evaluation import EvaluatedTrace, last_held
from isrcheck.model.language.errors import EvaluationError
from isrcheck.model.language.setting_constraints import inert_settings, left_out
from isrcheck.model.semantics.concrete_state import explain, holds, initial_states
from isrcheck.model.semantics.expressions import Expression
from isrcheck.model.semantics.interpreter import Interpreter
from isrcheck.model.semantics.tracing import sentence_of
from isrcheck.model.semantics.transition_system import TransitionSystem

DEADLOCK: Final = "No instance of any action is enabled."


@dataclass
class ResultBuilder:
    """Makes verdicts and traces from the exploration of an engine.

    `system` is the searched system. For each action instance of the engine, `numbers` has the index of the same
    instance in the interpreter. The engine gives only paths, and the builder replays each path.
    """

    name: str
    interpreter: Interpreter
    system: TransitionSystem
    exploration: Exploration
    paths: Paths
    numbers: list[int]
    change: ChangeEffect | None = None

    def result(self, engine: str, deadlock: bool, fail_on_vacuity: bool, limits: Limits) -> Result:
        exploration, model, absent = self.exploration, self.interpreter.model, self.system.absent
        aimed_at = [name for name in self.interpreter.goals if name not in model.goals_switched_off]
        invariants = {name: self._invariant_result(name) for name in self.interpreter.invariants}
        stuck = self._deadlock() if deadlock else None
        generated = list(map(list, zip(*exploration.generated, strict=True))) or [[] for _ in self.interpreter.actions]
        counted = exploration.unrolled is None
        actions = dict(zip(self.interpreter.actions, generated, strict=True))
        verdict = self._verdict([*invariants.values(), *([stuck] if stuck else [])])
        result = Result(
            model=self.name,
            settings=dict(model.settings),
            unrecorded=model.unrecorded,
            engine=engine,
            workers=exploration.workers,
            verdict=verdict,
            exit_code=Exit.HOLDS,
            reason=reason(exploration, limits),
            failure=exploration.disk_error,
            initial_states=exploration.initial,
            levels=exploration.levels,
            generated=actions,
            rejected=exploration.rejected,
            left=sum(exploration.levels[len(exploration.generated) :]),
            invariants=invariants,
            bounds={name: name in exploration.bounds for name in self.interpreter.bounds if counted},
            actions_never_fired=[n for n, of in actions.items() if counted and not any(of) and n not in absent],
            actions_without_instance=sorted(absent),
            goals=list(self.interpreter.goals),
            goals_never_reached=[name for name in aimed_at if counted and name not in exploration.goals],
            goals_switched_off=model.goals_switched_off,
            bounds_not_explored=[name for name in self.interpreter.bounds if name in self.system.unexplored],
            inert=inert_settings(model),
            left_out=left_out(model),
            deadlock=stuck,
            evaluation=self._evaluation(),
            degrees=self._degrees(),
            partial=exploration.partial,
            peak_rss_bytes=peak_memory(),
            store_bytes=exploration.peak_store_bytes,
            sorting_bytes=exploration.sorting_bytes,
            extra=exploration.extra,
            orbits=exploration.orbits,
            unrolled=None if exploration.unrolled is None else exploration.depth,
            change=self.change,
            system=None if model.releases is None else model.releases.described(model),
        )
        if exploration.disk_error is not None and exploration.stopped != "disk":
            result.reason = "; ".join(filter(None, (result.reason, exploration.disk_error)))
        result.exit_code = _exit_code(
            result, exploration, fail_on_vacuity, asks_nothing=result.asks_nothing and not self.interpreter.properties
        )
        return result

    def _verdict(self, invariants: list[InvariantResult]) -> Verdict:
        verdicts = {outcome.verdict for outcome in invariants}
        if "violated" in verdicts:
            return "violated"
        return "incomplete" if self.exploration.stopped or "incomplete" in verdicts else "holds"

    def _degrees(self) -> tuple[int, float, int] | None:
        if self.exploration.degrees is None:
            return None
        expanded = sum(self.exploration.levels[: len(self.exploration.generated)])
        least, greatest = self.exploration.degrees
        return least, sum(map(sum, self.exploration.generated)) / expanded, greatest

    def _invariant_result(self, name: str) -> InvariantResult:
        predicate = self.interpreter.invariants[name]
        sentence, level = sentence_of(predicate), self.exploration.violated.get(name)
        if level is None:
            depth = self.exploration.depth if self.exploration.stopped else None
            return InvariantResult("incomplete" if self.exploration.stopped else "holds", sentence, checked_depth=depth)
        path = self._to_violation(name, level)
        shown = self._violating(name, path)
        instance = Instance(*explain(self.interpreter.model, shown.steps[-1].state, predicate))
        exact = path.canonical and name not in self.exploration.partial_violations
        return InvariantResult(
            "violated",
            sentence,
            shown,
            exact,
            instance,
            last_held=last_held(self.interpreter.model, predicate, shown, instance),
            causes=causes(EvaluatedTrace(self.interpreter.model, shown, self._condition(name), self.system)),
            story=story(self.interpreter.model, shown),
        )

    def _condition(self, name: str) -> Expression:
        return next(predicate.holds for predicate in self.system.invariants if predicate.name == name)

    def violating(self, name: str, level: int) -> Trace:
        """The trace to a state that violates an invariant. `level` is the first level with such a state."""
        return self._violating(name, self._to_violation(name, level))

    def _to_violation(self, name: str, level: int) -> Path:
        return self._first_violating(name) if level == 1 else self.paths.to_violation(name, level)

    def _violating(self, name: str, path: Path) -> Trace:
        shown = self.replayed(path)
        if name not in self.interpreter.violated(shown.steps[-1].state):
            raise AssertionError(f"the trace for {name} does not end in a violation")
        return shown

    def _first_violating(self, name: str) -> Path:
        states = [x for x in initial_states(self.interpreter.model) if name in self.interpreter.violated(x)]
        return Path(min(map(self.interpreter.leaves, states)), ())

    def _deadlock(self) -> InvariantResult:
        level = self.exploration.deadlock
        if level is None:
            # If a search stops, not all states of the last level are expanded. One of these states may be a deadlock.
            depth = self.exploration.expanded if self.exploration.stopped else None
            return InvariantResult("incomplete" if self.exploration.stopped else "holds", DEADLOCK, checked_depth=depth)
        path = self.paths.to_deadlock(level)
        shown = self.replayed(path)
        trace_story = story(self.interpreter.model, shown)
        return InvariantResult("violated", DEADLOCK, shown, path.canonical, story=trace_story)

    def _evaluation(self) -> EvaluationFailure | None:
        if self.exploration.error is None:
            return None
        level, leaves, instance = self.exploration.error
        path = self.paths.to_state(leaves, level)
        shown = self.replayed(path)
        number = None if instance is None else self.numbers[instance]
        error = self._error(shown.steps[-1].state, number)
        label = None if number is None else self.interpreter.labels[number]
        trace_story = story(self.interpreter.model, shown)
        return EvaluationFailure(error.what, error.where, label, shown, path.canonical, trace_story)

    def _error(self, state: Any, instance: int | None) -> EvaluationError:
        """The error that the reference semantics raises in a state in which an engine found an error."""
        it = self.interpreter
        try:
            if instance is not None:
                it.step(state, instance)
            for predicate in [
                *it.constraints.values(),
                *it.invariants.values(),
                *it.goals.values(),
                *it.bounds.values(),
            ]:
                holds(it.model, state, predicate)
            for name in it.properties:
                it.asked(state, name)
        except EvaluationError as error:
            return error
        raise AssertionError("the engine finds an error that the reference semantics does not")

    def replayed(self, path: Path) -> Trace:
        """The trace of a path, replayed by the reference semantics, which must allow each step."""
        it = self.interpreter
        state = next(x for x in initial_states(it.model) if it.leaves(x) == path.start)
        steps = [Step(None, None, state)]
        for instance in path.instances:
            number = self.numbers[instance]
            after = it.step(state, number)
            if after is None:
                raise AssertionError(f"the reference semantics does not allow {it.labels[number]}")
            state = after
            steps.append(Step(it.labels[number], it.actors[number], state))
        return Trace(tuple(it.model.domains.items()), tuple(steps))


def reason(exploration: Exploration, limits: Limits) -> str | None:
    """Why a run did not finish, in words: a limit, an interruption, an error, or a solver that gave up.

    Returns None for a run that finished, for a search that stopped at a violation, and for a sample of random walks.
    """
    match exploration.stopped:
        case "states":
            return f"more than {limits.states} states (--max-states)"
        case "depth":
            return f"depth {limits.depth} reached (--depth)"
        case "unknown":
            return f"z3 gave up: {exploration.why}"
        case "memory":
            limit = "the memory of this machine" if limits.memory is None else f"{limits.memory} bytes (--max-memory)"
            return f"more memory needed than {limit}"
        case "time":
            return f"time limit of {limits.seconds:g} s reached (--max-seconds)"
        case "interrupt":
            return "interrupted"
        case "disk":
            return exploration.disk_error
        case "error":
            return "the model cannot be evaluated in some state"
    return None


def _exit_code(result: Result, exploration: Exploration, fail_on_vacuity: bool, asks_nothing: bool) -> int:
    codes = {Exit.HOLDS}
    if exploration.error is not None:
        codes.add(Exit.EVALUATION)
    if any(outcome.verdict == "violated" for outcome in result.invariants.values()):
        codes.add(Exit.VIOLATED)
    if result.deadlock is not None and result.deadlock.verdict == "violated":
        codes.add(Exit.DEADLOCK)
    if exploration.stopped == "interrupt":
        codes.add(Exit.INTERRUPTED)
    if exploration.stopped in ("states", "depth", "memory", "time", "unknown"):
        codes.add(Exit.LIMIT)
    inactive = result.change is not None and result.change.never
    unseen = result.actions_never_fired or result.goals_never_reached
    if fail_on_vacuity and (unseen or asks_nothing or inactive):
        codes.add(Exit.DIFFERENCE)
    if exploration.disk_error is not None and not codes & Exit.FOUND:
        codes.add(Exit.OUTPUT)
    return next(code for code in Exit.PRECEDENCE if code in codes)
