"""Every model at its smallest interesting settings, whose search ends within a second, and the answers there."""

from __future__ import annotations

import random
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from functools import cache, cached_property
from typing import Any, Final

import numpy as np

from isrcheck.checker.engines.explicit.search import search
from isrcheck.checker.registry.loader import load_model_class
from isrcheck.checker.results.exploration import Exploration, Limits
from isrcheck.model.language import EvaluationError, Model, UnknownName
from isrcheck.model.language.errors import line_of
from isrcheck.model.semantics.concrete_state import holds, initial_states
from isrcheck.model.semantics.expressions import evaluate
from isrcheck.model.semantics.interpreter import Interpreter
from isrcheck.model.semantics.tracing import trace
from isrcheck.model.semantics.transition_system import TransitionSystem

TINY: Final = {"replicas": 2, "log_size": 1, "max_records": 1, "max_leader_epoch": 1}
READERS: Final = {"retries": 1, "consumers": True}
MOVING: Final = {"max_records": 1, "log_size": 1, "max_leader_epoch": 1, "assigned_at_start": 1, "reassignments": 1}
QUESTIONS: Final[dict[str, tuple[str, dict[str, Any]]]] = {
    "async-isr": ("async-isr", {"replicas": 2, "max_offset": 1, "max_version": 1}),
    "truncate-to-hw": ("truncate-to-hw", TINY),
    "kip-101": ("kip-101", TINY),
    "kip-279": ("kip-279", TINY),
    "kip-320-first-try": ("kip-320-first-try", TINY),
    "kip-320": ("kip-320", TINY),
    "primary-backup": ("primary-backup", {**TINY, **READERS, "acks_one": True, "crashes": 1}),
    "majority": ("majority", {**TINY, **READERS, "crashes": 1}),
    "majority, late messages": ("majority", {**TINY, "lossy_crashes": 1, "late_messages": 1}),
    "majority, longest log": ("majority", {**TINY, "crashes": 1, "vote": "longest-log"}),
    "majority, first record": ("majority", {**TINY, "max_leader_epoch": 2, "log_size": 2}),
    "majority, votes at once": ("majority", {**TINY, "replicas": 3, "votes": "at-once"}),
    "v1": ("v1", {**TINY, **READERS, "acks_one": True, "crashes": 1}),
    "v1, moving": ("v1", {**MOVING, "expiries": 1}),
    "v2": ("v2", {**TINY, **READERS, "acks_one": True, "crashes": 1, "truncation": "kip-101"}),
    "v2, moving": ("v2", {**MOVING, "expiries": 1, "lifecycle": True}),
    "v2, moving and starting": ("v2", {**MOVING, "crashes": 1}),
    "v3": ("v3", {**TINY, **READERS, "acks_one": True, "crashes": 1, "truncation": "kip-101"}),
    "v3, moving": ("v3", {**MOVING, "expiries": 1, "truncation": "kip-279"}),
    "v3, late replies": ("v3", {**TINY, "crashes": 1, "truncation": "kip-279", "truncation_reply": "checked"}),
    "v3, two controllers": (
        "v3",
        {**TINY, "expiries": 1, "controller_failover": True, "command_check": "controller-epoch"},
    ),
    "alter-isr": ("alter-isr", {**TINY, "retries": 1, "crashes": 1}),
    "alter-isr, moving": ("alter-isr", MOVING),
    "kraft": ("kraft", {**TINY, "max_version": 2, "metadata_lag": 1, "fetch": "one-step", "expiries": 1}),
    "kraft, restarts": ("kraft", {**TINY, "max_version": 1, "metadata_lag": 1, "crashes": 1, "expiries": 0}),
}
"""The model and settings of each question, by name. Each model needs a question, with failures, that takes a second."""
UNFIT: Final = {("v1", "leader_isr_is_of_its_replicas")}
"""An invariant that seems to fit, but with moving partitions reads a part that this model's replicas do not have."""
SAMPLED: Final = 500
MIXED: Final = 80


