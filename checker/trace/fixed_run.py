"""Finds the step at which a fix acts: the fixed design takes the steps of the trace until it differs from the trace.

The fixed version has states of its own. A value of a state matters if the rest of the trace depends on it. The fixed
version goes on as long as it allows the next step of the trace and then agrees with the trace in all values that
matter. If the fixed version does not allow a step, it may instead take another step of the same actor that makes the
same changes to the values that matter. A value that differs already in the initial states does not count as a
difference. The answer is about this trace only, not about other paths of the fixed version.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Final

from isrcheck.checker.results.condition_text import Words
from isrcheck.checker.results.result import Step
from isrcheck.checker.results.state_text import apart, label_text, part_at
from isrcheck.checker.results.story import Difference, Fix, Read, Run, Taken
from isrcheck.checker.trace.step_replay import unmet_requirement
from isrcheck.checker.trace.trace_evaluation import EvaluatedTrace, States
from isrcheck.model.language.errors import EvaluationError
from isrcheck.model.language.model import Model, as_parameter
from isrcheck.model.semantics.concrete_state import initial_states
from isrcheck.model.semantics.concrete_values import State
from isrcheck.model.semantics.interpreter import Interpreter
from isrcheck.model.semantics.tracing import instances_at
from isrcheck.model.semantics.transition_system import Label

LINE: Final = 90
"""If two values together have at most this many characters, both are shown whole, side by side."""


@dataclass(frozen=True)
class FixedVersion:
    """A fixed design: its name, its model, its differences from the model of the trace, and its invariants."""

    name: str
    model: Model
    changes: tuple[tuple[str, str, str], ...]
    invariants: dict[str, Any]


def fix(evaluated: EvaluatedTrace, invariant: str, fixed_version: FixedVersion) -> Fix:
    """The step at which a fixed design differs from a trace that violates an invariant, and how the design differs.

    If the fixed design allows the whole trace, the answer has no step.
    """
    return _Walk(evaluated, invariant, fixed_version).fix()


@dataclass
class _Walk:
    evaluated: EvaluatedTrace
    invariant: str
    fixed_version: FixedVersion
    interpreter: Interpreter = field(init=False)
    shared: tuple[tuple[int, int], ...] = field(init=False)
    """The scalars that both models have: for each scalar, its position in each model."""
    path: list[Taken] = field(init=False)
    """The initial state of the fixed version, then the steps that it has taken so far, each with the state after it."""

    def __post_init__(self) -> None:
        model, evaluated = self.fixed_version.model, self.evaluated
        chosen = {n: f for n, f in self.fixed_version.invariants.items() if n == self.invariant}
        self.interpreter = Interpreter(model, chosen)
        self.here, self.there = Words(evaluated.trace.variables), Words(tuple(model.domains.items()))
        theirs = {path: j for j, path in enumerate(self.there.paths)}
        self.shared = tuple((i, theirs[path]) for i, path in enumerate(self.here.paths) if path in theirs)
        first = [self._leaves(state) for state in initial_states(model)]
        nearest = min(range(len(first)), key=lambda n: len(self._different(1, first[n])))
        self.path = [Taken(None, None, initial_states(model)[nearest])]
        self.before = self._mattering(1, first[nearest])  # differences from the start on are no effect of a step

    def fix(self) -> Fix:
        for k in range(2, self.evaluated.length + 1):
            found = self._step(k)
            if found is not None:
                return replace(found, step=k, run=self._onward(k))
        return replace(self._passed(), run=self._run(range(self.evaluated.length)))

    def _fix(self, how: Any, **said: Any) -> Fix:
        settings = self.fixed_version.model.declared_settings()
        rules = tuple((n, settings[n].meaning) for n, _, _ in self.fixed_version.changes if n in settings)
        return Fix(self.fixed_version.name, self.fixed_version.changes, how, rules, **said)

    # --- one step -----------------------------------------------------------------------------------------------------

    def _step(self, k: int) -> Fix | None:
        """Takes the step into state k, or returns how the fixed version differs from the trace at this step."""
        step = self.evaluated.trace.steps[k - 1]
        assert step.label is not None
        named = self._named(step.label)
        reached = list(self._enabled(named))
        if not reached:
            other = self._renamed(k, step)
            if other is None:
                return self._refused(k, named)
            reached = [other]
        after = min(reached, key=lambda taken: len(self._mattering(k, self._leaves(taken.state))))
        if new := self._mattering(k, self._leaves(after.state)) - self.before:
            return self._fix(
                "differs", differs=tuple(self._differences(k, after.state, new)), rests_on=self._computed(k, new)
            )
        self.path.append(after)
        return None

    def _named(self, wanted: Label) -> list[int]:
        return [n for n, label in enumerate(self.interpreter.labels) if alike(label, wanted)]

    def _enabled(self, instances: Iterable[int]) -> Iterator[Taken]:
        for number in instances:
            try:
                after = self.interpreter.step(self.path[-1].state, number)
            except EvaluationError:
                continue  # the step is undefined there, so the fixed version does not take it
            if after is not None:
                yield Taken(self.interpreter.labels[number], self.interpreter.actors[number], after)

    def _renamed(self, k: int, step: Step) -> Taken | None:
        """A step of the fixed version in place of step k, with the same actor and the same changes that matter.

        A change matters if the rest of the trace depends on it. Returns None if there is no such step, or if step k
        makes no change that matters.
        """
        states, matter = self.evaluated.states, self.evaluated.relevant[k - 1]
        if not any(i in matter and states[k - 1][i] != states[k - 2][i] for i, _ in self.shared):
            return None
        same = [n for n, actor in enumerate(self.interpreter.actors) if actor == step.actor]
        found = self._enabled(same)
        return next((each for each in found if not self._mattering(k, self._leaves(each.state)) - self.before), None)

    def _refused(self, k: int, named: list[int]) -> Fix:
        model, state = self.fixed_version.model, self.path[-1].state
        instead = self._only_there(k - 1)
        for label in (self.interpreter.labels[n] for n in named):
            arguments = [as_parameter(d, v) for d, (_, v) in zip(label.domains, label.parameters, strict=True)]
            unmet = unmet_requirement(model, state, model.actions()[label.action], arguments)
            if unmet is not None:
                condition, reads = false_conjunct(model, [self._leaves(each.state) for each in self.path], label)
                return self._fix(
                    "refused", where=unmet.where, source=unmet.condition, condition=condition, reads=reads,
                    enabled=instead,
                )  # fmt: skip
        return self._fix("absent", enabled=instead)

    # --- beyond -------------------------------------------------------------------------------------------------------

    def _onward(self, k: int) -> Run:
        """The run of the fixed version: its steps so far, then the steps of the trace from step k on.

        Skips each step of the trace that the fixed version cannot take in the state that it has reached.
        """
        at: list[int | None] = [*range(k - 1)]
        for j in range(k, self.evaluated.length + 1):
            label = self.evaluated.trace.steps[j - 1].label
            assert label is not None
            reached = list(self._enabled(self._named(label)))
            if reached:
                self.path.append(min(reached, key=lambda each: len(self._different(j, self._leaves(each.state)))))
            at.append(len(self.path) - 1 if reached else None)
        return self._run(at)

    def _run(self, at: Iterable[int | None]) -> Run:
        violated = (self.interpreter.violated(each.state) for each in self.path)
        false = next((n for n, found in enumerate(violated) if self.invariant in found), None)
        return Run(self.fixed_version.model, tuple(self.path), tuple(at), false)

    # --- at the end ---------------------------------------------------------------------------------------------------

    def _passed(self) -> Fix:
        last = self.path[-1].state
        holds = self.interpreter.evaluated(last, self.interpreter.invariants).get(self.invariant)
        verdict = None if holds is None else "holds" if holds else "violated"
        return self._fix("allows", verdict=verdict, enabled=self._only_there(self.evaluated.length))

    def _only_there(self, k: int) -> tuple[str, ...]:
        """The steps possible for the fixed version in its last state, but not for the model of the trace in state k."""
        here = set(possible(Interpreter(self.evaluated.model, {}), self.evaluated.trace.steps[k - 1].state))
        return tuple(name for name in possible(self.interpreter, self.path[-1].state) if name not in here)

    # --- differences --------------------------------------------------------------------------------------------------

    def _leaves(self, state: State) -> tuple[int, ...]:
        return self.interpreter.leaves(state)

    def _same(self, k: int, i: int, j: int, leaves: tuple[int, ...]) -> bool:
        return self.here.value(i, self.evaluated.states[k - 1][i]) == self.there.value(j, leaves[j])

    def _different(self, k: int, leaves: tuple[int, ...]) -> list[tuple[int, int]]:
        """Those scalars of `shared` in which the fixed version's state differs from state k of the trace."""
        return [(i, j) for i, j in self.shared if not self._same(k, i, j, leaves)]

    def _mattering(self, k: int, leaves: tuple[int, ...]) -> set[int]:
        matter = self.evaluated.relevant[k - 1]
        return {i for i, j in self.shared if i in matter and not self._same(k, i, j, leaves)}

    def _differences(self, k: int, after: State, new: set[int]) -> Iterator[Difference]:
        """The parts of the state that have scalars in `new`, each with its value in state k and its value in `after`.

        If both values of a part fit in one line, the part is shown whole. Otherwise, if possible, only the pieces of
        the part that differ are shown.
        """
        here, there = self.evaluated.trace.variables, tuple(self.fixed_version.model.domains.items())
        for part in dict.fromkeys(self.here.part(i) for i in sorted(new)):
            state = self.evaluated.trace.steps[k - 1].state
            one, other = part_at(here, state, part), part_at(there, after, part)
            whole = part, one[0].text(one[1]), other[0].text(other[1])
            rows = [whole] if len(whole[1]) + len(whole[2]) <= LINE else [*apart(part, one, other)] or [whole]
            yield from (Difference(*row) for row in rows)

    def _computed(self, k: int, new: set[int]) -> tuple[Read, ...]:
        """The values from which step k of the trace computed the scalars that differ in the fixed version."""
        updates = self.evaluated.step(k).updates
        reads = dict.fromkeys(x for i in sorted(new) if i in updates for x in self.evaluated.reads(updates[i], k - 1))
        return _read(self.evaluated, self.here, reads, k - 1)


