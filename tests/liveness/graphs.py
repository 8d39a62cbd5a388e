"""Random graphs, as models and as plain tables, and true answers about them, found by trying all subsets of states."""

from __future__ import annotations

import random
from collections import deque
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from itertools import combinations, pairwise
from typing import Any, ClassVar

from isrcheck.model.language import (
    Model,
    action,
    always_eventually,
    constraint,
    eventually,
    eventually_always,
    eventually_never,
    every,
    initial,
    leads_to,
    number,
    some,
    stable,
    when,
)

STATES = 7
INSTANCES = 3
ACTIONS = ("apart", "disturb", "free", "grouped", "handled", "handled-too", "strongly", "weakly")
SOMEONE = ("handled", "handled-too", "strongly", "weakly")
"""The actions of one of the two actors."""
WEAK = ("weakly", "grouped", "both")
"""The beginnings of the names of weak obligations."""
STRONG = ("strongly", "apart")
"""The beginnings of the names of strong obligations."""
KINDS = ("always-comes", "comes", "comes-again", "goes-on", "leads", "settles")


@dataclass(frozen=True)
class Instance:
    """An instance with its steps from the states in which it is enabled. In states of `roomless` it has no room."""

    action: str
    number: int
    leads: tuple[tuple[int, int], ...]
    roomless: frozenset[int]


@dataclass(frozen=True)
class Graph:
    """A graph with states 0 to 6. States in `starts` are initial; states outside `counted` violate the constraint."""

    instances: tuple[Instance, ...]
    starts: frozenset[int]
    counted: frozenset[int]
    first: frozenset[int]
    second: frozenset[int]

    def model(self) -> type[Model]:
        return type("Random", (OfGraph,), {"graph": self})

    def of(self, action: str, k: int) -> Instance:
        return next(x for x in self.instances if (x.action, x.number) == (action, k))


def among(s: Any, states: Iterable[int]) -> Any:
    return some(s.n == x for x in sorted(states))


class OfGraph(Model):
    """A graph: one variable says at which state it is."""

    abstract = True
    graph: ClassVar[Graph]

    def variables(self) -> dict[str, Any]:
        return {"n": number(0, STATES - 1)}

    @initial(k=number(0, STATES - 1))
    def initial(self, s: Any, k: int) -> None:
        s.require(k in self.graph.starts)
        s.n = k

    @constraint
    def is_counted(self, s: Any) -> Any:
        """States that are explored."""
        return among(s, self.graph.counted)

    def go(self, s: Any, name: str, k: int) -> None:
        instance = self.graph.of(name, k)
        if not instance.leads:
            return
        s.require(among(s, dict(instance.leads)), s.room(every(s.n != x for x in sorted(instance.roomless))))
        after: Any = s.n
        for a, b in instance.leads:
            after = when(s.n == a, b, after)
        s.n = after

    @action(k=number(0, INSTANCES - 1), actor="someone")
    def weakly(self, s: Any, k: int) -> None:
        """Each instance is fair."""
        self.go(s, "weakly", k)

    @action(k=number(0, INSTANCES - 1), actor="someone", fair="strong")
    def strongly(self, s: Any, k: int) -> None:
        """Each instance is strongly fair."""
        self.go(s, "strongly", k)

    @action(k=number(0, INSTANCES - 1), actor="another", fair="none")
    def free(self, s: Any, k: int) -> None:
        """It need not happen."""
        self.go(s, "free", k)

    @action(k=number(0, INSTANCES - 1), actor="another", environment=True)
    def disturb(self, s: Any, k: int) -> None:
        """Nothing is promised of it."""
        self.go(s, "disturb", k)

    @action(k=number(0, INSTANCES - 1), actor="another", together=())
    def grouped(self, s: Any, k: int) -> None:
        """All instances are one promise."""
        self.go(s, "grouped", k)

    @action(k=number(0, INSTANCES - 1), actor="another", fair="strong", together=())
    def apart(self, s: Any, k: int) -> None:
        """All instances are one strong promise."""
        self.go(s, "apart", k)

    @action(k=number(0, INSTANCES - 1), actor="someone", handler="both")
    def handled(self, s: Any, k: int) -> None:
        """One half of a handler."""
        self.go(s, "handled", k)

    @action(k=number(0, INSTANCES - 1), actor="someone", handler="both")
    def handled_too(self, s: Any, k: int) -> None:
        """The other half."""
        self.go(s, "handled-too", k)

    @leads_to
    def leads(self, s: Any) -> Any:
        """The first leads to the second."""
        return among(s, self.graph.first), among(s, self.graph.second)

    @eventually
    def comes(self, s: Any) -> Any:
        """The first comes."""
        return among(s, self.graph.first)

    @always_eventually
    def comes_again(self, s: Any) -> Any:
        """The first comes again and again."""
        return among(s, self.graph.first)

    @eventually_always
    def always_comes(self, s: Any) -> Any:
        """In the end the first is there for ever."""
        return among(s, self.graph.first)

    @eventually_never("free", "strongly")
    def settles(self, s: Any) -> Any:
        """As long as the first is there two actions do not go on."""
        return among(s, self.graph.first)

    @stable
    def goes_on(self, s: Any) -> Any:
        """The first stays."""
        return among(s, self.graph.first)