@dataclass(frozen=True)
class Answer:
    """The answers: `evaluated` has the numbers of states in which each invariant is true, false and undefined.

    In these states each variable has the value of one of two reachable states. Most of them are not reachable, so
    invariants are also false in some.
    """

    model: Model
    system: TransitionSystem
    found: Exploration
    evaluated: dict[str, list[int]]
    invariants: dict[str, Callable[..., Any]]

    def where(self, name: str) -> str:
        """The `file:line` of an action or invariant."""
        action = self.model.actions().get(name.replace("-", "_")) or self.model.actions().get(name)
        return line_of(self.invariants[name] if action is None else action)

    def without_value(self) -> str | None:
        """A message about a method undefined in a reachable state, with its `file:line`; None if there is none."""
        if self.found.error is None:
            return None
        _, leaves, instance = self.found.error
        state = self.system.decode(leaves)
        interpreter = Interpreter(self.model, self.invariants)
        try:
            if instance is not None:
                label = self.system.transitions[instance].label
                what = f"action {label.action}"
                interpreter.step(state, interpreter.labels.index(label))
            for name, predicate in {**interpreter.constraints, **self.invariants, **interpreter.goals}.items():
                what = name
                holds(self.model, state, predicate)
        except EvaluationError as error:
            values = dict(zip(self.model.domains, state, strict=True))
            return f"{what} ({error.where}) has no value: {error.what}; in {values}"
        return "something, and the reference semantics finds nothing wrong"

    @cached_property
    def data(self) -> dict[str, Any]:
        """The data to record."""
        generated = {
            name: list(counts)
            for name, counts in zip(self.system.actions, zip(*self.found.generated, strict=True), strict=True)
        }
        return {
            "levels": self.found.levels,
            "generated": generated,
            "violated": dict(sorted(self.found.violated.items())),
            "judged": self.evaluated,
        }


@cache
def answer(question: str) -> Answer:
    name, settings = QUESTIONS[question]
    loaded = load_model_class(name)
    model = loaded.cls(**settings)
    (first, *_) = initial_states(model)
    before = {x for other in _before(question) for x in answer(other).evaluated} - loaded.chosen(None).keys()
    asked = {name: method for name, method in sorted(loaded.invariants.items()) if name not in before}
    asked = {name: method for name, method in asked.items() if _fits(model, first, method)}
    system = trace(model, asked)
    found, levels = search(
        system, keep_going=True, deadlock=False, limits=Limits(states=20_000), report=None, workers=1
    )
    # Sorted, since an engine may have the states of a level in any order.
    rows = np.unique(np.concatenate([x for level in range(1, levels.depth + 1) for x in levels.blocks(level)]), axis=0)
    some = rows[:: max(1, len(rows) // SAMPLED)]
    reached = [system.decode(map(int, row)) for row in levels.kernel.layout.unpack(some)]
    generator = random.Random(1)
    mixed = [tuple(map(generator.choice, zip(*generator.choices(reached, k=2), strict=True))) for _ in range(MIXED)]
    evaluated = {name: [0, 0, 0] for name in asked}
    roots = [root for invariant in system.invariants for root in (invariant.holds, invariant.failure)]
    for state in mixed:
        values = iter(evaluate(roots, system.encode(state)))
        for invariant, true, undefined in zip(system.invariants, values, values, strict=True):
            evaluated[invariant.name][2 if undefined else 1 - true] += 1
    return Answer(model, system, found, evaluated, asked)


def _before(question: str) -> list[str]:
    """Earlier questions about the same model, which have checked most of its invariants. Tracing those is slow."""
    names = list(QUESTIONS)
    return [x for x in names[: names.index(question)] if QUESTIONS[x][0] == QUESTIONS[question][0]]


def _fits(model: Model, state: Any, method: Any) -> bool:
    """True if an invariant can be checked at these settings. It raises if it is about a disabled feature."""
    if (model.name(), method.__name__) in UNFIT:
        return False
    with suppress(EvaluationError):
        try:
            holds(model, state, method)
        except UnknownName:
            return False
    return True
