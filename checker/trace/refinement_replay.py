"""Checks recorded traces of a refinement again, with nothing but the methods of the two models and the mapping."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from heapq import heappop, heappush
from typing import Any, Final

from isrcheck.checker.results.result import Trace
from isrcheck.checker.results.state_text import differences
from isrcheck.checker.results.story import Change, Story
from isrcheck.model.language.domains import Domain
from isrcheck.model.language.errors import EvaluationError
from isrcheck.model.language.model import Model
from isrcheck.model.language.properties import Asked
from isrcheck.model.language.refinements import mapped
from isrcheck.model.semantics.concrete_state import initial_states
from isrcheck.model.semantics.concrete_values import State
from isrcheck.model.semantics.interpreter import Interpreter

MOST: Final = 10_000
"""The most states of a specification that one search explores. A search of this size takes some seconds."""


@dataclass(frozen=True)
class Implementation:
    """A model, the specification that it should refine, and the mapping between them.

    A step of the model must correspond to at most `steps` steps of the specification. If `steps` is None, it may
    correspond to any number of steps.
    """

    model: Model
    specification: Interpreter
    mapping: Callable[[Any, Any], Any]
    steps: int | None

    def stands_for(self, state: State) -> State:
        """The specification's state that a state of the model represents. Raises `EvaluationError` if there is none."""
        return mapped(self.model, self.specification.model, self.mapping, state)

    def objection(self, states: list[State]) -> str | None:
        """None if the refinement first fails in the last state of a path. Otherwise the reason why it does not.

        A step for which `allows` returns None is never this reason. Raises `EvaluationError` if the mapping is
        undefined in a state.
        """
        seen = [self.stands_for(state) for state in states]
        begins = seen[0] in initial_states(self.specification.model)
        if len(seen) == 1:
            return "it is an initial state of the specification" if begins else None
        if not begins:
            return "it is not an initial state of the specification"
        for k in range(1, len(seen)):
            allowed, last = self.allows(seen[k - 1], seen[k]), k == len(seen) - 1
            if allowed is not None and allowed == last:
                return f"the specification {'allows' if last else 'does not allow'} step {k + 1}"
        return None

    def allows(self, a: State, b: State) -> bool | None:
        """Whether at most `steps` steps of the specification lead from a to b (any number if `steps` is None).

        No step is needed if a equals b. An undefined step leads nowhere. The search is breadth first if `steps` is a
        number. Otherwise the search first expands the states that are most like b. The search gives up after more than
        `MOST` states, because more would take too much time. Then the result is None if b is not among these states.
        """
        it = self.specification
        goal, taken = it.leaves(b), {a: 0}
        pending = [(0, 0, a)]
        while pending and b not in taken and len(taken) <= MOST:
            *_, state = heappop(pending)
            if taken[state] == self.steps:
                continue
            for _, after in it.steps(state):
                if not isinstance(after, EvaluationError) and after not in taken:
                    taken[after] = taken[state] + 1
                    unlike = sum(x != y for x, y in zip(it.leaves(after), goal, strict=True))
                    heappush(pending, (unlike if self.steps is None else taken[after], len(taken), after))
        return True if b in taken else None if pending else False


def widened(
    trace: Trace, specification: str, variables: Sequence[tuple[str, Domain]], beside: Sequence[State]
) -> Trace:
    """A trace that also has the variables of a specification. Their names begin with the specification's name.

    `beside` has the specification's state for each state of the trace.
    """
    theirs = tuple((f"{specification}.{name}", domain) for name, domain in variables)
    both = zip(trace.steps, beside, strict=True)
    steps = tuple(replace(step, state=(*step.state, *state)) for step, state in both)
    return replace(trace, variables=(*trace.variables, *theirs), steps=steps)


def widened_story(story_so_far: Story, trace: Trace) -> Story:
    """A story that also tells the changes in the specification. `trace` has the variables of both models."""
    sentences = []
    for sentence in story_so_far.sentences:
        old, new = (trace.steps[i].state for i in (sentence.position - 2, sentence.position - 1))
        changes = tuple(Change(*change) for change in differences(trace.variables, old, new))
        sentences.append(replace(sentence, changes=changes))
    return replace(story_so_far, sentences=tuple(sentences))


class Implementing(Interpreter):
    """An interpreter with the methods of a model and the properties of a specification.

    It evaluates a property in the state of the specification that a state of the model represents.
    """

    def __init__(self, implementation: Implementation) -> None:
        super().__init__(implementation.model, {}, implementation.specification.properties)
        self._implementation = implementation

    def asked(self, state: State, name: str) -> dict[Asked, tuple[bool, ...]]:
        """The value of a specification's property in the state that a state of the model represents."""
        found = self._implementation
        return found.specification.asked(found.stands_for(state), name)
