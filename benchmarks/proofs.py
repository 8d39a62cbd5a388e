"""Measures the proofs of KIP-320, each in a process of its own: `python benchmarks/proofs.py [NAME...]`.

Both wall-clock and processor seconds are printed. On a shared machine only processor seconds can be compared.
"""

from __future__ import annotations

import argparse
import resource
import subprocess
import sys
import time

RUNS = {
    "3/2/2/2": ["kip-320"],
    "3/4/4/4": ["kip-320", "-s", "log_size=4", "-s", "max_records=4", "-s", "max_leader_epoch=4"],
    "5/2/2/2": ["kip-320", "-s", "replicas=5"],
    "unbounded-3": ["kip-320", "--unbounded"],
    "unbounded-4": ["kip-320", "--unbounded", "-s", "replicas=4"],
    "mutants": ["kip-320", "--mutants"],
    "mutants-unbounded": ["kip-320", "--unbounded", "--mutants"],
    "redundant": ["kip-320", "--redundant"],
    "kip-279": ["kip-279", "--proof", "kip-320-proof", "--invariant", "strong-isr"],
}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("names", nargs="*", metavar="NAME", help=f"some of {', '.join(RUNS)}; all by default")
    for name in parser.parse_args().names or RUNS:
        before, began = resource.getrusage(resource.RUSAGE_CHILDREN), time.perf_counter()
        command = [sys.executable, "-m", "isrcheck", "prove", *RUNS[name], "--quiet"]
        done = subprocess.run(command, capture_output=True, text=True, check=False)
        after = resource.getrusage(resource.RUSAGE_CHILDREN)
        spent = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
        print(
            f"{name:18} exit {done.returncode:3} {time.perf_counter() - began:7.1f} s, processor {spent:7.1f} s", end=""
        )
        print(f"  {done.stdout.strip()[:100]}", flush=True)


if __name__ == "__main__":
    main()
