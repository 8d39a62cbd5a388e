"""Answers the questions about an exploration. A question is an instance of a property.

If the exploration ended early, only the levels whose steps are known are examined.

Checks a stable property (once a condition is true, it stays true). Finds a shortest path to a violation.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any, Final

import numpy as np

from isrcheck.checker.analysis.liveness.fair_components import Decision, decided, fairness_used
from isrcheck.checker.analysis.liveness.lasso import Lasso, Lassos
from isrcheck.checker.analysis.liveness.region import Allowance, FairnessObligations, Flags
from isrcheck.checker.analysis.liveness.region_builder import Builder, flag, members
from isrcheck.checker.engines.explicit.levels import NativeLevels
from isrcheck.checker.results.exploration import Edges, Path
from isrcheck.checker.trace.canonical import back, canonical_walk
from isrcheck.model.language.fairness import Obligation
from isrcheck.model.semantics.transition_system import Question


def broken(
    levels: NativeLevels, known: int, number: int, actors: Sequence[str], allowance: Allowance
) -> tuple[Path | None, int]:
    """The canonical path whose last step makes a condition false, and the number of states in which it is true.

    The condition is `region` of the question with this number. If no step makes the condition false, the path is None.
    Only states of the first `known` levels are examined and counted.
    """
    bit, states, path = levels.kernel.verdicts.questions[number][0], 0, None
    for level in range(1, known + 1):
        leaving = []
        for kept in levels.blocks(level):
            block = members(levels, kept)
            allowance.take(0)
            inside = block[flag(levels.kernel.evaluate(block), bit)]
            states += len(inside)
            if path is None:
                successors, source, label, _ = levels.kernel.expand(inside)
                out = ~flag(levels.kernel.evaluate(successors), bit)
                leaving.append((inside[source[out]], label[out], successors[out]))
        if path is None and any(len(label) for _, label, _ in leaving):
            path = _path(levels, level, leaving, actors)
    return path, states


def _path(levels: NativeLevels, level: int, leaving: Sequence[Sequence[Any]], actors: Sequence[str]) -> Path:
    rows, label, after = (np.concatenate(column) for column in zip(*leaving, strict=True))
    sources, source = np.unique(rows, axis=0, return_inverse=True)
    targets, target = np.unique(after, axis=0, return_inverse=True)
    last = Edges(sources, targets, source.reshape(-1), label, target.reshape(-1))
    return canonical_walk(levels, back(levels, last, level), actors)[0]


COMPONENT: Final = 24
"""Bytes for each state in the search for strongly connected components. Sets of obligations are counted separately."""


@dataclass(frozen=True)
class Answer:
    """The answer to a question. The property is violated if the answer has a lasso.

    `region` counts the states of the question's region (see `isrcheck.checker.analysis.liveness.region`), and `vacuous`
    is true if there are none. For a stable property (a condition that stays true once it is true), the lasso is a path
    whose last step makes the condition false, and `region` counts the states in which the condition is true.
    `isrcheck.checker.analysis.liveness.fair_components` explains `only_excused` and the counts of ends and
    components. If the property holds, `fairness_used` names actions whose fairness is enough to make it hold.
    """

    question: Question
    vacuous: bool
    region: int
    lasso: Lasso | None
    fair_ends: int = 0
    fair_components: int = 0
    fair_states: int = 0
    unfair_components: int = 0
    excused_ends: int = 0
    excused_components: int = 0
    fairness_used: tuple[str, ...] = ()
    only_excused: bool = False


def answers(
    levels: NativeLevels, known: int, obligations: Sequence[Obligation], allowance: Allowance
) -> Iterator[Answer]:
    """Yields the answer to each question of the system. Raises `NotAllowed` at a limit of memory or time.

    The answers are about the states of the first `known` levels. If there are more levels, a lasso is still valid,
    because every step from its states is known. But then the absence of a lasso says nothing.
    """
    system = levels.system
    instances = [*system.transitions, *system.shut_out]
    promises, actors = FairnessObligations.made(obligations, len(instances)), [t.actor for t in system.transitions]
    builder = Builder(levels, known, promises, allowance)
    for number, question in enumerate(system.questions):
        allowance.begin(builder.held)
        if question.stable:
            found, sources = broken(levels, known, number, actors, allowance)
            yield Answer(question, not sources, sources, None if found is None else Lasso(found, ()))
            continue
        never = np.array([t.label.action in question.never for t in instances], dtype=np.bool_)
        yield _answer(builder, number, never if question.never else None, actors)


def _answer(builder: Builder, number: int, never: Flags | None, actors: Sequence[str]) -> Answer:
    levels, promises, allowance = builder.levels, builder.promises, builder.allowance
    question = levels.system.questions[number]
    region = builder.region(number)
    if not region.size:
        return Answer(question, True, 0, None)
    # The memory for finding components: some numbers for each state, and three sets of obligations for each component.
    # A component has at least two states, so there are at most half as many components as states.
    allowance.take(region.size * (COMPONENT + 2 * region.enabled.itemsize * region.enabled.shape[1]))
    decision = Decision(region, promises, never)
    found = decided(decision)
    fair = len(found.ends) or found.components
    return Answer(
        question,
        vacuous=False,
        region=found.region,
        lasso=Lassos(levels, region, promises, never, actors).of(found) if fair else None,
        fair_ends=len(found.ends),
        fair_components=len(found.components),
        fair_states=sum(map(len, found.components)),
        unfair_components=found.unfair,
        excused_ends=found.excused_ends,
        excused_components=found.excused_components,
        fairness_used=()
        if fair
        else tuple(fairness_used(decision, bool(found.excused_ends + found.excused_components))),
        only_excused=found.only_excused,
    )
