"""Measures the driver's work for each level of a search on Spark, with the owners of a large cluster but without Spark.

    python benchmarks/spark_driver.py [--owners 4000] [--levels 30]

The search itself is unchanged and uses a dataset on this disk. Only the executors are simulated: each owner reports a
file of new states, and merges its files by the usual rule. Their time is not counted. The program prints a table: for
each level the CPU seconds of the driver, and the sizes of a task's data, of the data that all tasks share, and of the
manifest. At the end it prints the time to read all manifests again.
"""

from __future__ import annotations

import argparse
import json
import pickle
import resource
import sys
import tempfile
import time
from pathlib import Path
from types import SimpleNamespace
from typing import Any

ROOT = Path(__file__).parent.parent
sys.path.insert(0, str(ROOT))
from isrcheck.checker.datasets.dataset import Dataset  # noqa: E402
from isrcheck.checker.datasets.header import header_of  # noqa: E402
from isrcheck.checker.engines.spark import executor_kernels, state_files, tasks  # noqa: E402
from isrcheck.checker.engines.spark.cluster import Cluster  # noqa: E402
from isrcheck.checker.engines.spark.spark_search import Search  # noqa: E402
from isrcheck.checker.kernel.compiled import Kernel  # noqa: E402
from isrcheck.checker.registry.loader import load_model_class  # noqa: E402
from isrcheck.checker.results.exploration import Limits  # noqa: E402
from isrcheck.model.semantics.tracing import trace  # noqa: E402


class MadeUp:
    """Answers like executors, with a million states for each owner and level, and measures the driver's work."""

    def __init__(self, partitions: int, levels: int, verdict_bits: int) -> None:
        self.cores, self.versions, self.begun = partitions, dict[str, str](), False
        self.context = SimpleNamespace(master="local: made up")
        self.levels, self.verdict_bits = levels, verdict_bits
        self.since = time.process_time()

    def level(self, work: executor_kernels.Work, text: str, wait: Any) -> list[str]:
        planned, number = time.process_time() - self.since, work["level"] + 1
        plan, bounds = work["plan"], work["bounds"]
        task = len(pickle.dumps({name: value for name, value in work.items() if name != "plan"}))
        if number % 5 == 0 or number > self.levels:
            sizes = f"{task / 1e3:8.0f} kB{len(pickle.dumps(plan)) / 1e6:9.1f} MB{self.manifest(work):9.1f} MB"
            print(f"{number - 1:6}{planned:10.2f} s{sizes}{memory():9.2f} GB", flush=True)
        answers = [self.report(work, partition, bounds, number) for partition in range(len(bounds) - 1)]
        self.since = time.process_time()
        return answers

    def manifest(self, work: executor_kernels.Work) -> float:
        return Path(work["root"], f"manifests/level-{work['level']:05d}.json").stat().st_size / 1e6

    def report(self, work: executor_kernels.Work, partition: int, bounds: list[int], number: int) -> str:
        low, high = bounds[partition : partition + 2]
        known, last = state_files.mine(work, partition)["known"], number > self.levels
        part = None if last else entry(f"{work['states']}/part-{partition:05d}-{number:032x}.parquet", low, high)
        merged = []
        if len(known) > work["most_runs"]:
            chosen = known[: len(known) // 2 + 1]
            merged = [
                {
                    "entry": entry(f"runs/{partition:08x}{number:024x}.parquet", low, high),
                    "replaced": [e["path"] for e in chosen],
                }
            ]
            for each in merged:
                Path(work["root"], each["entry"]["path"]).touch()
        actions = int(work["kernel"]["actions"])
        expand = {
            "expanded": 10**6, "tally": [1, 9, 0, *[10**6] * actions], "rejected": 0, "outside": 0, "read": 16 * 10**6,
            "sent": 40 * 10**6, "compile": 0.0, "seconds": 1.5, "transitions": None,
        }  # fmt: skip
        merge = {
            "owner": partition, "distinct": 0 if last else 10**6, "counts": [0] * self.verdict_bits, "part": part,
            "merged": merged, "received": 40 * 10**6, "read": 10**8, "written": 12 * 10**6, "seconds": 1.5,
        }  # fmt: skip
        return json.dumps({"expand": [expand], "merge": merge})


def entry(path: str, low: int, high: int) -> dict[str, Any]:
    return {
        "path": path, "rows": 10**6, "bytes": 12 * 10**6, "sha256": f"{low:064x}",
        "hashes": [f"{low:016x}", f"{high - 1:016x}"], "owner": tasks.partition_name(low, high),
    }  # fmt: skip


def memory() -> float:
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1e6


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--owners", type=int, default=4000)
    parser.add_argument("--levels", type=int, default=30)
    given = parser.parse_args()
    loaded = load_model_class("kip-320")
    system = trace(loaded.cls(replicas=2), loaded.chosen(("weak-isr",)))
    kernel = Kernel(system)
    heads = ("driver CPU", 12), ("a task", 11), ("all tasks", 12), ("manifest", 12), ("memory", 12)
    print(f"{given.partitions:,} owners\n{'level':>6}" + "".join(f"{head:>{width}}" for head, width in heads))
    with tempfile.TemporaryDirectory() as folder:
        dataset = Dataset.create(f"{folder}/x", header_of(system, kernel, "kip-320", False))
        spark: Any = MadeUp(given.partitions, given.levels, len(kernel.verdicts.bits))
        cluster = Cluster(threshold=0, partitions=given.partitions)
        begin = time.process_time()
        Search(kernel, dataset, spark, cluster, Limits(), None, begin).explore(False, False)
        dataset.close()
        begin = time.process_time()
        found = Dataset.open(f"{folder}/x")
        print(
            f"{len(found.levels)} manifests read again in {time.process_time() - begin:.1f} s of CPU; {memory():.2f} GB"
        )


if __name__ == "__main__":
    main()
