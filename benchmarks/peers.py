"""Compares isrcheck with Spin and Rumur, in one run on one machine. Run nothing else on the machine:

    python benchmarks/peers.py [--runs N] [--large] [--only TEXT] [--tools WORDS] [--max-seconds S]

Every row is one tool on one model: distinct states, seconds of the search alone (median over the runs, least and
greatest), states a second, and the peak memory of the process, in total and for each state. The work before a search
(tracing, translating, compiling) has its own column. isrcheck uses what earlier runs have kept in its cache folder, so
its first run of a model takes longer than the median. "tuned" is `benchmarks/kip320.pml`, written by hand; "export" is
the output of `isrcheck export`. Spin and Rumur check no invariant here. isrcheck checks weak-isr and strong-isr, or the
model's own invariants. Memory below some 30 MiB is that of this program, which starts each process. The exit code is 10
if two tools count different states. `--large` adds kip-320 at 3/3/3/3 with 64.7 million states.
"""

from __future__ import annotations

import argparse
import contextlib
import json
import math
import os
import platform
import re
import shutil
import signal
import statistics
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from isrcheck.checker.export.murphi import murphi
from isrcheck.checker.export.promela import promela
from isrcheck.checker.registry.loader import load_model_class
from isrcheck.checker.registry.profile_settings import settings_of
from isrcheck.model.semantics.tracing import trace
from isrcheck.model.semantics.transition_system import TransitionSystem

ROOT = Path(__file__).parent.parent
NAMES = ("replicas", "log_size", "max_records", "max_leader_epoch")
DEFINES = ("REPLICAS", "LOG_SIZE", "MAX_RECORDS", "MAX_EPOCH")
SMALL = ("2/2/2/2", "3/2/2/1", "2/3/3/3", "3/2/2/2", "3/3/3/2")
LARGE = "3/3/3/3"
OTHERS = (
    ("v3", {"crashes": "2", "expiries": "1"}),
    ("alter-isr", {"crashes": "1", "expiries": "1"}),
    ("majority", {"replicas": "3", "crashes": "2"}),
)
SPIN = ("-O3", "-march=native", "-DSAFETY", "-DNOREDUCE", "-DNOFAIR", "-DVECTORSZ=8192")
TUNED = ("-O3", "-march=native", "-DSAFETY", "-DNOREDUCE", "-DNOFAIR", "-DNOBOUNDCHECK")
RUMUR = ("-O3", "-march=native", "-std=c11", "-mcx16")
SWITCHES = ("--deadlock-detection", "off", "--counterexample-trace", "off", "--symmetry-reduction", "off")
WHOLE = ("-o1", "-o2", "-o3")
CORES = len(os.sched_getaffinity(0))


@dataclass(frozen=True)
class Case:
    """A model and its settings as on a command line. `defines` are those of the tuned Promela, if it has the model."""

    model: str
    settings: dict[str, str]
    title: str
    defines: tuple[str, ...] = ()

    @property
    def invariants(self) -> list[str]:
        return ["weak-isr", "strong-isr"] if self.defines else []

    def system(self) -> TransitionSystem:
        loaded = load_model_class(self.model)
        cls = loaded.cls(**settings_of(loaded.cls, loaded.name, self.settings))
        return trace(cls, loaded.chosen(tuple(self.invariants) or None))


@dataclass(frozen=True)
class Run:
    """One search: the seconds before it, its own seconds, the distinct states, and the peak bytes of its process."""

    prepared: float
    seconds: float
    states: int
    peak: int


class TooLong(Exception):
    pass


Search = Callable[[], Run]
Tool = Callable[[Case, Path, float, int], Search]
"""A function that prepares a search. It gets a case, a folder, the most seconds, and the expected number of states."""


def timed(command: list[str], folder: Path, limit: float) -> tuple[str, float, int]:
    """The output, the wall-clock seconds and the peak bytes of a process. Raises `TooLong` after `limit` seconds."""
    with tempfile.TemporaryFile("w+") as out:
        begin = time.perf_counter()
        process = subprocess.Popen(command, cwd=folder, stdout=out, stderr=subprocess.DEVNULL)
        late = threading.Timer(limit, lambda: os.kill(process.pid, signal.SIGKILL))
        late.start()
        _, status, usage = os.wait4(process.pid, 0)
        wall = time.perf_counter() - begin
        process.returncode = os.waitstatus_to_exitcode(status)
        late.cancel()
        if process.returncode == -signal.SIGKILL:
            raise TooLong
        out.seek(0)
        return out.read(), wall, usage.ru_maxrss * 1024