def drawn(seed: int) -> Graph:
    """A random graph. Few of its actions have many steps, so that there are both fair and unfair cycles."""
    dice = random.Random(seed)
    size = dice.randint(3, STATES)
    some_states = lambda share: frozenset(x for x in range(size) if dice.random() < share)  # noqa: E731
    kinds = dice.sample(ACTIONS, dice.randint(2, 5))
    roomy = dice.random() < 0.5
    found = []
    for name in ACTIONS:
        for k in range(INSTANCES):
            share = dice.choice((0.15, 0.3, 0.5)) if name in kinds and (k == 0 or dice.random() < 0.4) else 0.0
            leads = tuple((a, dice.randrange(size)) for a in range(size) if dice.random() < share)
            roomless = frozenset(a for a, _ in leads if roomy and dice.random() < 0.2)
            found.append(Instance(name, k, leads, roomless))
    starts = frozenset({0}) | (some_states(0.2) if dice.random() < 0.3 else frozenset())
    counted = frozenset(range(STATES)) if dice.random() < 0.7 else some_states(0.8) | starts
    return Graph(tuple(found), starts, counted, some_states(0.5), some_states(0.3))


def deep(seed: int) -> Graph:
    """A random graph in layers, in which many paths of equal length lead to the last layer, and no step leaves it."""
    dice = random.Random(seed)
    shapes = [[0, 1], [2, 3], [4], [5, 6]], [[0], [1, 2], [3, 4], [5, 6]], [[0, 1, 2], [3], [4], [5], [6]]
    layers = dice.choice(shapes)
    kinds, dense = dice.sample(ACTIONS, 4), dice.choice((0.15, 0.3, 0.6))
    found = []
    for name in ACTIONS:
        for k in range(INSTANCES):
            leads = list[tuple[int, int]]()
            for here, there in pairwise([*layers, layers[-1]]):
                share = (dense if there != here else 0.3) if name in kinds else 0.0
                leads += [(a, dice.choice(there)) for a in here if dice.random() < share]
            found.append(Instance(name, k, tuple(leads), frozenset()))
    first = frozenset(dice.sample(range(STATES), dice.randint(0, 3)))
    second = frozenset(dice.sample(range(STATES), dice.randint(0, 1)))
    return Graph(tuple(found), frozenset(layers[0]), frozenset(range(STATES)), first, second)


# --- by every subset --------------------------------------------------------------------------------------------


Label = tuple[str, int]


@dataclass(frozen=True)
class Truth:
    """The true answer to a question: its region, fair ends, and the states of fair sets that can be visited for ever.

    `prefix` is the length of a shortest path to a violation, or None. `raw_ends` are the ends if `roomless` is ignored.
    `sets` has the sets of states that can be visited for ever. `has_behaviour` says whether a step leaves the region or
    a fair behaviour stays in it, whatever it means for the question.
    """

    region: frozenset[int]
    ends: frozenset[int]
    fair: frozenset[int]
    prefix: int | None
    raw_ends: frozenset[int]
    sets: tuple[frozenset[int], ...]
    sources: frozenset[int]
    marked: frozenset[int]
    never: frozenset[str]
    has_behaviour: bool


