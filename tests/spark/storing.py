"""A search over an object store, in a process that is given only where the store is: python storing.py ROOT RESUME."""

from __future__ import annotations

import json
import sys

from isrcheck.checker.exploration import Limits
from tests.kernel.test_local_search import below
from tests.spark.searching import StandIn, explored


def main(root: str, states: str, resume: str) -> None:
    limits = Limits(states=int(states)) if states != "0" else Limits()
    found, _ = explored(
        below(4, 3), root, StandIn(2), keep_going=True, group=2, most_runs=1, transitions=True, threshold=9,
        limits=limits, resume=resume == "resume",
    )  # fmt: skip
    print(json.dumps([found.levels, found.generated, found.rejected, sorted(found.violated), found.stopped]))


if __name__ == "__main__":
    main(*sys.argv[1:])