def isrcheck(workers: int, *options: str) -> Tool:
    def prepare(case: Case, folder: Path, limit: float, expected: int) -> Search:
        settings = [x for name, value in case.settings.items() for x in ("-s", f"{name}={value}")]
        asked = [x for name in case.invariants for x in ("--invariant", name)]
        command = [
            sys.executable,
            "-m",
            "isrcheck",
            "check",
            case.model,
            "--profile",
            "bare",
            *settings,
            *asked,
            "--continue",
        ]
        command += ["--quiet", *options]
        written = folder / "report.json"

        def search() -> Run:
            _, wall, peak = timed([*command, "--workers", str(workers), "--json", str(written)], ROOT, limit)
            report = json.loads(written.read_text())
            spent = report["seconds"]["search"]
            return Run(wall - spent, spent, report["distinct"], peak)

        return search

    return prepare


def spin(tuned: bool) -> Tool:
    def prepare(case: Case, folder: Path, limit: float, expected: int) -> Search:
        begin = time.perf_counter()
        if tuned:
            shutil.copy(ROOT / "benchmarks" / "kip320.pml", folder / "model.pml")
        else:
            (folder / "model.pml").write_text(promela(case.system()), encoding="utf-8")
        _quietly(["spin", *(case.defines if tuned else ()), *WHOLE, "-a", "model.pml"], folder)
        _quietly(["gcc", "-w", *(TUNED if tuned else SPIN), "-DMEMLIM=60000", "-o", "pan", "pan.c"], folder)
        prepared = time.perf_counter() - begin
        slots = max(18, math.ceil(math.log2(2 * expected)))

        def search() -> Run:
            said, wall, peak = timed(["./pan", "-E", "-m100000", f"-w{slots}"], folder, limit)
            if "Search not completed" in said or "max search depth" in said:
                raise AssertionError(said)
            stored = int(re.findall(r"(\d+) states, stored", said)[0])
            return Run(prepared, wall, stored - (not tuned), peak)

        return search

    return prepare


def rumur(threads: int) -> Tool:
    def prepare(case: Case, folder: Path, limit: float, expected: int) -> Search:
        begin = time.perf_counter()
        (folder / "model.m").write_text(murphi(case.system(), False), encoding="utf-8")
        _quietly(["rumur", "--threads", str(threads), *SWITCHES, "--output", "model.c", "model.m"], folder)
        _quietly(["gcc", "-w", *RUMUR, "-o", "model", "model.c", "-lpthread"], folder)
        prepared = time.perf_counter() - begin

        def search() -> Run:
            said, wall, peak = timed(["./model"], folder, limit)
            return Run(prepared, wall, int(re.findall(r"(\d+) states", said)[-1]), peak)

        return search

    return prepare


def _quietly(command: list[str], folder: Path) -> None:
    subprocess.run(command, cwd=folder, check=True, capture_output=True)


@cache
def has_symmetry() -> bool:
    done = subprocess.run(
        [sys.executable, "-m", "isrcheck", "check", "--help"], capture_output=True, text=True, cwd=ROOT, check=True
    )
    return "--symmetry" in done.stdout


def tools(case: Case) -> dict[str, Tool]:
    """The tools by the names of their rows. isrcheck is first, because its number of states is the expected number."""
    found: dict[str, Tool] = {"isrcheck, 1 worker": isrcheck(1)}
    if CORES > 1:
        found[f"isrcheck, {CORES} workers"] = isrcheck(CORES)
    found |= {f"isrcheck --store disk, {n}": isrcheck(n, "--store", "disk") for n in sorted({1, CORES})}
    if has_symmetry():
        found |= {f"isrcheck --symmetry, {n}": isrcheck(n, "--symmetry") for n in sorted({1, CORES})}
    if shutil.which("spin") and case.defines:
        found["spin, tuned"] = spin(True)
    if shutil.which("spin"):
        found["spin, export"] = spin(False)
    if shutil.which("rumur"):
        found |= {f"rumur, export, {n}": rumur(n) for n in sorted({1, CORES})}
    return found