def possible(interpreter: Interpreter, state: State) -> list[str]:
    """The texts of the instances that are enabled in a state. Instances that are undefined there are left out."""
    steps = interpreter.steps(state)
    return [label_text(interpreter.labels[n]) for n, after in steps if not isinstance(after, EvaluationError)]


def false_conjunct(model: Model, path: Sequence[tuple[int, ...]], label: Label) -> tuple[str, tuple[Read, ...]]:
    """The part of a disabled instance's guard that is false, and the values that this part reads.

    The guard is evaluated in the last state of `path`. Each state of `path` is given as the integers of its leaves
    (scalars).
    """
    states, words = States(path), Words(tuple(model.domains.items()))
    last = states.length
    atoms = states.decide(instances_at(model, [label])[0].guard, last)
    text = " and ".join(words.condition(atom, bool(states.value(atom, last))) for atom in atoms)
    reads = dict.fromkeys(i for atom in atoms for i in states.reads(atom, last))
    return text, _read(states, words, reads, last)


def _read(states: States, words: Words, leaves: Iterable[int], m: int) -> tuple[Read, ...]:
    """The given leaves in state m, each with its value and the state since which it has this value."""
    found = []
    for i in leaves:
        changed = states.last_change(i, m)
        found.append(Read(*words.pair(i, states.states[m - 1][i]), 1 if changed is None else changed))
    return tuple(found)


def alike(a: Label, b: Label) -> bool:
    """Whether two labels have the same action, and the same values for all parameters that they share."""
    if a.action != b.action:  # The cheapest comparison first: a model has hundreds of instances.
        return False
    mine, theirs = texts(a), texts(b)
    return all(mine[name] == theirs[name] for name in mine.keys() & theirs.keys())


def texts(label: Label) -> dict[str, str]:
    """The text of each parameter's value in a label, by the name of the parameter."""
    return {name: d.text(value) for (name, value), d in zip(label.parameters, label.domains, strict=True)}
