"""What must happen, design by design, at the profile `plain` or another: the table of docs/liveness.md.

python -m benchmarks.liveness                  # the table
python -m benchmarks.liveness --cost 3 2 2 2   # kip-320 at these sizes: the search, and what properties add
"""

from __future__ import annotations

import argparse
import time
from typing import Final

from isrcheck import check
from isrcheck.checker.reports.liveness import lasso_text
from isrcheck.checker.results import PropertyFinding, Result

DESIGNS: Final = ("v1", "v2", "v3", "alter-isr", "kraft", "majority", "primary-backup", "kip-320")
NAMES: Final = ("replicas", "log_size", "max_records", "max_leader_epoch")


def said(finding: PropertyFinding | None) -> str:
    """A cell: the verdict, with how it is violated, or how many ends and components are excused."""
    if finding is None:
        return "-"
    if finding.trace is not None:
        return f"violated: {lasso_text(finding)}"
    if finding.vacuous:
        return "vacuous"
    excused = finding.total("excused")
    return finding.verdict + (f", {excused:,} excused" if excused else "")


def table(designs: tuple[str, ...]) -> None:
    """Each property with its verdict in each design."""
    found = {}
    for name in designs:
        result = check(name, invariants=[], liveness=["all"], keep_going=True, workers=1)
        found[name] = result
    properties = sorted({p for result in found.values() for p in result.liveness})
    print("| |", " | ".join(f"`{name}` ({result.distinct:,})" for name, result in found.items()), "|")
    print("|---" * (len(found) + 1) + "|")
    for p in properties:
        print(f"| `{p}` |", " | ".join(said(result.liveness.get(p)) for result in found.values()), "|")


def cost(sizes: list[int]) -> None:
    """CPU seconds of a check, and of one property for each broker more, over a part of the states and over all."""
    settings = dict(zip(NAMES, sizes, strict=True))
    for name in ("true-leader-commits-its-log", "true-isr-settles"):
        timed(dict.fromkeys(NAMES, 1), [name])  # what is compiled once
        plain, _ = timed(settings, [])
        both, result = timed(settings, [name])
        finding = result.liveness[name]
        share = finding.total("region") / result.distinct / len(finding.asked)
        each = (both - plain) / len(finding.asked)
        print(
            f"{name}: {result.distinct:,} states, {share:.0%} of them in the region; the check {plain:.2f} s of CPU, "
            f"a question {each:.2f} s, {each / plain:.2f} times as long; {finding.verdict}"
        )


def timed(settings: dict[str, int], liveness: list[str]) -> tuple[float, Result]:
    """Seconds of CPU that a check of one invariant takes, with or without properties."""
    began = time.process_time()
    result = check(
        "kip-320", settings, profile="bare", invariants=["weak-isr"], liveness=liveness, workers=1, keep_going=True
    )
    return time.process_time() - began, result


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--cost", nargs=4, type=int, metavar="N")
    parser.add_argument("designs", nargs="*", default=DESIGNS)
    options = parser.parse_args()
    cost(options.cost) if options.cost else table(tuple(options.designs))


if __name__ == "__main__":
    main()
