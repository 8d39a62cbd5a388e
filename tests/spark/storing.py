"""A search on an object store, in a process that gets only the store's address: python storing.py ROOT RESUME."""

from __future__ import annotations

import json
import sys

import pytest

from isrcheck.checker.engines.spark import backward_search
from isrcheck.checker.engines.spark import dataset_paths as stored
from isrcheck.checker.engines.spark.dataset_paths import StoredPaths
from isrcheck.checker.results.exploration import Limits
from tests.kernel.test_local_search import below
from tests.spark.searching import StandIn, explored


def main(root: str, states: str, resume: str) -> None:
    limits = Limits(states=int(states)) if states != "0" else Limits()
    toy = below(4, 3)
    found, levels = explored(
        toy, root, StandIn(2), keep_going=True, group=2, most_runs=1, transitions=True, threshold=9,
        limits=limits, resume=resume == "resume",
    )  # fmt: skip
    paths = StoredPaths(levels, [t.actor for t in toy.transitions])
    with pytest.MonkeyPatch.context() as patch:
        # Cones are files that tasks write, however small.
        patch.setattr(backward_search, "INLINE", 0)
        patch.setattr(stored, "SMALL", 0)
        traces = {name: paths.to_violation(name, level).instances for name, level in sorted(found.violated.items())}
    print(json.dumps([found.levels, found.generated, found.rejected, traces, found.stopped]))


if __name__ == "__main__":
    main(*sys.argv[1:])
