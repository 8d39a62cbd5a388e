"""Measures how long the symbolic engine takes to find the published violations, as a table. Run it on a quiet machine:

    python benchmarks/symbolic_engine.py [--wide]

Each row is a process of its own. The expected lengths are those that TLC reports, and a wrong length ends the run.
`search` is the time until the violation is found and all shorter lengths are refuted. `trace` is the further time until
the canonical trace is known. The last columns have the time of the local engine (with start and compilation), and
whether its trace is the same. `--wide` adds bounds with too many states to enumerate in minutes. For them the local
engine does not run, and the length is not compared.
"""

from __future__ import annotations

import argparse
import json
import os
import platform
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parent.parent
NAMES = ("replicas", "log_size", "max_records", "max_leader_epoch")
PUBLISHED = (
    ("truncate-to-hw", "2/2/1/1", "weak-isr", 9),
    ("truncate-to-hw", "2/2/1/1", "strong-isr", 10),
    ("truncate-to-hw", "2/2/2/2", "weak-isr", 9),
    ("truncate-to-hw", "2/2/2/2", "strong-isr", 10),
    ("kip-101", "2/2/2/2", "weak-isr", 12),
    ("kip-101", "2/2/2/2", "strong-isr", 12),
    ("truncate-to-hw", "3/2/2/1", "weak-isr", 9),
    ("truncate-to-hw", "3/2/2/1", "strong-isr", 9),
    ("kip-101", "3/2/2/1", "strong-isr", 12),
    ("kip-279", "3/2/2/1", "strong-isr", 12),
)
WIDE = (("truncate-to-hw", "4/4/4/4", "weak-isr"), ("truncate-to-hw", "5/5/5/5", "weak-isr"))
SEARCH, TRACE = 60.0, 300.0
"""The most seconds for a search and for a trace on two processors."""


def check(model: str, bounds: str, invariant: str, *options: str) -> dict[str, Any]:
    """Runs one check in a process. Returns the JSON of its report, with the wall-clock seconds of the process added."""
    settings = [x for pair in zip(NAMES, bounds.split("/"), strict=True) for x in ("-s", "=".join(pair))]
    command = [sys.executable, "-m", "isrcheck", "check", model, *settings, "--invariant", invariant, *options]
    with tempfile.TemporaryDirectory() as folder:
        written = Path(folder) / "report.json"
        begin = time.perf_counter()
        subprocess.run([*command, "--quiet", "--json", str(written)], cwd=ROOT, stdout=subprocess.DEVNULL, check=False)
        wall = time.perf_counter() - begin
        report: dict[str, Any] = json.loads(written.read_text())
    report["wall"] = wall
    return report


def row(model: str, bounds: str, invariant: str, length: int | None) -> bool:
    """Prints the times for one violation. Returns whether they are within the limits."""
    report = check(model, bounds, invariant, "--engine", "symbolic")
    outcome = report["invariants"][invariant]
    if length is not None and outcome.get("length") != length:
        raise SystemExit(f"{model} {bounds} {invariant}: {outcome.get('length')} states instead of {length}")
    search = report["seconds"]["search"]
    trace = report["seconds"]["total"] - search - report["seconds"]["trace"]
    canonical = "canonical" if outcome.get("canonical") else "not canonical"
    local = ""
    if length is not None:
        other = check(model, bounds, invariant)
        same = "same trace" if other["invariants"][invariant]["trace"] == outcome["trace"] else ("different trace")
        local = f"{other['wall']:8.1f} s  {same}"
    states = outcome.get("length", "-")
    print(f"{model:15} {bounds:8} {invariant:11} {states:>6} {search:8.1f} s {trace:8.1f} s  {canonical:13} {local}")
    return search <= SEARCH and trace <= TRACE


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else "")
    parser.add_argument("--wide", action="store_true", help="add bounds that are too wide to enumerate")
    arguments = parser.parse_args()
    print(f"{platform.machine()}, {os.cpu_count()} processors, Python {platform.python_version()}")
    titles = ("model", "bounds", "invariant", "states", "search", "trace", "", "local")
    print("{:15} {:8} {:11} {:>6} {:>10} {:>10}  {:13} {:>10}".format(*titles))
    good = [row(*target) for target in PUBLISHED]
    for target in WIDE if arguments.wide else ():
        row(*target, None)
    print(f"at most {SEARCH:g} s to the violation and {TRACE:g} s to the trace: {'yes' if all(good) else 'NO'}")
    raise SystemExit(not all(good))


if __name__ == "__main__":
    main()