class Brute:
    """A graph with its steps, and for each state the obligations that are enabled there, with and without room."""

    def __init__(self, graph: Graph) -> None:
        self.graph = graph
        self.steps: dict[int, list[tuple[str, str, int]]] = {a: [] for a in range(STATES)}
        self.labelled: dict[int, list[tuple[Label, str, int]]] = {a: [] for a in range(STATES)}
        self.open: dict[int, set[str]] = {a: set() for a in range(STATES)}
        self.raw: dict[int, set[str]] = {a: set() for a in range(STATES)}
        for x in graph.instances:
            promise = self.promise(x)
            for a, b in x.leads:
                if a != b:
                    self.open[a].add(promise)
                    if a not in x.roomless and b in graph.counted:
                        self.raw[a].add(promise)
                        self.steps[a].append((x.action, promise, b))
                        self.labelled[a].append(((x.action, x.number), promise, b))
        for promises in (*self.open.values(), *self.raw.values()):
            promises.discard("")

    @staticmethod
    def promise(x: Instance) -> str:
        """The name of an instance's obligation; empty if it has none."""
        if x.action in ("free", "disturb"):
            return ""
        if x.action in ("handled", "handled-too"):
            return f"both {x.number}"
        return x.action if x.action in ("grouped", "apart") else f"{x.action} {x.number}"

    def reached(self, sources: Iterable[int], within: frozenset[int]) -> frozenset[int]:
        found = set(sources) & within
        queue = deque(found)
        while queue:
            for _, _, b in self.steps[queue.popleft()]:
                if b in within and b not in found:
                    found.add(b)
                    queue.append(b)
        return frozenset(found)

    def strongly_connected(self, states: frozenset[int]) -> bool:
        return all(self.reached([a], states) == states for a in states)

    def is_fair(self, states: frozenset[int], marked: frozenset[int], never: frozenset[str]) -> bool:
        """True if a fair behaviour can visit exactly these states for ever. It may take every step among them."""
        inner = [(action, promise) for a in states for action, promise, b in self.steps[a] if b in states]
        if not inner or not self.strongly_connected(states):
            return False
        if not states & marked or (never and not any(action in never for action, _ in inner)):
            return False
        taken = {promise for _, promise in inner}
        for promise in set().union(*(self.open[a] for a in states)) - taken:
            if promise.startswith(STRONG) or all(promise in self.open[a] for a in states):
                return False
        return True

    def truth(self, kind: str, depth: int = STATES) -> Truth:
        """The true answer for the states that can be reached within `depth` states."""
        graph, everything = self.graph, frozenset(range(STATES))
        level = {state: k for state, k in self.levels().items() if k <= depth}
        known = frozenset(level)
        not_first, marked, never = everything - graph.first, everything, frozenset[str]()
        region, sources = not_first, not_first
        if kind == "leads":
            region, sources = everything - graph.second, graph.first - graph.second
        elif kind == "comes":
            sources = not_first & graph.starts
        elif kind == "always-comes":
            region, sources, marked = everything, everything, not_first
        elif kind == "settles":
            region, sources, never = graph.first, graph.first, frozenset({"free", "strongly"})
        begun = region & sources & known
        closed = self.reached(begun, region & known)
        ends = frozenset(a for a in closed & marked if not self.open[a] and not never)
        raw = frozenset(a for a in closed & marked if not self.raw[a] and not never)
        sets = tuple(c for c in subsets(closed) if self.is_fair(c, marked, never))
        fair = frozenset(a for c in sets for a in c)
        prefix = self.prefix(level, begun, region & known, ends | fair)
        leaves = any(b not in region for a in closed for _, _, b in self.steps[a])
        stays = any(not self.open[a] for a in closed)
        turns = any(self.is_fair(c, everything, frozenset()) for c in subsets(closed))
        return Truth(closed, ends, fair, prefix, raw, sets, begun, marked, never, leaves or stays or turns)

    def levels(self) -> dict[int, int]:
        """The length, in states, of a shortest path to each state."""
        found = dict.fromkeys(self.graph.starts & self.graph.counted, 1)
        queue = deque(sorted(found))
        while queue:
            a = queue.popleft()
            for _, _, b in self.steps[a]:
                if b not in found:
                    found[b] = found[a] + 1
                    queue.append(b)
        return found

    def prefix(self, level: dict[int, int], begun: frozenset[int], within: frozenset[int], goal: frozenset[int]) -> Any:
        """The least length, over all sources, of a path to the source and then inside the region to the goal."""
        best: int | None = None
        for source in begun:
            distance, layer = level[source], frozenset({source})
            seen = layer
            while layer:
                if layer & goal:
                    best = distance if best is None else min(best, distance)
                    break
                layer = frozenset(b for a in layer for _, _, b in self.steps[a] if b in within) - seen
                seen, distance = seen | layer, distance + 1
        return best

    def lasso(self, truth: Truth) -> tuple[int, tuple[Label, ...], tuple[Label, ...]]:
        """The canonical lasso, literally by its definition: its first state, and the labels of its prefix and cycle."""
        assert truth.prefix is not None
        starts = sorted(self.graph.starts & self.graph.counted)
        goals, left = truth.ends, list[Walk]()
        while not left:
            for start in starts:  # the least state that such a way begins at
                left = left or list(self.walks(start, truth.prefix, truth, goals, start in truth.sources))
            goals = truth.fair
        for k in range(truth.prefix - 1):
            label = min(left, key=lambda walk: (changes(walk.labels[max(k - 1, 0) :]), walk.labels[k])).labels[k]
            left = [walk for walk in left if walk.labels[k] == label]
        ((start, labels, last),) = {(walk.states[0], walk.labels, walk.states[-1]) for walk in left}
        return start, labels, () if last in truth.ends else self.cycle(last, truth)

    def walks(self, at: int, length: int, truth: Truth, goals: frozenset[int], begun: bool) -> Iterator[Walk]:
        """All walks of `length` states from a state to a goal that pass a source and then stay inside the region."""
        if length == 1:
            if begun and at in goals:
                yield Walk((at,), ())
            return
        for label, _, b in self.labelled[at]:
            since = (begun and b in truth.region) or b in truth.sources
            rest = self.walks(b, length - 1, truth, goals, since)
            yield from (Walk((at, *walk.states), (label, *walk.labels)) for walk in rest)

    def cycle(self, entry: int, truth: Truth) -> tuple[Label, ...]:
        """The least of the shortest fair closed walks from `entry` in the states that can be visited for ever."""
        inside = frozenset(a for c in truth.sets if entry in c for a in c)
        strong = {a: frozenset(p for p in self.open[a] if p.startswith(STRONG)) for a in inside}
        needed = frozenset(self.open[entry] - strong[entry])
        needed |= {"state"} if not truth.never and entry not in truth.marked else set()
        needed |= {"step"} if truth.never else set()
        layer = {(entry, frozenset[str](), needed | strong[entry]): tuple[Label, ...]()}
        while True:
            after: dict[tuple[int, frozenset[str], frozenset[str]], tuple[Label, ...]] = {}
            for (a, met, due), labels in layer.items():
                for label, promise, b in self.labelled[a]:
                    if b not in inside:
                        continue
                    idle = {p for p in needed if p not in self.open[b] and p.startswith(WEAK)}
                    marks = {"state"} if b in truth.marked else set()
                    marks |= {"step"} if label[0] in truth.never else set()
                    node = b, met | {promise} | idle | marks, due | strong[b]
                    after[node] = min(after.get(node, ((*labels, label))), (*labels, label))
            layer = after
            closed = [labels for (b, met, due), labels in layer.items() if b == entry and due <= met]
            if closed:
                return min(closed)

    def leaves_what_is_stable(self) -> bool:
        """True if a step leads from a state of `first` to a state outside."""
        levels, first = self.levels(), self.graph.first
        escapes = [(x, a, b) for x in self.graph.instances for a, b in x.leads if a not in x.roomless]
        return any(a in levels and a in first and b not in first for _, a, b in escapes)


@dataclass(frozen=True)
class Walk:
    """The states of a walk, and the labels of the steps between them."""

    states: tuple[int, ...]
    labels: tuple[Label, ...]


def changes(labels: tuple[Label, ...]) -> int:
    """The number of changes of actor between successive steps."""
    return sum((a[0] in SOMEONE) != (b[0] in SOMEONE) for a, b in pairwise(labels))


def subsets(states: frozenset[int]) -> Iterator[frozenset[int]]:
    for size in range(1, len(states) + 1):
        yield from map(frozenset, combinations(sorted(states), size))
