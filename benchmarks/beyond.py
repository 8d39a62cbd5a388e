"""In what the states that a mutant reaches go beyond those of its model.

Two sets of states may differ only in a few scalars: without these, each state of the mutant is one that the model
reaches as well. Then an invariant that does not read them is true in all states of the mutant if it is true in all of
the model: at these settings no such invariant notices the mutant, whoever writes it.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Any, Final

import numpy as np
import numpy.typing as npt

from isrcheck.checker.engines.local.search import search
from isrcheck.checker.exploration import Limits
from isrcheck.model.language import Model
from isrcheck.model.language.system import TransitionSystem
from isrcheck.model.language.tracing import trace

Rows = npt.NDArray[np.int64]
"""States by their scalars, of shape (states, scalars)."""
INDEX: Final = re.compile(r"\[[^\]]*\]")
RECORDS: Final = ("log", "state", "committed", "acknowledged")
"""Variables that what is said of records reads; a scalar of these, or a high watermark, is compared for longest."""


def beyond(model: type[Model], mutant: type[Model], settings: Mapping[str, Any]) -> tuple[str, ...]:
    """The scalars, named without indices, without which the mutant reaches nothing new; none of them is for nothing.

    What is said of records stays compared for as long as something else can be left out.
    """
    system = trace(model(**settings), {})
    own, others = reached(system), reached(trace(mutant(**settings), {}))
    names = [INDEX.sub("", leaf.path) for leaf in system.leaves]
    ignored = set(names)
    for name in sorted(ignored, key=lambda n: (not _of_records(n), n)):
        if covers(own, others, [i for i, n in enumerate(names) if n not in ignored - {name}]):
            ignored -= {name}
    return tuple(sorted(ignored))


def reached(system: TransitionSystem) -> Rows:
    """Every state, in no order."""
    found, levels = search(system, keep_going=True, deadlock=False, limits=Limits(), report=None, workers=1)
    assert found.stopped is None and found.error is None
    unpack = levels.kernel.layout.unpack
    return np.concatenate([unpack(levels.level_states(level)) for level in range(1, levels.depth + 1)])


def covers(own: Rows, others: Rows, columns: Sequence[int]) -> bool:
    """Whether in these scalars each state of the second is one of the first."""
    return _rows(others, columns) <= _rows(own, columns)


def _rows(states: Rows, columns: Sequence[int]) -> set[bytes]:
    return {row.tobytes() for row in np.ascontiguousarray(states[:, list(columns)])}


def _of_records(name: str) -> bool:
    return name.partition(".")[0] in RECORDS or name == "replica.high_watermark"
