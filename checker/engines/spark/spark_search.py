"""Breadth-first search that stores its levels in a dataset. The driver decides and counts, and tasks do the work.

Spark expands large levels, and this process expands small levels, with the same functions. A new level is committed as
a whole. A search that continues a dataset first goes through the stored levels as if it had just found them.

Combines the partitions' reports about a level: counts, seconds, bytes.
"""

from __future__ import annotations

import json
import tempfile
import time
from collections.abc import Iterable
from contextlib import ExitStack
from dataclasses import dataclass
from typing import Any, Final

import numpy as np

from isrcheck.checker.datasets.dataset import Dataset
from isrcheck.checker.datasets.dataset_summary import write_tables
from isrcheck.checker.datasets.header import header_of, require_same
from isrcheck.checker.datasets.manifests import Level
from isrcheck.checker.engines.spark import executor_kernels, row_order, state_files, tasks
from isrcheck.checker.engines.spark.cluster import Cluster
from isrcheck.checker.engines.spark.dataset_paths import StoredLevels, StoredPaths
from isrcheck.checker.engines.spark.session import Spark, deferred, raise_if_asked
from isrcheck.checker.kernel.compiled import Kernel
from isrcheck.checker.kernel.verdict_bits import FAILED, OUTSIDE
from isrcheck.checker.results.errors import ClusterFailed
from isrcheck.checker.results.exploration import Exploration, Limits, Progress, Report, Stop
from isrcheck.model.semantics.transition_system import TransitionSystem


@dataclass(frozen=True)
class LevelReports:
    """The partitions' reports, in order, about a level that is not committed yet."""

    expanded: list[dict[str, Any]]
    merged: list[dict[str, Any]]
    seconds: float

    def total(self, key: str, where: str = "merged") -> int:
        return sum(report[key] for report in getattr(self, where))

    @property
    def tally(self) -> list[int]:
        tallies = [report["tally"] for report in self.expanded]
        least, greatest = (
            min(t[executor_kernels.LEAST] for t in tallies),
            max(t[executor_kernels.GREATEST] for t in tallies),
        )
        return [
            least,
            greatest,
            *(sum(column) for column in list(zip(*tallies, strict=True))[executor_kernels.FAILURES :]),
        ]


def level_reports(reports: list[dict[str, Any]], seconds: float) -> LevelReports:
    reports.sort(key=lambda report: int(report["merge"]["owner"]))
    return LevelReports([x for r in reports for x in r["expand"]], [r["merge"] for r in reports], seconds)


def require_each_partition(reports: list[dict[str, Any]], partitions: int) -> None:
    """Raises `ClusterFailed` unless there is exactly one report for each partition.

    If a partition has no report, Spark has lost the partition's candidates (`tasks.py`). If a partition has several
    reports, Spark has divided the candidates among several tasks. In both cases, the reports are wrong.
    """
    if sorted(report["merge"]["owner"] for report in reports) != list(range(partitions)):
        raise ClusterFailed(
            "Spark split the candidates of one partition over several tasks; --conf spark.sql.adaptive.enabled=false"
        )


def any_of(numbers: Iterable[int]) -> int:
    result = 0
    for number in numbers:
        result |= number
    return result


def cost_of(found: LevelReports) -> dict[str, Any]:
    """The seconds and bytes of a level.

    The *skew* of a stage is the time of its longest task, divided by the mean time of its tasks. The skew of a level is
    the greater skew of its two stages, expand and merge.
    """
    expand, merge = ([report["seconds"] for report in stage] for stage in (found.expanded, found.merged))
    return {
        "seconds": round(found.seconds, 4),
        "expand_seconds": round(sum(expand), 4),
        "merge_seconds": round(sum(merge), 4),
        "skew": round(max(max(t) * len(t) / max(sum(t), 1e-9) for t in (expand, merge)), 3),
        "bytes_read": found.total("read", "expanded") + found.total("read"),
        "bytes_exchanged": found.total("sent", "expanded"),
        "bytes_written": found.total("written"),
    }


