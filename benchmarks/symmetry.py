"""Prints, as a Markdown table, states and seconds with and without symmetry. Run it on a quiet machine.

python benchmarks/symmetry.py [RUNS]
"""

from __future__ import annotations

import statistics
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from isrcheck import check
from isrcheck.checker.results.result import Result
from isrcheck.checker.scenarios.collection import folders
from isrcheck.checker.scenarios.scenario import read

PUBLISHED: dict[str, tuple[str, dict[str, Any], tuple[str, ...] | None]] = {
    "kip-320, 3/2/2/2": ("kip-320", {}, None),
    "kip-320, 3/3/3/2": ("kip-320", {"log_size": 3, "max_records": 3}, None),
}
SCENARIOS = ("majority-with-crashes",)
ROOT = Path(__file__).parent.parent
FOLDERS = {folder.name: folder for folder, _ in folders((str(ROOT / "counterexamples"),))}


def questions() -> Iterator[tuple[str, Any, dict[str, Any], tuple[str, ...] | None]]:
    for name, (model, settings, invariants) in PUBLISHED.items():
        yield name, model, settings, invariants
    for name in SCENARIOS:
        scenario = read(FOLDERS[name])
        yield f"scenario {name}", scenario.specification(), dict(scenario.settings), scenario.invariants


def measured(runs: int, model: Any, settings: dict[str, Any], invariants: Any, symmetry: bool) -> tuple[Result, str]:
    """The result, and the median times of the search and of the whole check."""
    results = [check(model, settings, profile="bare", invariants=invariants, symmetry=symmetry) for _ in range(runs)]
    search, total = (statistics.median(r.seconds[name] for r in results) for name in ("search", "total"))
    return results[-1], f"{search:.2f} s, {total:.2f} s"


def main(runs: int) -> None:
    check("kip-320", {"replicas": 2})  # loads modules, and compiles code that does not depend on the model
    print("| what | interchangeable | states | orbits | search, total | with symmetry |")
    print("| --- | --- | ---: | ---: | ---: | ---: |")
    for name, model, settings, invariants in questions():
        full, without = measured(runs, model, settings, invariants, False)
        reduced, with_it = measured(runs, model, settings, invariants, True)
        assert reduced.orbits is not None
        assert reduced.orbits.distinct == full.distinct
        brokers = ", ".join(str(number) for _, number in reduced.orbits.classes[0])
        row = (name, brokers, f"{full.distinct:,}", f"{reduced.distinct:,}", without, with_it)
        print(f"| {' | '.join(row)} |", flush=True)


if __name__ == "__main__":
    main(int(sys.argv[1]) if len(sys.argv) > 1 else 3)
