"""The types of a question to an engine, and of the engine's answer."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Literal, Protocol

from isrcheck.model.language.errors import UnknownName

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt

Stop = Literal["violation", "error", "states", "depth", "memory", "time", "interrupt", "disk", "unknown", "sampled"]


@dataclass(frozen=True)
class Limits:
    """The limits at which a search stops; None is no limit.

    `states` is tested only between two levels, `seconds` and `memory` (in bytes) also within a level. `depth` is the
    last level that a search examines. Only the symbolic engine has this limit.
    """

    states: int | None = None
    seconds: float | None = None
    memory: int | None = None
    depth: int | None = None

    def __post_init__(self) -> None:
        for name, value in vars(self).items():
            if value is not None and not (isinstance(value, int | float) and value >= 0):
                raise UnknownName(f"limits: {name} must be a number or None, not {value!r}")


@dataclass(frozen=True)
class Checkpointing:
    """The folder for a search's checkpoints, whether to resume, and the minimum of seconds between two checkpoints."""

    folder: str
    resume: bool = False
    every: float = 30.0


@dataclass(frozen=True)
class StateStore:
    """Where a search keeps its states: in memory, or on disk.

    `folder` is the folder for the files on disk; None is the system's temporary folder.
    """

    kind: Literal["memory", "disk"] = "memory"
    folder: str | None = None


@dataclass(frozen=True)
class Progress:
    """The progress of a search: the level being built, counts so far, bytes in use, seconds since the search began.

    If states are not counted, all counts are None.
    """

    level: int
    distinct: int | None
    generated: int | None
    frontier: int | None
    expanded: int | None
    memory: int
    seconds: float
    note: str = ""
    """A message of the engine, which is shown beside the counts."""
    levels: tuple[int, ...] = ()
    """The number of states of each whole level, if the engine reports it. An estimate needs these numbers."""


Report = Callable[[Progress], None]


@dataclass
class OrbitCounts:
    """The numbers of states in all orbits that a search under symmetry found. The search itself counts only orbits.

    An orbit is a set of states that differ only by an exchange of interchangeable members, such as brokers. Each entry
    of `classes` lists members that are interchangeable with each other. A member is a pair: the name of its scalarset
    (such as broker), and its number. `permutations` is the number of ways to exchange the members. `states[k - 1]` is
    the number of states in the orbits of level k. A search without symmetry finds the same number of states at level k.
    """

    classes: Sequence[Sequence[tuple[str, int]]]
    permutations: int
    states: list[int] = field(default_factory=list)

    @property
    def distinct(self) -> int:
        """The number of states in all orbits."""
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

    `levels[k - 1]` counts the states of level k. `generated[k - 1]` counts the enabled instances of each action (in the
    order of `TransitionSystem.actions`) in the states of level k. Levels that were not expanded have no entry in
    `generated`. `violated`, `goals` and `bounds` map names to levels: the first level at which an invariant was
    violated, a goal was reached, or a bound was hit. `violated` also takes states outside the constraints into account.
    `degrees` are the least and the greatest number of enabled action instances in an expanded state.

    `deadlock` is the first level at which a state has no enabled instance. `error` says where evaluation failed: the
    level, the leaves of the state (the integers that encode it), and the index of the transition (None if a predicate
    failed). If evaluation failed in several places, `error` is the first place in this order: the earliest level,
    predicates before transitions, the least leaves (compared as tuples), the least index. If z3 gives up, `error`
    may be a later place in this order.

    After random walks, `violated`, `deadlock` and `error` say what the walks found. The levels may be later than those
    that a search finds.

    `stopped` says why the search ended early; it is None if the search explored everything. If a limit or an
    interruption ended the search within a level, `partial` has the number of this unfinished level, and its generated
    and distinct counts. All other data are about whole levels, with two exceptions. `partial_violations` has the names
    of the invariants that are first violated in the unfinished level. And `deadlock` and `error` may lie in the last
    whole level, although not all states of this level were expanded.

    Some searches, such as the symbolic search, count no states. Instead, `unrolled` has two numbers: the number of
    levels whose states were examined, and the number of levels whose steps were also examined (for undefined steps
    and, if asked, for deadlocks). `why` is the message of a solver that gave up.
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
    disk_error: str | None = None
    """What could not be written, and why: a checkpoint, or the states themselves (then `stopped` is `disk`)."""
    seconds: dict[str, float] = field(default_factory=dict)
    peak_store_bytes: int = 0
    sorting_bytes: tuple[int, int] = field(default=(0, 0), compare=False)
    """The part of `peak_store_bytes` for sorting the found states, and the most that this part can be."""
    workers: int = 1
    extra: dict[str, Any] = field(default_factory=dict)
    """Further data of an engine for the JSON of a result."""
    orbits: OrbitCounts | None = None
    """Set if the search kept only one state of each orbit. Then all other counts are counts of orbits."""

    @property
    def depth(self) -> int:
        """The number of levels whose states are all known."""
        return len(self.levels) if self.unrolled is None else self.unrolled[0]

    @property
    def expanded(self) -> int:
        """The number of levels whose steps are all known."""
        return len(self.generated) if self.unrolled is None else self.unrolled[1]


@dataclass(frozen=True)
class Path:
    """A path: the leaves of an initial state, and the action instances to take from there.

    An instance is given by its position among the engine's instances. `canonical` is false if another path of the same
    length may come earlier in the canonical order (`checker/trace/canonical.py`).
    """

    start: tuple[int, ...]
    instances: tuple[int, ...]
    canonical: bool = True


class Paths(Protocol):
    """The paths that an engine can give after its search. Each path has `length` states."""

    def to_violation(self, invariant: str, length: int) -> Path:
        """The path to a state in which the invariant is false. `length` is at least 2: initial states need no path."""
        ...

    def to_deadlock(self, length: int) -> Path:
        """The path to a state without an enabled instance."""
        ...

    def to_state(self, leaves: tuple[int, ...], length: int) -> Path:
        """The path to the state with these leaves. The state may be outside the constraints."""
        ...


@dataclass(frozen=True)
class Edges:
    """The steps that lead from the states of one level to certain states, the *targets*.

    `sources` are the distinct states where these steps begin. `sources` and `targets` have the engine's own form.
    `source`, `transition` and `target` are parallel arrays with one entry for each step. The entries of
    `source` are positions in `sources`, the entries of `transition` are positions among the engine's action instances,
    and the entries of `target` are positions in `targets`.
    """

    sources: Any
    targets: Any
    source: npt.NDArray[np.int64]
    transition: npt.NDArray[np.int64]
    target: npt.NDArray[np.int64]


class Levels(Protocol):
    """The methods of an engine that are needed to make a trace after a search. States have the engine's own form."""

    def edges_into_violation(self, level: int, invariant: str) -> Edges:
        """Every step from a state of `level` to a state where the invariant is false.

        The step may lead to a state outside the constraints.
        """
        ...

    def edges_into(self, level: int, targets: Any) -> Edges:
        """Every step from a state of `level` to one of `targets`."""
        ...

    def deadlocked(self, level: int) -> Any:
        """The states of `level` without an enabled instance."""
        ...

    def state(self, leaves: tuple[int, ...]) -> Any:
        """The state with these leaves, as a target for `edges_into`. The state may be outside the constraints."""
        ...

    def leaves(self, states: Any) -> list[tuple[int, ...]]:
        """The leaves of each state."""
        ...
