"""Measures speed, memory and start-up of the local engine, and prints a table. Run it on a quiet machine:

    python benchmarks/local_engine.py [--large] [--runs N]

Every figure is for whole processes: the median over the runs, with the least and the greatest. `--large` adds kip-320
at 3/3/3/3 (64.7 million states). The ratio to the reference engine is measured in the same run.
"""

from __future__ import annotations

import argparse
import json
import os
import platform
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parent.parent
NAMES = ("replicas", "log_size", "max_records", "max_leader_epoch")
TARGETS = {
    "3/3/3/2 states/s": "at least 1,500,000",
    "3/3/3/2 compile s": "at most 1",
    "tiny check, warm, s": "at most 1.5",
    "tiny check, first ever, s": "at most 15",
    "3/3/3/3 bytes a state": "at most 32",
}


DEEP = '''\
from isrcheck.model.language import Model, action, number


class Deep(Model):
    """Two counters: 360,000 states in 1,199 levels."""

    def variables(self):
        return {"x": number(0, 599), "y": number(0, 599)}

    @action(actor="counter")
    def count_x(self, s):
        """One more."""
        s.require(s.x < 599)
        s.x += 1

    @action(actor="counter")
    def count_y(self, s):
        """One more."""
        s.require(s.y < 599)
        s.y += 1
'''


def check(bounds: str, engine: str = "local", environment: dict[str, str] | None = None) -> dict[str, Any]:
    """Runs one check of kip-320. Returns the JSON of its report, with the wall-clock seconds of the process added."""
    settings = [x for pair in zip(NAMES, bounds.split("/"), strict=True) for x in ("-s", "=".join(pair))]
    invariants = ["--invariant", "weak-isr", "--invariant", "strong-isr"]
    return report("kip-320", *settings, *invariants, "--engine", engine, environment=environment)


def deep() -> dict[str, Any]:
    """As `check`, for a model with very many levels."""
    with tempfile.TemporaryDirectory() as folder:
        (Path(folder) / "deep.py").write_text(DEEP)
        return report(str(Path(folder) / "deep.py"))


def report(*words: str, environment: dict[str, str] | None = None) -> dict[str, Any]:
    command = [sys.executable, "-m", "isrcheck", "check", *words]
    with tempfile.TemporaryDirectory() as folder:
        written = Path(folder) / "report.json"
        begin = time.perf_counter()
        subprocess.run(
            [*command, "--quiet", "--json", str(written)],
            check=True,
            cwd=ROOT,
            stdout=subprocess.DEVNULL,
            env=os.environ | (environment or {}),
        )
        wall = time.perf_counter() - begin
        found: dict[str, Any] = json.loads(written.read_text())
    found["wall"] = wall
    return found


def row(name: str, values: list[float], digits: int = 2) -> None:
    middle, least, greatest = statistics.median(values), min(values), max(values)
    print(
        f"{name:32}{middle:16,.{digits}f}   [{least:,.{digits}f} .. {greatest:,.{digits}f}]   {TARGETS.get(name, '')}"
    )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else "")
    parser.add_argument("--large", action="store_true", help="add kip-320 at 3/3/3/3, which takes a minute and 2 GB")
    parser.add_argument("--runs", type=int, default=5)
    arguments = parser.parse_args()
    print(
        f"{platform.machine()}, {os.cpu_count()} processors, Python {platform.python_version()}, {arguments.runs} runs"
    )
    print(f"{'':32}{'median':>16}   [least .. greatest]")
    with tempfile.TemporaryDirectory() as cache:
        first = check("2/2/1/1", environment={"ISRCHECK_CACHE": f"{cache}/objects"})
    row("tiny check, first ever, s", [first["wall"]])
    check("2/2/1/1")
    row("tiny check, warm, s", [check("2/2/1/1")["wall"] for _ in range(arguments.runs)])
    row("1,199 levels, s", [deep()["wall"] for _ in range(arguments.runs)])
    middle = [check("3/3/3/2") for _ in range(arguments.runs)]
    row("3/3/3/2 states/s", [r["states_per_second"] for r in middle], 0)
    row("3/3/3/2 compile s", [r["seconds"]["compile"] for r in middle])
    row("3/3/3/2 bytes a state", [r["store_bytes"] / r["distinct"] for r in middle], 1)
    if arguments.large:
        large = check("3/3/3/3")
        row("3/3/3/3 search s", [large["seconds"]["search"]])
        row("3/3/3/3 states/s", [large["states_per_second"]], 0)
        row("3/3/3/3 bytes a state", [large["peak_rss_bytes"] / large["distinct"]], 1)
    ours, reference = check("2/2/2/2"), check("2/2/2/2", engine="reference")
    ratio = reference["seconds"]["search"] / ours["seconds"]["search"]
    row("2/2/2/2 reference / local", [ratio], 0)


if __name__ == "__main__":
    main()
