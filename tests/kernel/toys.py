"""Toy transition systems, built by hand, and a search on them in a few lines of plain Python."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from isrcheck.model.language.domains import Number
from isrcheck.model.semantics.expressions import (
    FALSE,
    TRUE,
    Expression,
    Kind,
    Leaf,
    add,
    and_,
    constant,
    eq,
    evaluate,
    has,
    le,
    leaf,
    lt,
    not_,
    only,
    or_,
    size,
    union,
)
from isrcheck.model.semantics.transition_system import Label, Predicate, Transition, TransitionSystem, Variable


def number(value: int) -> Expression:
    return constant("number", value)


def leaves_of(*specifications: tuple[Kind, int, int]) -> tuple[Leaf, ...]:
    return tuple(Leaf(i, f"x{i}", kind, low, high) for i, (kind, low, high) in enumerate(specifications))


def transition(
    action: str, guard: Expression, updates: Mapping[int, Expression], failure: Expression = FALSE, which: int = 0
) -> Transition:
    label = Label(action, (("which", which),), (Number(0, max(which, 1)),))
    return Transition(label, "someone", False, guard, updates, failure)


def predicate(name: str, holds: Expression, failure: Expression = FALSE) -> Predicate:
    return Predicate(name, f"{name}.", holds, failure)


def system(
    leaves: Sequence[Leaf],
    initial: Sequence[Sequence[int]],
    transitions: Sequence[Transition],
    constraints: Sequence[Predicate] = (),
    invariants: Sequence[Predicate] = (),
    goals: Sequence[Predicate] = (),
    bounds: Sequence[Predicate] = (),
) -> TransitionSystem:
    actions = tuple(sorted({t.label.action for t in transitions} | {"never"}))
    variables = tuple(Variable(x.path, Number(x.low, x.high), x.index) for x in leaves)
    return TransitionSystem(
        model="toy",
        settings={},
        variables=variables,
        leaves=tuple(leaves),
        initial=tuple(sorted({tuple(row) for row in initial})),
        actions=actions,
        transitions=tuple(transitions),
        constraints=tuple(constraints),
        invariants=tuple(invariants),
        goals=tuple(goals),
        bounds=tuple(bounds),
    )


def grid(sides: Sequence[int], low: int = 0, **predicates: Sequence[Predicate]) -> TransitionSystem:
    """Counters from `low`; counter i goes up to `low + sides[i] - 1`. Each step adds one to one counter."""
    leaves = leaves_of(*(("number", low, low + side - 1) for side in sides))
    steps = [
        transition(f"step-{i % 2}", lt(leaf(x), number(x.high)), {i: add(leaf(x), number(1))}, which=i)
        for i, x in enumerate(leaves)
        if x.low < x.high
    ]
    return system(leaves, [[low] * len(sides)], steps, **predicates)


def ring(brokers: int) -> TransitionSystem:
    """A token that moves around a ring or is lost, and the set of its former holders; leaves of every kind."""
    full = (1 << brokers) - 1
    leaves = leaves_of(("broker", -1, brokers - 1), ("set", 0, full), ("flag", 0, 1), ("enum", 0, 2), ("number", -2, 2))
    token, seen, lost, mood, steps = map(leaf, leaves)
    here = [eq(token, constant("broker", b)) for b in range(brokers)]
    transitions = [
        transition(
            "pass",
            and_(here[b], not_(lost)),
            {0: constant("broker", (b + 1) % brokers), 1: union(seen, only(token, brokers))},
            which=b,
        )
        for b in range(brokers)
    ]
    transitions += [
        transition("lose", and_(has(seen, token), le(steps, number(1))), {0: constant("broker", -1), 2: TRUE}),
        transition(
            "find",
            lost,
            {0: constant("broker", 0), 2: FALSE, 4: add(steps, number(1))},
            and_(lost, lt(number(1), steps)),
        ),
        transition("smile", lt(number(0), size(seen)), {3: constant("enum", 2)}),
        transition("again", eq(mood, constant("enum", 2)), {}),
    ]
    everyone = eq(seen, constant("set", full))
    return system(
        leaves,
        [(0, 0, 0, 1, -2), (1, 0, 0, 0, -1)],
        transitions,
        invariants=[predicate("token-or-lost", or_(lost, not_(eq(token, constant("broker", -1)))))],
        goals=[predicate("everyone", everyone), predicate("nobody-smiles", and_(everyone, eq(mood, number(7))))],
        bounds=[predicate("steps-used", eq(steps, number(2)))],
    )


# --- the same in plain Python ---------------------------------------------------------------------------------------

State = tuple[int, ...]


@dataclass
class Explored:
    """The result of a search by `explore`, in the form of `Exploration`."""

    levels: list[list[State]] = field(default_factory=list)
    generated: list[list[int]] = field(default_factory=list)
    rejected: int = 0
    violated: dict[str, int] = field(default_factory=dict)
    goals: dict[str, int] = field(default_factory=dict)
    bounds: dict[str, int] = field(default_factory=dict)
    degrees: tuple[int, int] | None = None
    deadlock: int | None = None


def successors(of: TransitionSystem, state: State) -> list[tuple[int, State]]:
    found = []
    for i, t in enumerate(of.transitions):
        enabled, failing = evaluate([t.guard, t.failure], state)
        if enabled and not failing:
            following = list(state)
            for position, value in zip(t.updates, evaluate(list(t.updates.values()), state), strict=True):
                following[position] = value
            found.append((i, tuple(following)))
    return found


def explore(of: TransitionSystem) -> Explored:
    """Explores everything, level by level. Violations do not end the search, and failures are not detected."""
    found, known = Explored(), set[State]()
    pending = list(of.initial)
    while pending:
        level = len(found.levels) + 1
        fresh = []
        for state in pending:
            inside = all(evaluate([c.holds for c in of.constraints], state))
            found.rejected += not inside
            _note(found.violated, of.invariants, state, level, 0)
            if inside and state not in known:
                known.add(state)
                fresh.append(state)
                _note(found.goals, of.goals, state, level, 1)
                _note(found.bounds, of.bounds, state, level, 1)
        if not fresh:
            break
        found.levels.append(fresh)
        counts = dict.fromkeys(of.actions, 0)
        pending = []
        for state in fresh:
            following = successors(of, state)
            for i, successor in following:
                counts[of.transitions[i].label.action] += 1
                pending.append(successor)
            degree = len(following)
            least, greatest = found.degrees or (degree, degree)
            found.degrees = min(least, degree), max(greatest, degree)
            if degree == 0 and found.deadlock is None:
                found.deadlock = level
        found.generated.append(list(counts.values()))
    return found


def _note(into: dict[str, int], predicates: Sequence[Predicate], state: State, level: int, wanted: int) -> None:
    for p in predicates:
        holds, failing = evaluate([p.holds, p.failure], state)
        if holds == wanted and not failing:
            into.setdefault(p.name, level)
