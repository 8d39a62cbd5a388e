"""Turns a history that only one of two models has into a story with two endings, and replays both endings.

Model A has the history, and model B lacks it. The first ending is the last step of A. The history before this step can
lead B to several states. The second ending begins in the one of these states that differs least from A's state before
the step. In this state of B, the step with the same name as A's step (or with the most similar name) is refused, leads
elsewhere, or does not exist.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable
from dataclasses import asdict, dataclass
from difflib import get_close_matches
from typing import Any, Final, Literal

from isrcheck.checker.analysis.inclusion.subset_construction import Witness
from isrcheck.checker.analysis.inclusion.visible_graph import Graph
from isrcheck.checker.results.condition_text import Words
from isrcheck.checker.results.result import Step, Trace, story_json
from isrcheck.checker.results.state_text import label_text, part_text
from isrcheck.checker.results.story import Difference, Read, Story
from isrcheck.checker.trace.fixed_run import alike, false_conjunct, texts
from isrcheck.checker.trace.narration import story
from isrcheck.checker.trace.step_replay import unmet_requirement
from isrcheck.model.language.errors import EvaluationError
from isrcheck.model.language.model import as_parameter
from isrcheck.model.semantics.concrete_values import State
from isrcheck.model.semantics.transition_system import Label

LIKE: Final = 0.5
"""Two names count as the old and the new name of one action if they are at least this similar (from 0 to 1)."""


@dataclass(frozen=True)
class Ending:
    """What becomes of the last step of a history in the model that lacks this history.

    `step` is the most similar step of this model. As `how` says, the step is `refused`, leads `elsewhere`, or is
    `absent`. For a refused step, `source` is the text of the requirement that is not met, and `where` is its place
    (`file:line`). `condition` is the false part of the requirement, and `reads` has the values that this part reads. An
    undefined step counts as refused, and `source` is then the error. `room` is true if only bounds of the search
    (`s.room`) keep the step from changing the state. Such a refusal is no difference of the protocols. For a step that
    leads elsewhere, `differs` has the parts of the state that differ after the step.
    """

    how: Literal["refused", "elsewhere", "absent"]
    step: str | None = None
    where: str | None = None
    source: str | None = None
    condition: str | None = None
    reads: tuple[Read, ...] = ()
    differs: tuple[Difference, ...] = ()
    room: bool = False

    def to_json(self) -> dict[str, Any]:
        return asdict(self)


@dataclass(frozen=True)
class Endings:
    """The story of a behaviour that only one model has, and the story of the other model up to the difference.

    `other` is None if the other model has no initial state with the same visible part.
    """

    trace: Trace
    story: Story
    other: Trace | None
    other_story: Story | None
    ending: Ending

    @property
    def same_steps(self) -> bool:
        """Whether both models take the same steps (actions with parameters) up to the difference."""
        mine = [step.label for step in self.trace.steps[:-1]]
        return self.other is not None and mine == [step.label for step in self.other.steps]

    def to_json(self) -> dict[str, Any]:
        other = None if self.other is None else story_json(self.other, self.other_story)
        return {
            "length": self.trace.length,
            "trace": story_json(self.trace, self.story),
            "other": other,
            "ending": self.ending.to_json(),
        }


def endings(left: Graph, right: Graph, found: Witness) -> Endings:
    """The two endings of a difference, replayed by the reference semantics of both models."""
    trace = replayed(left, found.states, found.transitions)
    left_story = story(left.interpreter.model, trace)
    if not found.right:
        return Endings(trace, left_story, None, None, Ending("absent"))
    history = _history(left, found.states[:-1])
    states, transitions = _way(right, history, _nearest(left, right, found))
    other = replayed(right, states, transitions)
    return Endings(trace, left_story, other, story(right.interpreter.model, other), _ending(left, right, trace, other))


def replayed(graph: Graph, states: Iterable[int], transitions: Iterable[int]) -> Trace:
    """Replays a path of a graph. Raises `AssertionError` if the reference semantics does not allow the path."""
    it, system = graph.interpreter, graph.system
    expected = [system.decode(leaves) for leaves in graph.leaves(states)]
    steps = [Step(None, None, expected[0])]
    if it.leaves(expected[0]) not in system.initial:
        raise AssertionError("a behaviour does not start in an initial state")
    for transition, state in zip(transitions, expected[1:], strict=True):
        label = system.transitions[transition].label
        number = it.labels.index(label)
        if it.step(steps[-1].state, number) != state:
            raise AssertionError(f"the reference semantics does not allow {label}")
        steps.append(Step(it.labels[number], it.actors[number], state))
    return Trace(tuple(it.model.domains.items()), tuple(steps))


# --- the way of the other model -------------------------------------------------------------------------------------


def _history(graph: Graph, states: Iterable[int]) -> list[int]:
    history: list[int] = []
    for n in states:
        if history[-1:] != [graph.visible[n]]:
            history.append(graph.visible[n])
    return history


def _nearest(left: Graph, right: Graph, found: Witness) -> int:
    """The state in `found.right` that differs in the fewest scalars from the last but one state in `found.states`."""
    (own,) = left.leaves(found.states[-2:-1])
    here, there = _words(left), _words(right)
    shared = _shared(here, there)
    values = {i: here.value(i, own[i]) for i, _ in shared}
    known: dict[tuple[int, int], str] = {}

    def value(j: int, leaf: int) -> str:
        if (j, leaf) not in known:
            known[j, leaf] = there.value(j, leaf)
        return known[j, leaf]

    far = [sum(values[i] != value(j, leaves[j]) for i, j in shared) for leaves in right.leaves(found.right)]
    return min(zip(far, found.right, strict=True))[1]


def _way(graph: Graph, history: list[int], end: int) -> tuple[list[int], list[int]]:
    """The states and transitions of a shortest path with this history to the state `end`. Such a path must exist."""
    starts = [(n, 0) for n in graph.initial if graph.visible[n] == history[0]]
    came: dict[tuple[int, int], tuple[tuple[int, int], int] | None] = dict.fromkeys(starts)
    queue = deque(starts)
    while queue and (end, len(history) - 1) not in came:
        node = queue.popleft()
        n, k = node
        graph.expand([n])
        for c, transition in graph.steps[n] or ():
            same = graph.visible[c] == history[k]
            if same or (k + 1 < len(history) and graph.visible[c] == history[k + 1]):
                after = (c, k if same else k + 1)
                if after not in came:
                    came[after] = node, transition
                    queue.append(after)
    states, transitions, node = [end], list[int](), (end, len(history) - 1)
    while (before := came[node]) is not None:
        node, transition = before
        states.append(node[0])
        transitions.append(transition)
    return states[::-1], transitions[::-1]


# --- where they part ------------------------------------------------------------------------------------------------


def _ending(left: Graph, right: Graph, trace: Trace, other: Trace) -> Ending:
    last = trace.steps[-1]
    assert last.label is not None
    label = _counterpart(last.label, right.interpreter.labels)
    if label is None:
        return Ending("absent")
    it, state = right.interpreter, other.steps[-1].state
    try:
        after = it.step(state, it.labels.index(label))
    except EvaluationError as error:
        return Ending("refused", label_text(label), error.where, error.what)
    if after is None:
        return _refused(right, other, label)
    return Ending("elsewhere", label_text(label), differs=tuple(_differences(left, right, last.state, after)))


def _counterpart(label: Label, labels: list[Label]) -> Label | None:
    """The first of `labels` with the same action as `label` and the same values of the shared parameters.

    If there is none, returns one with exactly the parameters and values of `label` and with the most similar action
    name. Returns None if no such name is similar enough (`LIKE`).
    """
    same = next((other for other in labels if alike(other, label)), None)
    if same is not None:
        return same
    fitting = [other for other in labels if texts(other) == texts(label)]
    names = get_close_matches(label.action, sorted({other.action for other in fitting}), n=1, cutoff=LIKE)
    return next((other for other in fitting if other.action in names), None)


def _refused(right: Graph, other: Trace, label: Label) -> Ending:
    it, state = right.interpreter, other.steps[-1].state
    arguments = [as_parameter(d, v) for d, (_, v) in zip(label.domains, label.parameters, strict=True)]
    unmet = unmet_requirement(it.model, state, it.model.actions()[label.action], arguments)
    if unmet is None:
        return Ending("absent", label_text(label))
    condition, reads = false_conjunct(it.model, [it.leaves(step.state) for step in other.steps], label)
    room = it.would_change(state, it.labels.index(label))
    return Ending("refused", label_text(label), unmet.where, unmet.condition, condition, reads, room=room)


def _differences(left: Graph, right: Graph, here: State, there: State) -> Iterable[Difference]:
    """The parts that both models have and that differ between the state `here` and the state `there`."""
    mine, theirs = _words(left), _words(right)
    a, b = left.interpreter.leaves(here), right.interpreter.leaves(there)
    shared = _shared(mine, theirs)
    parts = dict.fromkeys(mine.part(i) for i, j in shared if mine.value(i, a[i]) != theirs.value(j, b[j]))
    for part in parts:
        yield Difference(part, part_text(mine.variables, here, part), part_text(theirs.variables, there, part))


def _words(graph: Graph) -> Words:
    return Words(tuple(graph.interpreter.model.domains.items()))


def _shared(here: Words, there: Words) -> list[tuple[int, int]]:
    """The scalars that both models have: for each scalar, its position in each model."""
    positions = {path: j for j, path in enumerate(there.paths)}
    return [(i, positions[path]) for i, path in enumerate(here.paths) if path in positions]
