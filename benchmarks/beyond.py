"""Finds the scalars in which the states of a mutant differ from all states of its model.

The two sets of states may differ only in a few scalars: if these are ignored, the model reaches each state of the
mutant, too. Then an invariant that does not read these scalars, and that is true in all states of the model, is also
true in all states of the mutant. So at these settings no such invariant can notice the mutant.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from functools import lru_cache
from typing import Any, Final

import numpy as np
import numpy.typing as npt

from isrcheck.checker.engines.explicit.search import search
from isrcheck.checker.results.exploration import Limits
from isrcheck.model.language import Model
from isrcheck.model.semantics.tracing import trace
from isrcheck.model.semantics.transition_system import TransitionSystem

Rows = npt.NDArray[np.int64]
"""States as arrays (states, scalars)."""
INDEX: Final = re.compile(r"\[[^\]]*\]")
RECORDS: Final = ("log", "state", "committed", "acknowledged", "replica.high_watermark")
"""The variables that invariants about records read. They are ignored only if this is necessary."""
BY_FIELD: Final = ("log", "state", "committed", "replica")
"""The variables whose fields are ignored one by one. Other variables, such as messages, are ignored as a whole."""


def beyond(model: type[Model], mutant: type[Model], settings: Mapping[str, Any]) -> tuple[str, ...]:
    """A minimal set of scalars, named without indices: if they are ignored, the mutant reaches no new state.

    Variables about records are in the set only if the other variables are not enough.
    """
    names, own = _reached(model, tuple(sorted(settings.items())))
    others = reached(trace(mutant(**settings), {}))
    known = _rows(own)
    new = others[[row not in known for row in _each(others)]]
    ignored = set(names)
    for name in sorted(ignored, key=lambda n: (not _of_records(n), n)):
        columns = [i for i, n in enumerate(names) if n not in ignored - {name}]
        if _rows(new[:, columns]) <= _rows(own[:, columns]):
            ignored -= {name}
    return tuple(sorted(ignored))


@lru_cache(maxsize=1)
def _reached(model: type[Model], settings: tuple[tuple[str, Any], ...]) -> tuple[list[str], Rows]:
    """The names of a model's scalars, and all its states."""
    system = trace(model(**dict(settings)), {})
    return [_named(leaf.path) for leaf in system.leaves], reached(system)


def reached(system: TransitionSystem) -> Rows:
    """All reachable states, in no particular order."""
    found, levels = search(system, keep_going=True, deadlock=False, limits=Limits(), report=None, workers=1)
    assert found.stopped is None and found.error is None
    unpack = levels.kernel.layout.unpack
    return np.concatenate([unpack(levels.level_states(level)) for level in range(1, levels.depth + 1)])


def _rows(states: Rows) -> set[bytes]:
    return set(_each(states))


def _each(states: Rows) -> Iterator[bytes]:
    return (row.tobytes() for row in np.ascontiguousarray(states))


def _named(path: str) -> str:
    name = INDEX.sub("", path)
    variable = name.partition(".")[0]
    return name if variable in BY_FIELD else variable


def _of_records(name: str) -> bool:
    return name in RECORDS or name.partition(".")[0] in RECORDS