def compare(case: Case, runs: int, limit: float, words: Sequence[str]) -> bool:
    """Prints a table of the tools on a case. Returns whether they agree on the number of states."""
    print(f"\n{case.title}")
    head = ("states", "search s", "[least .. greatest]", "states/s", "MiB", "bytes/state", "before s")
    print(f"{'':26}{head[0]:>12}{head[1]:>10}{head[2]:>22}{head[3]:>12}{head[4]:>9}{head[5]:>12}{head[6]:>10}")
    rows: dict[str, list[Run]] = {}
    states: int | None = None
    for name, tool in tools(case).items():
        if not any(word in name for word in words):
            continue
        try:
            with tempfile.TemporaryDirectory(prefix="isrcheck-") as folder:
                search = tool(case, Path(folder), limit, states or 1 << 17)
                rows[name] = [search() for _ in range(runs)]
        except TooLong:
            print(f"{name:26}{'more than':>12}{limit:>9.0f} s", flush=True)
            continue
        states = rows[name][0].states if states is None else states
        print(_row(name, rows[name]), flush=True)
    _ratios(rows)
    counted = {run.states for name, all_runs in rows.items() if "--symmetry" not in name for run in all_runs}
    print(f"distinct states: {'all agree' if len(counted) == 1 else f'DIFFER: {sorted(counted)}'}")
    return len(counted) == 1


def _row(name: str, runs: list[Run]) -> str:
    spent = [run.seconds for run in runs]
    middle, peak, states = statistics.median(spent), statistics.median(run.peak for run in runs), runs[0].states
    spread = f"[{min(spent):.2f} .. {max(spent):.2f}]"
    before = statistics.median(run.prepared for run in runs)
    return (
        f"{name:26}{states:12,}{middle:10.2f}{spread:>22}{states / middle:12,.0f}{peak / 2**20:9,.0f}"
        f"{peak / states:12,.1f}{before:10.2f}"
    )


def _ratios(rows: dict[str, list[Run]]) -> None:
    """Prints the ratios of isrcheck's time and memory to those of the fastest variant of Spin here."""
    base = rows.get("spin, tuned") or rows.get("spin, export")
    if base is None:
        return
    spent, peak = (statistics.median(getattr(run, of) for run in base) for of in ("seconds", "peak"))
    for name, runs in rows.items():
        if name.startswith("isrcheck"):
            faster = spent / statistics.median(run.seconds for run in runs)
            memory = statistics.median(run.peak for run in runs) / peak
            print(f"{name}: {faster:.1f} times as fast as Spin, {memory:.2f} of its memory")


def versions() -> str:
    def first_line(*command: str) -> str:
        with contextlib.suppress(OSError, subprocess.CalledProcessError):
            return subprocess.run(command, capture_output=True, text=True, check=True).stdout.splitlines()[0].strip()
        return f"no {command[0]}"

    processor = re.findall(r"model name\s*: (.*)", Path("/proc/cpuinfo").read_text())
    memory = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") / 2**30
    return "\n".join(
        [
            f"{processor[0] if processor else platform.machine()}, {CORES} processors, {memory:.0f} GiB",
            f"isrcheck {first_line('git', '-C', str(ROOT), 'rev-parse', '--short', 'HEAD')}, "
            f"Python {platform.python_version()}",
            f"{first_line('spin', '-V')}; export: {' '.join(SPIN)}; tuned: {' '.join(TUNED)}; spin {' '.join(WHOLE)}",
            f"{first_line('rumur', '--version')}; {' '.join(RUMUR)}; {' '.join(SWITCHES)}",
            first_line("gcc", "--version"),
        ]
    )


def cases(large: bool) -> list[Case]:
    found = []
    for text in (*SMALL, *([LARGE] if large else [])):
        values = text.split("/")
        defines = tuple(f"-D{name}={value}" for name, value in zip(DEFINES, values, strict=True))
        found.append(Case("kip-320", dict(zip(NAMES, values, strict=True)), f"kip-320 {text}", defines))
    for model, settings in OTHERS:
        found.append(Case(model, settings, f"{model} {' '.join(f'{k}={v}' for k, v in settings.items())}"))
    return found


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--runs", type=int, default=5)
    parser.add_argument("--large", action="store_true", help="add 64.7 million states: minutes per tool, some 12 GB")
    parser.add_argument("--only", default="", metavar="TEXT", help="only cases whose title contains this")
    parser.add_argument(
        "--max-seconds", type=float, default=900.0, metavar="S", help="leave out a tool's row if it takes longer"
    )
    parser.add_argument("--tools", default="", metavar="WORDS", help="only rows whose name has one of these, by commas")
    arguments = parser.parse_args()
    chosen = [case for case in cases(arguments.large) if arguments.only in case.title]
    words = arguments.tools.split(",")
    names = {name for case in chosen for name in tools(case)}
    if not any(word in name for word in words for name in names):
        parser.error(f"no row has one of {arguments.tools}; the rows are {'; '.join(sorted(names)) or 'none'}")
    print(f"{versions()}\n{arguments.runs} runs of each")
    agree = [compare(case, arguments.runs, arguments.max_seconds, words) for case in chosen]
    sys.exit(0 if all(agree) else 10)


if __name__ == "__main__":
    main()
