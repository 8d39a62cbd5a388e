"""What an engine is asked, and what it answers."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Literal, Protocol

from isrcheck.model.language.errors import UnknownName

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt

Stop = Literal["violation", "error", "states", "depth", "memory", "time", "interrupt", "unknown", "sampled"]


@dataclass(frozen=True)
class Limits:
    """When to give up; None is no limit. `states` is tested at the end of a level, the others at any moment.

    `depth` is for searches that unroll: the last level that is looked at.
    """

    states: int | None = None
    seconds: float | None = None
    memory: int | None = None
    depth: int | None = None

    def __post_init__(self) -> None:
        for name, value in vars(self).items():
            if value is not None and not (isinstance(value, int | float) and value >= 0):
                raise UnknownName(f"limits: {name} is a number, not {value!r}; None is no limit")


@dataclass(frozen=True)
class Keeping:
    """In which folder a search keeps its levels, at most once in `every` seconds; whether it goes on with them."""

    folder: str
    resume: bool = False
    every: float = 30.0


@dataclass(frozen=True)
class Storing:
    """The place of the states that a search finds: in memory, or on disk.

    `folder` is for files, None for the temporary one.
    """

    kind: Literal["memory", "disk"] = "memory"
    folder: str | None = None


@dataclass(frozen=True)
class Progress:
    """A look at a running search: the level being built, counts so far, bytes in use, seconds since it began.

    Where states are not counted, all counts are None.
    """

    level: int
    distinct: int | None
    generated: int | None
    frontier: int | None
    expanded: int | None
    memory: int
    seconds: float
    note: str = ""
    """What an engine has to say beside the counts."""
    levels: tuple[int, ...] = ()
    """The states of each whole level, where an engine tells: what a forecast needs."""


Report = Callable[[Progress], None]


@dataclass
class OrbitCounts:
    """The full counts for which the counts of a search under symmetry stand.

    Members of a class, each with the name of its scalarset and its number, are interchangeable, in as many ways as
    there are `permutations`; `states[k - 1]` is how many states the orbits of level k have, which is how many a search
    without symmetry counts there.
    """

    classes: Sequence[Sequence[tuple[str, int]]]
    permutations: int
    states: list[int] = field(default_factory=list)

    @property
    def distinct(self) -> int:
        """States in all orbits."""
        return sum(self.states)

    def to_json(self) -> dict[str, Any]:
        return {
            "interchangeable": [[number for _, number in c] for c in self.classes],
            "scalarsets": [c[0][0] for c in self.classes],
            "permutations": self.permutations,
            "states": self.distinct,
            "levels": self.states,
        }


@dataclass
class Exploration:
    """The answer of a search.

    `levels[k - 1]` counts the states of level k; `generated[k - 1]` the enabled instances of each action (in the order
    of `TransitionSystem.actions`) in the states of level k; levels that were not expanded have no entry. `violated`,
    `goals` and `bounds` give the first level at which something was seen, violations also in states outside the
    constraints. `degrees` is (least, greatest) number of enabled instances over the expanded states.

    `deadlock` is the first level with a state without an enabled instance. `error` is the least
    (level, leaves of the state, index of the transition or None where a predicate failed) at which evaluation failed.
    `stopped` says why the search ended before it was done, None where it explored everything. After a limit or an
    interruption `partial` has the generated and distinct counts seen of the level being built; the rest is about
    whole levels, except that `violated` may name a level that is not whole (`partial_violations` holds those names).

    A search that unrolls counts nothing: `unrolled` says instead how many levels it has looked at, and of how many the
    steps as well (whether one is possible and is defined). `why` is what a solver said when it gave up.
    """

    initial: int = 0
    levels: list[int] = field(default_factory=list)
    generated: list[list[int]] = field(default_factory=list)
    rejected: int = 0
    violated: dict[str, int] = field(default_factory=dict)
    partial_violations: set[str] = field(default_factory=set)
    goals: dict[str, int] = field(default_factory=dict)
    bounds: dict[str, int] = field(default_factory=dict)
    degrees: tuple[int, int] | None = None
    deadlock: int | None = None
    error: tuple[int, tuple[int, ...], int | None] | None = None
    stopped: Stop | None = None
    partial: dict[str, int] | None = None
    unrolled: tuple[int, int] | None = None
    why: str | None = None
    seconds: dict[str, float] = field(default_factory=dict)
    peak_store_bytes: int = 0
    workers: int = 1
    extra: dict[str, Any] = field(default_factory=dict)
    """What an engine adds to the JSON of a result."""
    orbits: OrbitCounts | None = None
    """Not None where all counts are of orbits: one state of each was kept."""

    @property
    def depth(self) -> int:
        """How many levels are known."""
        return len(self.levels) if self.unrolled is None else self.unrolled[0]

    @property
    def expanded(self) -> int:
        """The number of levels whose steps are all known."""
        return len(self.generated) if self.unrolled is None else self.unrolled[1]


@dataclass(frozen=True)
class Path:
    """The leaves of an initial state, and the instances to take from there, as positions in the order of labels.

    `canonical` is false where there may be a lesser path of the same length.
    """

    start: tuple[int, ...]
    instances: tuple[int, ...]
    canonical: bool = True


class Paths(Protocol):
    """A source of paths from an engine that has searched: of `length` states, to the states found there."""

    def to_violation(self, invariant: str, length: int) -> Path:
        """To a state where the invariant is false; of 2 states or more."""
        ...

    def to_deadlock(self, length: int) -> Path:
        """To a state without an enabled instance."""
        ...

    def to_state(self, leaves: tuple[int, ...], length: int) -> Path:
        """To the state with these leaves, counted or not."""
        ...


@dataclass(frozen=True)
class Edges:
    """Steps from states of one level into some targets.

    `sources` are the distinct states with such a step, in the engine's own form; `source`, `transition` and `target`
    are parallel arrays, one entry a step: positions in `sources`, in the system's transitions and in `targets`.
    """

    sources: Any
    targets: Any
    source: npt.NDArray[np.int64]
    transition: npt.NDArray[np.int64]
    target: npt.NDArray[np.int64]


class Levels(Protocol):
    """The part of an engine that a trace needs after a search; states are in a form of the engine's own."""

    def edges_into_violation(self, level: int, invariant: str) -> Edges:
        """Every step from a state of `level` to a state where the invariant is false, counted or not."""
        ...

    def edges_into(self, level: int, targets: Any) -> Edges:
        """Every step from a state of `level` to one of `targets`."""
        ...

    def deadlocked(self, level: int) -> Any:
        """The states of `level` without an enabled instance."""
        ...

    def state(self, leaves: tuple[int, ...]) -> Any:
        """The state with these leaves, counted or not, as targets for `edges_into`."""
        ...

    def leaves(self, states: Any) -> list[tuple[int, ...]]:
        """The leaves of each state."""
        ...
