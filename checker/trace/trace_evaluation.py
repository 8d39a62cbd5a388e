"""Evaluates a trace with its model: what each step requires and assigns, and what decides a condition in a state.

An *atom* is a condition that is not an `and`, `or`, `not` or constant. States are counted from 1. *Step* k leads from
state k - 1 to state k.

The value of an expression at each state of a trace.

Finds the last state of a trace in which an invariant's `last_held` condition was true.

The decorator `last_held` adds such a condition to an invariant: for example, that every member of the ISR has the
record.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from functools import cached_property
from typing import Any, Final

from isrcheck.checker.results.result import Instance, LastHeld, Trace
from isrcheck.model.language.descriptions import SeenState
from isrcheck.model.language.domains import Flag
from isrcheck.model.language.model import Model
from isrcheck.model.language.scalarset_members import BrokerId, NoBroker
from isrcheck.model.language.text_conditions import value_of
from isrcheck.model.semantics.concrete_state import leaves_of, said
from isrcheck.model.semantics.concrete_values import Part, Plain, PlainFlag, State, Undefined
from isrcheck.model.semantics.expressions import SEMANTICS, Expression, Leaf, is_constant, topological
from isrcheck.model.semantics.tracing import instances_at, predicate_at, traced_value
from isrcheck.model.semantics.transition_system import Transition, TransitionSystem


def evaluated(model: Model, states: Sequence[State], text: str) -> list[str]:
    """The value of an expression in each state, as text. Raises `ModelError` for a mistake in the expression.

    If the expression is undefined in a state, its text for this state says why. First, the expression is run
    symbolically, because this finds mistakes that an evaluation in a state hides. For example, a comparison
    with a misspelt value of an enum is simply false in every state.
    """
    traced_value(model, lambda m, s: value_of(text, m, s))
    return [_shown(said(model, state, lambda m, s: value_of(text, m, s))) for state in states]


def _shown(value: Any) -> str:
    match value:
        case Undefined():
            return f"undefined: {value._failure.what}"
        case Part():
            return value._domain.text(value._plain)
        case Plain():
            return value.domain.text(value.value)
        case PlainFlag():
            return Flag().text(value.value)
        case bool():
            return Flag().text(value)
        case BrokerId():
            return str(value.number)
        case frozenset():
            return "{" + ", ".join(sorted(_shown(x) for x in value)) + "}"
        case None:
            return "none"
        case int() | str() | NoBroker():
            return str(value)
    return repr(value)


JUNCTIONS: Final = {"and": 0, "or": 1}
"""For each operator, the value of an argument that decides the result alone: 0 (false) for `and`, 1 (true) for `or`."""


class States:
    """Computes the value of an expression in a state of a path, and the state since which it has had this value.

    A state is given as the integers of its leaves. A leaf stores one scalar of the state.
    """

    def __init__(self, states: Sequence[tuple[int, ...]]) -> None:
        self.states = states
        self._values: list[dict[Expression, int]] = [{} for _ in states]

    @property
    def length(self) -> int:
        return len(self.states)

    def value(self, e: Expression, m: int) -> int:
        """The integer value of an expression in state m."""
        values, leaves = self._values[m - 1], self.states[m - 1]
        if e not in values:
            for node in topological([e]):
                if node in values:
                    continue
                if isinstance(node.value, Leaf):
                    values[node] = leaves[node.value.index]
                elif isinstance(node.value, int):
                    values[node] = node.value
                else:
                    values[node] = SEMANTICS[node.operator](*(values[x] for x in node.arguments))
        return values[e]

    def since(self, e: Expression, m: int) -> int:
        """The first state k such that an expression has the same value in all states from k to m."""
        while m > 1 and self.value(e, m - 1) == self.value(e, m):
            m -= 1
        return m

    def decide(self, e: Expression, m: int) -> tuple[Expression, ...]:
        """The atoms that decide the value of a condition in state m.

        If one argument of an `and` or `or` is enough to decide, only this argument is taken. If there are several such
        arguments, the one that has had its value longest is taken.
        """
        if is_constant(e):
            return ()
        if e.operator == "not":
            return self.decide(e.arguments[0], m)
        if e.operator not in JUNCTIONS:
            return (e,)
        alone = [a for a in e.arguments if self.value(a, m) == JUNCTIONS[e.operator]]
        chosen = [min(alone, key=lambda a: self.since(a, m))] if alone else e.arguments
        return _distinct(atom for a in chosen for atom in self.decide(a, m))

    def data(self, e: Expression, m: int) -> tuple[Expression, ...]:
        """The atoms and leaves from which an expression is computed in state m. Branches not taken do not count."""
        if isinstance(e.value, Leaf):
            return (e,)
        if e.kind == "flag":
            return self.decide(e, m)
        if e.operator == "if":
            condition, yes, no = e.arguments
            taken = yes if self.value(condition, m) else no
            return _distinct([*self.decide(condition, m), *self.data(taken, m)])
        return _distinct(x for a in e.arguments for x in self.data(a, m))

    def reads(self, e: Expression, m: int) -> tuple[int, ...]:
        """The leaves that an expression reads in state m. Branches that are not taken do not count."""
        if isinstance(e.value, Leaf):
            return (e.value.index,)
        inner = self.data(e, m) if e.operator in ("if", *JUNCTIONS, "not") else e.arguments
        return tuple(dict.fromkeys(x for a in inner for x in self.reads(a, m)))

    def last_change(self, leaf: int, m: int) -> int | None:
        """The last step, up to the step into state m, that changes a leaf. Returns None if no step changes the leaf."""
        states = self.states
        return next((k for k in range(m, 1, -1) if states[k - 1][leaf] != states[k - 2][leaf]), None)


class EvaluatedTrace(States):
    """A trace with labels, the transitions that its steps take, and the conjunct that is false at its end.

    The violated predicate is a function of the model, or a condition over the model's leaves. `system` has all
    transitions of the model, if they are already computed. Otherwise this class computes the transitions of the trace.
    """

    def __init__(
        self,
        model: Model,
        trace: Trace,
        predicate: Callable[..., Any] | Expression | None,
        system: TransitionSystem | None = None,
    ) -> None:
        super().__init__([leaves_of(model, step.state) for step in trace.steps])
        self.model, self.trace = model, trace
        self._predicate, self._system = predicate, system

    @cached_property
    def _transitions(self) -> list[Transition]:
        labels = [step.label for step in self.trace.steps[1:] if step.label is not None]
        if self._system is None:
            return instances_at(self.model, labels)
        known = {transition.label: transition for transition in self._system.transitions}
        return [known[label] for label in labels]

    def step(self, k: int) -> Transition:
        """The transition that leads to state k."""
        return self._transitions[k - 2]

    @cached_property
    def violation(self) -> Expression | None:
        """The first false conjunct of the violated predicate in the last state, or None if there is no predicate."""
        if self._predicate is None:
            return None
        said = self._predicate
        whole = said if isinstance(said, Expression) else predicate_at(self.model, "", said).holds
        parts = whole.arguments if whole.operator == "and" else (whole,)
        return next(part for part in parts if not self.value(part, self.length))

    @cached_property
    def relevant(self) -> list[frozenset[int]]:
        """For each state, its leaves on which the later steps or the violation at the end depend."""
        end = self.violation
        needed = [frozenset(() if end is None else self.reads(end, self.length))]
        for k in range(self.length, 1, -1):
            step, after = self.step(k), needed[-1]
            kept = after - step.updates.keys()
            computed = [x for i in after & step.updates.keys() for x in self.reads(step.updates[i], k - 1)]
            needed.append(kept | {*computed, *self.reads(step.guard, k - 1)})
        return needed[::-1]


def _distinct(found: Iterable[Expression]) -> tuple[Expression, ...]:
    return tuple(dict.fromkeys(found))


def last_held(model: Model, predicate: Callable[..., Any], trace: Trace, instance: Instance) -> LastHeld | None:
    """The last state in which the `last_held` condition of an invariant is true.

    Returns None if the invariant has no such condition. If the condition is false in all states of the trace, the
    `state` of the result is None.
    """
    words = getattr(predicate, "__last_held__", None)
    if words is None:
        return None
    what, holds = words
    last, choice = SeenState(model, trace.steps[-1].state), dict(instance.choice)
    positions = [i for i, s in enumerate(trace.steps, 1) if holds(model, SeenState(model, s.state), last, **choice)]
    return LastHeld(what, positions[-1] if positions else None)
