"""A model as plain data: the input of every engine except the reference engine."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

from isrcheck.model.language.domains import Broker, BrokerSet, Domain, Value
from isrcheck.model.language.scalarset_members import BROKER, BrokerId
from isrcheck.model.semantics.expressions import FALSE, Expression, Leaf, render


@dataclass(frozen=True)
class Variable:
    """A variable of the state: its domain, and the index of its first leaf (a leaf is one stored integer)."""

    name: str
    domain: Domain
    start: int


@dataclass(frozen=True)
class Label:
    """The label of an action instance: the action's name in kebab-case, and the parameters with their domains."""

    action: str
    parameters: tuple[tuple[str, Value], ...]
    domains: tuple[Domain, ...] = field(repr=False, compare=False)

    def to_json(self) -> dict[str, Any]:
        return {n: d.to_json(v) for (n, v), d in zip(self.parameters, self.domains, strict=True)}

    def __str__(self) -> str:
        inner = ", ".join(f"{name}={shown(value)}" for name, value in self.to_json().items())
        return f"{self.action}({inner})"

    def members(self) -> Iterator[BrokerId]:
        """The members of scalarsets (such as brokers) that the parameters name; the members of a set in order."""
        for (_, value), domain in zip(self.parameters, self.domains, strict=True):
            if isinstance(domain, Broker) and value is not None:
                yield BrokerId(value, domain.of)
            elif isinstance(domain, BrokerSet):
                yield from (BrokerId(x, domain.element.of) for x in sorted(value))


def actor_of(actor: str, label: Label) -> str:
    """The actor of an instance: the value of the parameter that the text `actor` names, or else this text itself."""
    for (name, value), domain in zip(label.parameters, label.domains, strict=True):
        if name == actor and not isinstance(value, str):
            return f"{domain.of if isinstance(domain, Broker) else BROKER} {value}"
    return dict(label.parameters).get(actor, actor)  # type: ignore[no-any-return]


def shown(data: Any) -> str:
    """JSON data as text for people: a set or a sequence is `[...]`, and null is `none`."""
    if isinstance(data, dict):
        return "(" + ", ".join(f"{k} {shown(v)}" for k, v in data.items()) + ")"
    if isinstance(data, list):
        return "[" + ", ".join(map(shown, data)) + "]"
    return "none" if data is None else str(data).lower() if isinstance(data, bool) else str(data)


@dataclass(frozen=True)
class Transition:
    """An instance of an action: where `guard` holds, it gives new values to the leaves in `updates`.

    Other leaves keep their values. Where `failure` holds, the instance is undefined (a value leaves its domain), which
    is an evaluation error. Where `cut` holds, only conditions marked with `s.room` keep the instance from
    changing the state.
    """

    label: Label
    actor: str
    environment: bool
    guard: Expression
    updates: Mapping[int, Expression]
    failure: Expression
    cut: Expression = FALSE

    def __repr__(self) -> str:
        return f"{self.label}: {render(self.guard)} -> " + ", ".join(
            f"#{leaf} := {render(value)}" for leaf, value in self.updates.items()
        )


@dataclass(frozen=True)
class Predicate:
    """A condition on states, with its name and its sentence. Where `failure` holds, the condition is undefined."""

    name: str
    sentence: str
    holds: Expression
    failure: Expression


@dataclass(frozen=True)
class Question:
    """An instance of a property: does a fair behaviour enter a state of `source` and stay in `region` from there on?

    The behaviour must infinitely often visit states where `mark` holds. If `never` is not empty, the behaviour must
    also take actions of `never` infinitely often. If `initially` is true, only initial states are sources. For a
    `stable` property the question is whether a step leaves the region. Where `failure` holds, the property is
    undefined.
    """

    name: str
    choice: tuple[tuple[str, Any], ...]
    region: Expression
    source: Expression
    mark: Expression
    failure: Expression
    never: frozenset[str] = frozenset()
    stable: bool = False
    initially: bool = False


@dataclass(frozen=True)
class TransitionSystem:
    """Variables, initial states, transitions in the order of their labels, and predicates.

    `initial` has the initial states (as tuples of leaves), sorted and without repetitions. `actions` has the names
    of all actions, in alphabetical order. `absent` has the names of actions without an instance at these settings. The
    search continues only from states in which every constraint holds. `shut_out` has the instances whose guard is
    false in every state because of `s.room` conditions.
    """

    model: str
    settings: Mapping[str, Any]
    variables: tuple[Variable, ...]
    leaves: tuple[Leaf, ...]
    initial: tuple[tuple[int, ...], ...]
    actions: tuple[str, ...]
    transitions: tuple[Transition, ...]
    constraints: tuple[Predicate, ...]
    invariants: tuple[Predicate, ...]
    goals: tuple[Predicate, ...]
    bounds: tuple[Predicate, ...]
    absent: frozenset[str] = frozenset()
    shut_out: tuple[Transition, ...] = ()
    questions: tuple[Question, ...] = ()

    @cached_property
    def unexplored(self) -> frozenset[str]:
        """The settings whose bound holds in no state, because the bounded feature is switched off."""
        return frozenset(bound.name for bound in self.bounds if bound.holds is FALSE)

    @cached_property
    def actors(self) -> tuple[str, ...]:
        return tuple(sorted({t.actor for t in self.transitions}))

    def decode(self, leaves: Iterable[int]) -> tuple[Value, ...]:
        """The values of the variables in the state with these leaves."""
        rest = iter(leaves)
        return tuple(v.domain.decode(rest) for v in self.variables)

    def encode(self, state: Iterable[Value]) -> tuple[int, ...]:
        """The leaves of the state in which the variables have these values."""
        return tuple(x for v, value in zip(self.variables, state, strict=True) for x in v.domain.encode(value))
