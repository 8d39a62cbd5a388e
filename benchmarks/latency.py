"""Measures how long small checks take: medians of whole processes, optionally beside another version in the same run.

python benchmarks/latency.py [--runs N] [--only WORDS] [--against FOLDER [--module NAME]]

`--against` names a checkout of another version, which is installed in its own `.venv`. `--module` is the module to run
there (`checker.cli` for version 0.1.0). The versions take turns, so that a machine that becomes slower slows both.
"cold" is like the first check after an installation: there is no compiled code, also none of Numba, which version
0.1.0 keeps in another folder.
"""

from __future__ import annotations

import argparse
import os
import resource
import shlex
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

ROOT = Path(__file__).parent.parent
CASES = {
    "v3-unclean-election, warm": "check --scenario v3-unclean-election --quiet",
    "v3-unclean-election, cold": "check --scenario v3-unclean-election --quiet",
    "alter-isr-as-written, warm": "check --scenario alter-isr-as-written --quiet",
    "kip-101, 2 replicas, warm": "check kip-101 -s replicas=2 --quiet",
    "kip-320, warm": "check kip-320 --quiet",
    "kip-320 3/3/3/2, warm": "check kip-320 -s replicas=3 -s log_size=3 -s max_records=3 -s max_leader_epoch=2 --quiet",
}


WATCHED = "196 states, each save (--watch)"


@contextmanager
def caches(cold: bool) -> Iterator[dict[str, str]]:
    """The environment for a process: a cold process gets empty folders for compiled code."""
    if not cold:
        yield {}
        return
    with tempfile.TemporaryDirectory() as folder:
        yield {"ISRCHECK_CACHE": f"{folder}/objects", "NUMBA_CACHE_DIR": f"{folder}/numba"}


def measured(command: list[str], folder: Path, cold: bool) -> tuple[float, float]:
    """The wall-clock seconds and the processor seconds that a command takes."""
    with caches(cold) as folders:
        environment = {**os.environ, **folders}
        environment.pop("PYTHONDONTWRITEBYTECODE", None)  # the files of an installed command are compiled to bytecode
        before, began = resource.getrusage(resource.RUSAGE_CHILDREN), time.perf_counter()
        done = subprocess.run(command, cwd=folder, env=environment, capture_output=True, check=False)
        wall, after = time.perf_counter() - began, resource.getrusage(resource.RUSAGE_CHILDREN)
    if done.returncode not in (0, 12):
        sys.exit(f"{shlex.join(command)} ended with {done.returncode}: {done.stderr.decode()[-300:]}")
    return wall, after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


SAVED = '''
from isrcheck import Model, action, invariant, number


class Two(Model):
    """Two counters."""

    def variables(self):
        return {"n": number(0, 13), "m": number(0, 13)}

    @action(actor="one")
    def count(self, s):
        """Counts."""
        s.require(s.n < 13)
        s.n = s.n + 1

    @action(actor="other")
    def count_too(self, s):
        """Counts."""
        s.require(s.m < 13)
        s.m = s.m + 1

    @invariant
    def few(self, s):
        """They are few."""
        return s.n + s.m <= 26
'''


def saves(runs: int) -> float:
    """The median seconds from saving a model of 196 states to its new answer."""
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "two.py"
        file.write_text(SAVED)
        command = [sys.executable, "-m", "isrcheck", "check", str(file), "--watch", "--quiet"]
        with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True) as process:
            assert process.stdout is not None
            times, saved = [], 0.0
            for run in range(runs + 1):
                while not process.stdout.readline().startswith("HOLDS"):
                    if process.poll() is not None:
                        sys.exit(f"{shlex.join(command)} ended with {process.returncode}")
                if run:
                    times.append(time.perf_counter() - saved)
                time.sleep(1)  # an author takes longer
                saved = time.perf_counter()
                file.write_text(f"{SAVED}# {run}")
            process.terminate()
    return statistics.median(times)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--runs", type=int, default=5)
    parser.add_argument("--only", default="")
    parser.add_argument("--against", type=Path, metavar="FOLDER")
    parser.add_argument("--module", default="isrcheck")
    asked = parser.parse_args()
    versions = {"this": ([sys.executable, "-m", "isrcheck"], ROOT)}
    if asked.against:
        python = asked.against.resolve() / ".venv" / "bin" / "python"
        versions["other"] = ([str(python), "-m", asked.module], asked.against)
    print(f"{'':32}{'version':>8}{'wall s':>9}{'cpu s':>9}   (medians of {asked.runs})")
    for name, words in CASES.items():
        if asked.only not in name:
            continue
        cold = name.endswith("cold")
        times: dict[str, list[tuple[float, float]]] = {each: [] for each in versions}
        for run in range(asked.runs + 1):
            for version, (command, folder) in versions.items():
                found = measured([*command, *words.split()], folder, cold)
                if run:  # the first run only warms the caches
                    times[version].append(found)
        rows = {
            version: [statistics.median(column) for column in zip(*times[version], strict=True)] for version in times
        }
        for version, (wall, cpu) in rows.items():
            print(f"{name:32}{version:>8}{wall:9.2f}{cpu:9.2f}", flush=True)
        if asked.against:
            ratios = [b / a for a, b in zip(rows["this"], rows["other"], strict=True)]
            print(f"{'':32}{'ratio':>8}{ratios[0]:9.2f}{ratios[1]:9.2f}", flush=True)
    if asked.only in WATCHED:
        print(f"{WATCHED:32}{'this':>8}{saves(asked.runs):9.2f}")


if __name__ == "__main__":
    main()
