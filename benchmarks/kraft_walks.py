"""Random walks through `kraft` with all its fixes, at settings with far more states than a search can explore.

    python benchmarks/kraft_walks.py [NAME]... [--seconds 600]

The settings: three replicas (two if directories fail), logs of three records, leader epochs up to 7, partition epochs
up to 14, a metadata lag of up to four batches, and the failures that NAME stands for. The program prints rows of the
table in docs/findings/index.md. The exit code is 12 if an invariant is violated; such a violation must be compared with
Kafka's source. The same walks are taken in every run, but their number depends on the time.
"""

from __future__ import annotations

import argparse
import sys
from typing import Any

from isrcheck import simulate
from isrcheck.checker.registry.loader import load_model_class
from isrcheck.model.semantics.tracing import meaningless

MENDED: dict[str, Any] = {
    "follower_state": "kept-unless-skipped",
    "equal_version": "keeps-pending",
    "note_fetch": "apart-checked",
    "removed_replica": "leaves",
    "min_isr_change": "with-a-partition-epoch",
    "config_order": "before-partitions",
    "elr_is_cleared": "unless-raised-without-isr",
    "assigned_directory": "keeps-elr",
    "lost_directory": "leaves-elr",
    "moved_log": "keeps-epochs",
    "looks_again": True,
}
WIDE = {
    "log_size": 3,
    "max_records": 3,
    "max_leader_epoch": 7,
    "max_version": 14,
    "metadata_lag": 4,
    "late_notes": 2,
}
FAILURES: dict[str, tuple[int, dict[str, Any]]] = {
    "crashes": (11, {"min_isr": 2, "crashes": 2, "shutdowns": 1, "expiries": 2, "checkpoint": "any"}),
    "reassignment": (
        12,
        {
            "min_isr": 2,
            "crashes": 1,
            "expiries": 2,
            "reassignments": 2,
            "cancellations": True,
            "assigned_at_start": 2,
        },
    ),
    "configuration": (
        13,
        {"min_isr": 1, "min_isr_then": 2, "crashes": 1, "shutdowns": 1, "expiries": 2, "log_moves": 1},
    ),
    "directories": (
        14,
        {
            "replicas": 2,
            "min_isr": 2,
            "crashes": 1,
            "shutdowns": 1,
            "expiries": 1,
            "directory_failures": 1,
            "directory_assignments": 1,
            "last_known_leader": "never",
        },
    ),
}
"""The seed, and the failures. Electing the last known leader counts as unclean, and both of two copies may fail."""
NOT_ASKED = {"committed-survives", "isr-is-never-empty"}
"""Invariants that are not asked. The brokers with a record may all be down for a while, and an ISR may be empty while
there are eligible leaders (KIP-966)."""
WITHOUT_A_DIRECTORY = {
    "a-write-can-be-acknowledged",
    "acknowledged-has-enough-copies",
    "deposed-leader-commits-what-the-isr-has",
    "high-watermark-waits-for-min-isr",
    "isr-has-what-is-committed",
    "live-isr-has-a-leader",
    "nothing-awaits-acknowledgement",
    "own-isr-has-what-the-leader-committed",
    "service-goes-on",
}
"""Invariants that a failed directory makes false for a while: a copy is lost before the controller hears of it, its
broker has no replica until it restarts, and a leader is elected only some time after the restart."""


def asked(settings: dict[str, Any]) -> set[str]:
    """Every invariant that fits the model at these settings, except those that failures make false for a while."""
    loaded = load_model_class("kraft")
    fitting = set(loaded.invariants) - meaningless(loaded.cls(**settings), loaded.invariants) - NOT_ASKED
    return fitting - WITHOUT_A_DIRECTORY if settings.get("directory_failures") else fitting


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("names", nargs="*", metavar="NAME", help=f"some of {', '.join(FAILURES)}; all by default")
    parser.add_argument("--seconds", type=float, default=600, help="for each NAME, without its compilation (minutes)")
    given = parser.parse_args()
    code = 0
    for name in given.names or FAILURES:
        seed, failures = FAILURES[name]
        settings = {**MENDED, **WIDE, **failures}
        invariants = asked(settings)
        found = simulate(
            "kraft",
            settings,
            profile="bare",
            invariants=sorted(invariants),
            depth=200,
            seed=seed,
            seconds=given.seconds,
        )
        walked = found.extra["sampling"]
        violated = [f"{n} in {f.trace.length}" for n, f in found.invariants.items() if f.trace is not None]
        counted = f"{len(invariants)} | {walked['walks']:,} | {walked['states_visited']:,}"
        print(f"| {name} | {counted} | {', '.join(violated) or 'nothing violated'} |", flush=True)
        code = max(code, found.exit_code)
    return code


if __name__ == "__main__":
    sys.exit(main())