def words_of(level: Level) -> str:
    """A note that says where a level was built, how long it took, and how many bytes were moved."""
    if not level.cost:
        return ""
    megabytes = {name: level.cost[f"bytes_{name}"] / 1e6 for name in ("read", "exchanged", "written")}
    moved = ", ".join(f"{size:.1f} MB {name}" for name, size in megabytes.items())
    stages = f"expand {level.cost['expand_seconds']:.2f} s, merge {level.cost['merge_seconds']:.2f} s"
    return (
        f"last level by {level.by} in {level.cost['seconds']:.2f} s ({stages}, skew {level.cost['skew']:.1f}, {moved})"
    )


MOST_RUNS: Final = 8
"""If a partition has more than this many files of known states, the smallest (just over half) are merged into one."""
EVERYTHING: Final = row_order.bounds(1)
NOT_SHARED: Final = "with {} the states need a folder shared by the driver and the executors; name it with --checkpoint"


def search(
    system: TransitionSystem, *, model: str, cluster: Cluster, keep_going: bool, deadlock: bool, limits: Limits,
    report: Report | None, leaving: ExitStack,
) -> tuple[Exploration, StoredPaths]:  # fmt: skip
    """Explores the reachable states level by level until no state is new, or until there is a reason to stop earlier.

    Such a reason is a limit, too little memory, an interruption, an evaluation that fails or, without `keep_going`, a
    violation. With `deadlock`, a deadlock counts like a violation. When the caller closes `leaving`, the dataset is
    closed, a temporary dataset is removed, and the handler of Ctrl-C is restored.
    """
    began = time.perf_counter()
    leaving.enter_context(deferred())
    spark = Spark(cluster)
    started = time.perf_counter()
    kernel = Kernel(system)
    compiled = time.perf_counter()
    dataset = _dataset(header_of(system, kernel, model, cluster.transitions), cluster, spark, leaving)
    leaving.callback(dataset.close)
    run = Search(kernel, dataset, spark, cluster, limits, report, began)
    answer = run.explore(keep_going, deadlock)
    searched = time.perf_counter() - compiled - spark.seconds
    answer.seconds = {
        "spark": started - began + spark.seconds, "compile": compiled - started, "search": searched
    }  # fmt: skip
    return answer, StoredPaths(run.levels, [t.actor for t in system.transitions])


def _dataset(header: dict[str, Any], cluster: Cluster, spark: Spark, leaving: ExitStack) -> Dataset:
    if (root := cluster.resume) is not None:
        return Dataset.resume(root, lambda found: require_same(root, found, header), spark.damaged)
    if cluster.checkpoint is not None:
        return Dataset.create(cluster.checkpoint, header)
    if not cluster.on_this_machine:
        raise FileNotFoundError(NOT_SHARED.format(cluster.master))
    return Dataset.create(leaving.enter_context(tempfile.TemporaryDirectory(prefix="isrcheck-")), header)


class _Stopped(Exception):
    def __init__(self, reason: Stop) -> None:
        self.reason: Stop = reason


