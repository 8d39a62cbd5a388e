"""Measures a search of about 10**9 states on one machine: states, seconds, bytes a state, peak memory.

    python benchmarks/billion.py [--bounds 3/3/3/4] [--symmetry] [--store memory] [--share 1.0] [--max-seconds S]
                                 [--checkpoint DIR]

The model is kip-320, and the bounds are replicas/log_size/max_records/max_leader_epoch. With `--symmetry` the states of
the orbits are counted, too. `--share 0.1` stops at the end of the level in which the search passes a tenth of 10**9
states. It then prints the cost of the whole search if every state costs the same. The real cost is somewhat higher,
because tables that are larger than the caches are slower. Run nothing else on the machine.
"""

from __future__ import annotations

import argparse
import json
import os
import platform
import subprocess
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).parent.parent
NAMES = ("replicas", "log_size", "max_records", "max_leader_epoch")
BILLION = 10**9


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else "")
    parser.add_argument("--bounds", default="3/3/3/4")
    parser.add_argument("--symmetry", action="store_true")
    parser.add_argument("--store", default="memory", choices=["memory", "disk"])
    parser.add_argument("--share", type=float, default=1.0, help="of 10**9 states; below 1, the search stops there")
    parser.add_argument("--max-seconds", type=float, default=3600.0)
    parser.add_argument("--checkpoint", help="a new folder for checkpoints, which take the time of the disk")
    arguments = parser.parse_args()
    settings = [x for pair in zip(NAMES, arguments.bounds.split("/"), strict=True) for x in ("-s", "=".join(pair))]
    command = [sys.executable, "-m", "isrcheck", "check", "kip-320", *settings, "--store", arguments.store]
    command += ["--invariant", "weak-isr", "--invariant", "strong-isr", "--max-seconds", str(arguments.max_seconds)]
    if arguments.symmetry:
        command += ["--symmetry"]
    if arguments.share < 1:
        command += ["--max-states", str(int(BILLION * arguments.share))]
    if arguments.checkpoint:
        command += ["--checkpoint", arguments.checkpoint]
    with tempfile.TemporaryDirectory() as folder:
        written = Path(folder) / "report.json"
        # The report itself is dropped, and progress appears on standard error.
        done = subprocess.run([*command, "--json", str(written)], cwd=ROOT, stdout=subprocess.DEVNULL)
        if not written.exists():
            sys.exit(done.returncode)
        report = json.loads(written.read_text())
    states, seconds, peak = report["distinct"], report["seconds"]["search"], report["peak_rss_bytes"]
    print(f"{platform.machine()}, {os.cpu_count()} processors, kip-320 at {arguments.bounds}, {arguments.store}")
    print(f"{report['verdict']} ({report['reason'] or 'everything explored'}), {report['workers']} workers")
    print(f"kept                  {states:>16,}   in {report['depth']} levels, {report['left']:,} not expanded")
    if report["symmetry"]:
        print(f"states they stand for {report['orbits']['states']:>16,}")
    print(f"seconds               {seconds:>16,.1f}   {states / seconds:,.0f} a second")
    print(f"bytes each, store     {report['store_bytes'] / states:>16.2f}")
    print(f"bytes each, all       {peak / states:>16.2f}   peak {peak / 2**30:.2f} GiB")
    if arguments.share < 1:
        print(f"at that cost 10**9 take {seconds * BILLION / states:,.0f} s, {peak / states * BILLION / 2**30:.1f} GiB")


if __name__ == "__main__":
    main()
