"""Explains why a trace ends in a violation: the facts behind the violation, and the steps that made each fact true.

The *facts* are the atomic conditions that make the violated conjunct false. For each value that a fact reads, the last
step that changed the value is a cause of the fact. Steps after the state in which the fact became true do not count.
The causes of a step are found in the same way, from the conditions of its guard and from the values that it reads to
compute new values. The reasons say what was read, and do not claim that a step was necessary.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field

from isrcheck.checker.results.condition_text import LONGEST, Words
from isrcheck.checker.results.story import Cause, Causes, Fact, Need
from isrcheck.checker.trace.trace_evaluation import EvaluatedTrace
from isrcheck.model.semantics.expressions import Expression, Leaf, has_more_leaves


@dataclass(frozen=True)
class Made:
    """A condition or a leaf (a scalar of the state) that was read in state number `state`.

    A step gave this condition or leaf (`what`) its value by changing `leaf`. If `what` has had its value since the
    first state, `leaf` is -1.
    """

    what: Expression
    state: int
    leaf: int


def causes(evaluated: EvaluatedTrace) -> Causes | None:
    """The reasons why `evaluated.violation` is false at the end of a trace, or None if there is no violation."""
    if evaluated.violation is None:
        return None
    graph = _Graph(evaluated, Words(evaluated.trace.variables))
    facts = evaluated.decide(evaluated.violation, evaluated.length)
    into = graph.causes(facts, evaluated.length)
    at_once: list[int] = []
    while len(into) == 1 and graph.into[end := next(iter(into))]:
        at_once.insert(0, end)
        into = graph.into[end]
    seen, found, latest = set(at_once), list[Cause](), {made.what: max(_makers(into, made)) for made in _all(into)}
    for end in sorted(into):
        steps = graph.backward_slice(end) - seen
        seen |= steps
        # If several steps caused a fact, the fact is shown only with the last of these steps. But if a step would have
        # no fact left, it keeps all its facts.
        own = [made for made in into[end] if latest[made.what] == end] or into[end]
        found.append(Cause(end, tuple(sorted(steps)), graph.facts(own)))
    start = [Made(atom, evaluated.length, -1) for atom in facts if evaluated.since(atom, evaluated.length) == 1]
    return Causes(tuple(at_once), tuple(found), graph.facts(start), graph.needs())


Edges = dict[int, list[Made]]
"""Maps each step to the conditions and leaves whose values this step caused."""
_Walk = Iterator["_Walk"]
"""A generator that yields each recursive call, and continues when this call has finished (see `_Graph.causes`)."""


def _all(into: Edges) -> list[Made]:
    return [made for causes in into.values() for made in causes]


def _makers(into: Edges, made: Made) -> list[int]:
    return [step for step, causes in into.items() if any(other.what is made.what for other in causes)]


@dataclass
class _Graph:
    """The causes of steps. `into` maps each step to the earlier steps that caused values which this step read."""

    evaluated: EvaluatedTrace
    words: Words
    into: dict[int, Edges] = field(default_factory=dict)
    _changes: dict[int, set[int]] = field(default_factory=dict)

    def causes(self, read: Iterable[Expression], m: int) -> Edges:
        """The steps that gave expressions their values in state m. Also adds the causes of these steps to `into`."""
        found: Edges = {}
        pending = [self._causes(read, m, found)]
        while pending:  # a loop, because a trace may be longer than Python's limit on nested calls
            deeper = next(pending[-1], None)
            if deeper is None:
                pending.pop()
            else:
                pending.append(deeper)
        return found

    def _causes(self, read: Iterable[Expression], m: int, found: Edges) -> _Walk:
        """A walk that adds the result of `causes` to `found`."""
        for e in read:
            for step, leaf in self._makers(e, m):
                found.setdefault(step, []).append(Made(e, m, leaf))
                yield self._add(step, leaf)

    def _makers(self, e: Expression, m: int) -> Iterator[tuple[int, int]]:
        """The steps that gave an expression its value in state m, each with a leaf that the step changed."""
        is_value = isinstance(e.value, Leaf) and e.kind != "flag"
        when = m if is_value else self.evaluated.since(e, m)
        for leaf in () if when == 1 else self.evaluated.reads(e, when):
            step = self.evaluated.last_change(leaf, when)
            if step is not None:
                yield step, leaf

    def _add(self, k: int, leaf: int) -> _Walk:
        """A walk that adds step k to `into`, with the causes of its guard and of the value that it gave to a leaf."""
        known = self._changes.setdefault(k, set())
        if leaf in known:
            return
        step, evaluated, first = self.evaluated.step(k), self.evaluated, not known
        known.add(leaf)
        edges = self.into.setdefault(k, {})
        read = [*(evaluated.decide(step.guard, k - 1) if first else ()), *evaluated.data(step.updates[leaf], k - 1)]
        behind: Edges = {}
        yield self._causes(read, k - 1, behind)
        for earlier, causes in behind.items():
            mine = edges.setdefault(earlier, [])
            mine += [made for made in causes if made not in mine]

    def backward_slice(self, end: int) -> set[int]:
        """A step and all earlier steps that it depends on."""
        found, pending = set[int](), [end]
        while pending:
            k = pending.pop()
            if k not in found:
                found.add(k)
                pending += self.into[k]
        return found

    def needs(self) -> dict[int, tuple[Need, ...]]:
        """For each step, the steps that it needs directly.

        These are the causes of the step, except a cause on which another cause of the same step depends.
        """
        return {k: tuple(self._needs(k)) for k in sorted(self.into)}

    def _needs(self, k: int) -> Iterator[Need]:
        behind = {a: self.backward_slice(a) - {a} for a in self.into[k]}
        for a in sorted(behind):
            if not any(a in behind[b] for b in behind):
                yield Need(a, "; ".join(fact.text for fact in self.facts(self.into[k][a])))

    def facts(self, causes: Iterable[Made]) -> tuple[Fact, ...]:
        """The facts about the conditions and leaves in `causes`, in words and without repetitions."""
        return tuple({fact.text: fact for fact in map(self._fact, reversed(list(causes)))}.values())[::-1]

    def _fact(self, made: Made) -> Fact:
        evaluated, words, e, m = self.evaluated, self.words, made.what, made.state
        read = evaluated.reads(e, m)
        values = {i: words.is_(i, evaluated.states[m - 1][i]) for i in (*read, made.leaf) if i >= 0}
        if isinstance(e.value, Leaf):
            text = values[e.value.index]
        elif has_more_leaves(e, LONGEST) or len(text := words.condition(e, bool(evaluated.value(e, m)))) > LONGEST:
            text = ", ".join(values.values()) if made.leaf < 0 else values[made.leaf]
        return Fact(text, evaluated.since(e, m), tuple(words.pair(i, evaluated.states[m - 1][i]) for i in read))
