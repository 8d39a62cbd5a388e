"""Records runs of a real cluster with faults, and explains each run by the model `kraft`.

`python -m benchmarks.cluster OUT --runs 10` keeps the data of each run (`N.json`) and its recording (`N.ndjson`) in
OUT, and prints the answer of `isrcheck conform --recording`. `--again` only explains the runs that are in OUT already.
This needs Java 17, Maven, about 2 GB of memory, and half a minute for each run.
"""

from __future__ import annotations

import argparse
import json
from collections import Counter
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from benchmarks.cluster.reading import Raw, Reading
from benchmarks.cluster.run import Runner
from benchmarks.cluster.running import Cluster, cluster
from isrcheck.checker.registry.loader import load_model_class
from isrcheck.checker.results.errors import CommandError
from isrcheck.checker.results.result import Exit
from isrcheck.checker.trace_validation.recording_file import read
from isrcheck.checker.trace_validation.validate import validate
from isrcheck.checker.trace_validation.validation_search import Limits
from isrcheck.checker.trace_validation.validation_text import headline

IN_A_ROW = 6
SECONDS = 300.0


def record(running: Cluster, number: int, seed: int, out: Path) -> None:
    """Drives one run, and keeps its data."""
    runner = Runner(running, number, seed)
    run = runner.drive()
    (out / f"{number}.json").write_text(json.dumps(runner.left_behind()))
    print(f"{number}: {'; '.join(run.done)}", flush=True)


def recorded(raw: Path) -> Path:
    """Writes the recording of a kept run, and returns its path."""
    lines: list[dict[str, Any]] = Reading(Raw.of(json.loads(raw.read_text()))).recorded()
    path = raw.with_suffix(".ndjson")
    path.write_text("".join(json.dumps(line) + "\n" for line in lines))
    return path


def record_all(runs: int, seed: int, out: Path) -> None:
    """Records several runs of one cluster. If a run fails, it prints the reason and continues."""
    with TemporaryDirectory(prefix="isrcheck-") as folder, cluster(Path(folder) / "cluster") as running:
        for number in range(runs):
            try:
                record(running, number, seed, out)
            except CommandError as failure:
                print(f"{number}: not recorded: {failure.message}", flush=True)
                running.heal()


def compare_all_with_fixes(out: Path) -> None:
    """Explains every kept run, and counts the verdicts."""
    kraft, verdicts = load_model_class("kraft"), Counter[str]()
    for raw in sorted(out.glob("*.json"), key=lambda path: int(path.stem)):
        path = recorded(raw)
        recording = read(path)
        answer = validate(recording, kraft, recording.settings, path.name, IN_A_ROW, Limits(seconds=SECONDS))
        verdicts[answer.verdict] += 1
        print(f"{headline(answer)}; {answer.visited:,} states, {sum(answer.seconds.values()):.0f} s", flush=True)
    print(", ".join(f"{count} {verdict}" for verdict, count in sorted(verdicts.items())))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("out", type=Path)
    parser.add_argument("--runs", type=int, default=10)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--again", action="store_true")
    asked = parser.parse_args()
    asked.out.mkdir(parents=True, exist_ok=True)
    try:
        if not asked.again:
            record_all(asked.runs, asked.seed, asked.out)
        compare_all_with_fixes(asked.out)
    except CommandError as failure:
        parser.exit(int(failure.code), f"{failure.message}\n")
    except KeyboardInterrupt:
        parser.exit(int(Exit.INTERRUPTED), f"interrupted; --again explains what is in {asked.out}\n")


if __name__ == "__main__":
    main()
