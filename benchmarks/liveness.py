"""Liveness properties of each design at its default profile: the table of docs/explanation/liveness.md.

python -m benchmarks.liveness                  # the table
python -m benchmarks.liveness --cost 3 2 2 2   # kip-320 at these sizes: the search, and what properties add to it
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import time
from statistics import median
from typing import Final

from isrcheck import check
from isrcheck.checker.report.counterexample_text import lasso_text
from isrcheck.checker.results.result import PropertyResult, Result

DESIGNS: Final = ("v1", "v2", "v3", "alter-isr", "kraft", "majority", "primary-backup", "kip-320")
NAMES: Final = ("replicas", "log_size", "max_records", "max_leader_epoch")


def said(outcome: PropertyResult | None) -> str:
    """The text of a cell: the verdict, and the form of the violation or the number of excused ends and components."""
    if outcome is None:
        return "-"
    if outcome.trace is not None:
        return f"violated: {lasso_text(outcome)}"
    if outcome.vacuous:
        return "vacuous"
    excused = outcome.total("excused")
    return outcome.verdict + (f", {excused:,} excused" if excused else "")


def table(designs: tuple[str, ...]) -> None:
    """Prints each property with its verdict in each design."""
    found = {}
    for name in designs:
        result = check(name, invariants=[], liveness=["all"], keep_going=True, workers=1)
        found[name] = result
    properties = sorted({p for result in found.values() for p in result.liveness})
    print("| |", " | ".join(f"`{name}` ({result.distinct:,})" for name, result in found.items()), "|")
    print("|---" * (len(found) + 1) + "|")
    for p in properties:
        print(f"| `{p}` |", " | ".join(said(result.liveness.get(p)) for result in found.values()), "|")


def cost(sizes: list[int], rounds: int) -> None:
    """Prints the additional cost of two properties for each of their instances.

    The cost is the CPU time, as a ratio to the check (medians, in this process), and the bytes a state, in a process of
    its own.
    """
    settings = dict(zip(NAMES, sizes, strict=True))
    bare, _ = used(settings, [])
    for name in ("true-leader-commits-its-log", "true-isr-settles"):
        timed(settings, [name])  # so that code is compiled before the measurement
        plain, both = [], []
        for _ in range(rounds):
            plain.append(timed(settings, [])[0])
            seconds, result = timed(settings, [name])
            both.append(seconds)
        outcome = result.liveness[name]
        share = outcome.total("region") / result.distinct / len(outcome.asked)
        ratios = [
            (with_it - without) / len(outcome.asked) / without for without, with_it in zip(plain, both, strict=True)
        ]
        peak, states = used(settings, [name])
        print(
            f"{name}: {result.distinct:,} states, {share:.0%} of them in the region; the check "
            f"{median(plain):.2f} s of CPU, a question {median(ratios):.2f} times as long "
            f"({min(ratios):.2f} to {max(ratios):.2f}), {(peak - bare) / states:.1f} bytes a state; {outcome.verdict}"
        )


def timed(settings: dict[str, int], liveness: list[str]) -> tuple[float, Result]:
    """The CPU seconds of a check of one invariant, with or without properties, and its result."""
    began = time.process_time()
    result = check(
        "kip-320", settings, profile="bare", invariants=["weak-isr"], liveness=liveness, workers=1, keep_going=True
    )
    return time.process_time() - began, result


def used(settings: dict[str, int], liveness: list[str]) -> tuple[int, int]:
    """The peak memory in bytes of the same check in a separate process, and its number of states."""
    words = ["check", "kip-320", "--profile", "bare", "--invariant", "weak-isr", "--workers", "1", "--continue"]
    words += [word for name, value in settings.items() for word in ("-s", f"{name}={value}")]
    words += [word for name in liveness for word in ("--liveness", name)]
    command = [sys.executable, "-m", "isrcheck", *words, "--quiet", "--json", "-"]
    found = json.loads(subprocess.run(command, capture_output=True, check=True, text=True).stdout)
    return found["peak_rss_bytes"], found["distinct"]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--cost", nargs=4, type=int, metavar="N")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("designs", nargs="*", default=DESIGNS)
    options = parser.parse_args()
    cost(options.cost, options.rounds) if options.cost else table(tuple(options.designs))


if __name__ == "__main__":
    main()
