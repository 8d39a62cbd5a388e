"""Checks which designs refine a replicated log, at the profile `plain`: the table of docs/explanation/refinement.md.

python -m benchmarks.refinement                  # the table
python -m benchmarks.refinement --cost 3 2 2 2   # kip-320 at these sizes: its search, and what judging adds
"""

from __future__ import annotations

import argparse
from typing import Final

from isrcheck import Refined, check, refine
from isrcheck.model.published.kip_320 import Kip320
from isrcheck.model.specifications.mappings import with_history

DESIGNS: Final = (
    "truncate-to-hw", "kip-101", "kip-279", "kip-320-first-try", "kip-320", "v1", "v2", "v3", "alter-isr", "kraft",
    "majority", "primary-backup",
)  # fmt: skip
NAMES: Final = ("replicas", "log_size", "max_records", "max_leader_epoch")


def row(name: str, found: Refined) -> str:
    """A row of the table: the counts, the verdict with the length of a violation, and its last step."""
    trace = found.result.invariants[found.name].trace
    verdict, last = "holds", "-"
    if trace is not None:
        verdict, last = f"violated in {trace.length} states", f"`{trace.steps[-1].label}`"
    return f"| `{name}` | {found.result.distinct:,} | {found.states} | {found.steps} | {verdict} | {last} |"


def table(designs: tuple[str, ...]) -> None:
    print("| design | states | states of the log | steps of the log | verdict | last step |")
    print("|---|---|---|---|---|---|")
    for name in designs:
        print(row(name, refine(name, specification="replicated-log", workers=1)), flush=True)


def cost(sizes: list[int]) -> None:
    """Prints the seconds of a search of the model with history, and of a search that also judges every step."""
    settings = dict(zip(NAMES, sizes, strict=True))
    for _ in range(2):  # in the first round code may have to be compiled
        plain = check(with_history(Kip320), settings, invariants=[], workers=1)
        found = refine("kip-320", settings, specification="replicated-log", workers=1)
    alone, evaluated = plain.seconds["search"], found.result.seconds["search"]
    steps = found.result.generated_total - found.result.initial_states
    print(
        f"{plain.distinct:,} states, {steps:,} steps: search {alone:.2f} s, with each step judged {evaluated:.2f} s, "
        f"{evaluated / alone:.1f} times; {found.result.verdict}"
    )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--cost", nargs=4, type=int, metavar="N")
    parser.add_argument("designs", nargs="*", default=DESIGNS)
    options = parser.parse_args()
    cost(options.cost) if options.cost else table(tuple(options.designs))


if __name__ == "__main__":
    main()