class Search:
    """A search that fills a dataset. Levels that the dataset already has are not built again."""

    def __init__(
        self, kernel: Kernel, dataset: Dataset, spark: Spark, cluster: Cluster, limits: Limits,
        report: Report | None, began: float,
    ) -> None:  # fmt: skip
        system = kernel.system
        self.system, self.kernel, self.dataset, self.spark, self.cluster = system, kernel, dataset, spark, cluster
        self.limits, self._report, self._began = limits, report, began
        self.history: list[Level] = []
        self._partitions: list[int] | None = None
        self.work: executor_kernels.Work = {
            "root": dataset.root,
            "model": dataset.header["model"],
            "kernel": sizes(kernel, bool(system.constraints)),
            "transitions": cluster.transitions,
            "most_runs": MOST_RUNS,
            "group": state_files.GROUP,
        }
        self.levels = StoredLevels(system, kernel, self.history, spark, self.work, self.partitions, cluster.threshold)

    def partitions(self) -> list[int]:
        """The first hash of each partition, then 2**64. Without `cluster.partitions`, there is one for each core."""
        if self._partitions is None:
            self._partitions = row_order.bounds(self.cluster.partitions or self.spark.cores)
        return self._partitions

    def explore(self, keep_going: bool, deadlock: bool) -> Exploration:
        answer = Exploration(initial=len(self.system.initial))
        try:
            self._append(self._known(1) or self._initial())
            self._loop(answer, keep_going, deadlock)
        except _Stopped as stopped:
            answer.stopped = stopped.reason
        except MemoryError:
            answer.stopped = "memory"
        except KeyboardInterrupt:
            answer.stopped = "interrupt"
        self._fold(answer)
        write_tables(self.dataset, self.kernel.verdicts, self.system.actions)
        return answer

    # --- levels -----------------------------------------------------------------------------------------------------

    def _loop(self, answer: Exploration, keep_going: bool, deadlock: bool) -> None:
        violations = sum(1 << bit for bit in self.kernel.verdicts.invariants.values())
        while True:
            number, last = len(self.history), self.history[-1]
            if last.seen >> FAILED & 1:
                answer.error = number, self.levels.failing_predicate(number), None
                raise _Stopped("error")
            if not keep_going and last.seen & violations:
                raise _Stopped("violation")
            if not last.distinct:
                return
            if self.limits.states is not None and sum(x.distinct for x in self.history) > self.limits.states:
                raise _Stopped("states")
            self._wait()
            self._append(self._known(number + 1) or self._next(answer, number, keep_going, deadlock))
            assert self.history[-1].degrees is not None
            if deadlock and self.history[-1].degrees[0] == 0:
                answer.deadlock = answer.deadlock or number
                if not keep_going:
                    self.history.pop()
                    raise _Stopped("violation")

    def _next(self, answer: Exploration, number: int, keep_going: bool, deadlock: bool) -> Level:
        """Expands the last level, and commits and returns the next level. Raises `_Stopped` if an instance fails."""
        found, by = self._expanded(self._work(number))
        if found.tally[executor_kernels.FAILURES]:
            answer.error = number, *self.levels.failing_instance(number)
            raise _Stopped("error")
        return self._committed(number + 1, found, by)

    def _work(self, number: int) -> executor_kernels.Work:
        states, steps = self.dataset.prepare(number + 1)
        distinct = self.history[-1].distinct if self.history else 0
        return {**self.work, "states": states, "steps": steps, "level": number, "states_of_level": distinct}

    def _planned(self, bounds: list[int]) -> executor_kernels.Work:
        """For each partition (a task, see `partitions`), the range of its hashes and the files that it reads."""
        frontier, known = (self.history[-1].files, self.history[-1].runs) if self.history else ([], [])
        return {"bounds": bounds, "plan": state_files.plan(frontier, known, bounds)}

    def _expanded(self, work: executor_kernels.Work) -> tuple[LevelReports, str]:
        large = self.history[-1].distinct > self.cluster.threshold
        # This check starts the session if it has not started yet, so that the start does not count as time of a level.
        if large:
            self._require_shared()
        begin = time.perf_counter()
        if large:
            answers = self.spark.level({**work, **self._planned(self.partitions())}, self.kernel.text, self._wait)
            reports = [json.loads(text) for text in answers]
            require_each_partition(reports, len(self.partitions()) - 1)
            by = "spark"
        else:
            work, payloads, reports = {**work, **self._planned(EVERYTHING)}, [], []
            executor_kernels.at_hand(work, self.kernel.code)
            for _, data, report in tasks.expand(work, 0):
                payloads += [data] if data else []
                reports += [json.loads(report)] if report else []
                self._wait()
            reports = [{"expand": reports, "merge": tasks.merge(work, 0, payloads)}]
            by = "driver"
        return level_reports(reports, time.perf_counter() - begin), by

    def _require_shared(self) -> None:
        """Raises OSError if the dataset is temporary and executors cannot access this machine's folders."""
        master, cluster = str(self.spark.context.master), self.cluster
        if cluster.checkpoint is None and cluster.resume is None and not master.startswith("local"):
            raise FileNotFoundError(NOT_SHARED.format(master))

    def _initial(self) -> Level:
        packed = self.kernel.layout.pack(self.system.initial)
        verdicts = self.kernel.evaluate(packed)
        outside = verdicts[:, 0] >> np.uint64(OUTSIDE) & np.uint64(1) == 1
        report = {
            "tally": self.kernel.tally().tolist(), "rejected": int(outside.sum()), "read": 0, "sent": 0,
            "seconds": 0.0, "outside": tasks.bits(np.bitwise_or.reduce(verdicts[outside], axis=0)), "transitions": None,
        }  # fmt: skip
        work = executor_kernels.at_hand({**self._work(0), **self._planned(EVERYTHING)}, self.kernel.code)
        first, _ = row_order.distinct(packed[~outside], self.kernel.hashes(packed[~outside]))
        merged = tasks.merge(work, 0, [first.tobytes()])
        found = level_reports([{"expand": [report], "merge": merged}], merged["seconds"])
        return self._committed(1, found, "driver")

    def _committed(self, number: int, found: LevelReports, by: str) -> Level:
        tally, before = found.tally, self.history[-1].runs if self.history else []
        parts = [report["part"] for report in found.merged if report["part"] is not None]
        steps = [report["transitions"] for report in found.expanded if report["transitions"] is not None]
        mergers = [merger for report in found.merged for merger in report["merged"]]
        replaced = {path for merger in mergers for path in merger["replaced"]}
        level = Level(
            number=number,
            distinct=found.total("distinct"),
            generated=tally[executor_kernels.ACTIONS :] if number > 1 else None,
            degrees=tally[:2] if number > 1 else None,
            rejected=found.total("rejected", "expanded"),
            outside=any_of(report["outside"] for report in found.expanded),
            counts=[sum(column) for column in zip(*(report["counts"] for report in found.merged), strict=True)],
            files=parts,
            transitions=steps,
            runs=[*(e for e in before if e["path"] not in replaced), *(m["entry"] for m in mergers), *parts],
            by=by,
            cost=cost_of(found),
        )
        self.dataset.commit(level)
        return level

    def _known(self, number: int) -> Level | None:
        levels = self.dataset.levels
        return levels[number - 1] if len(levels) >= number else None

    def _append(self, level: Level) -> None:
        self.history.append(level)
        if self._report is not None:
            self._report(self._progress())

    # --- limits and progress ----------------------------------------------------------------------------------------

    def _wait(self) -> None:
        """Raises an exception after Ctrl-C or at the time limit. Called often while Spark or this process works."""
        raise_if_asked()
        if self.limits.seconds is not None and time.perf_counter() - self._began > self.limits.seconds:
            raise _Stopped("time")

    def _progress(self) -> Progress:
        last = self.history[-1]
        return Progress(
            level=last.number + 1,
            distinct=sum(level.distinct for level in self.history),
            generated=sum(sum(level.generated or ()) for level in self.history),
            frontier=last.distinct,
            expanded=0,
            memory=sum(entry["bytes"] for entry in last.runs),
            seconds=time.perf_counter() - self._began,
            note=words_of(last),
        )

    # --- the answer -------------------------------------------------------------------------------------------------

    def _fold(self, answer: Exploration) -> None:
        """Adds the totals of the levels in `history` to the answer."""
        verdicts = self.kernel.verdicts
        for level in self.history:
            answer.rejected += level.rejected
            if level.distinct:
                answer.levels.append(level.distinct)
            if level.generated is not None and level.degrees is not None:
                answer.generated.append(level.generated)
                least, greatest = answer.degrees or level.degrees
                answer.degrees = min(least, level.degrees[0]), max(greatest, level.degrees[1])
            for names, seen in (
                (verdicts.invariants, answer.violated),
                (verdicts.goals, answer.goals),
                (verdicts.bounds, answer.bounds),
            ):
                seen.update({n: level.number for n, bit in names.items() if level.seen >> bit & 1 and n not in seen})
        answer.workers = self.spark.cores if self.spark.begun else 1
        answer.extra = {
            "spark_levels": [level.number - 1 for level in self.history if level.by == "spark"],
            "spark": {
                "master": str(self.spark.context.master) if self.spark.begun else self.cluster.master or "local[*]",
                "cores": answer.workers,
                "partitions": len(self._partitions) - 1 if self._partitions else self.cluster.partitions,
                "threshold": self.cluster.threshold,
                "versions": self.spark.versions,
                "levels": [{"level": level.number - 1, "by": level.by, **level.cost} for level in self.history[1:]],
            },
        }


def sizes(kernel: Kernel, constrained: bool) -> dict[str, Any]:
    """The data about a kernel that tasks need."""
    return {
        "digest": kernel.digest,
        "file": f"isrcheck-{kernel.digest[:32]}.ll",
        "words": kernel.words,
        "transitions": kernel.transitions,
        "actions": kernel.actions,
        "verdict_words": kernel.verdicts.words,
        "verdict_bits": len(kernel.verdicts.bits),
        "constrained": constrained,
    }
