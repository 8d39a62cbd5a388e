"""Combines the owners' reports about a level: counts, seconds, bytes."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

from isrcheck.checker.datasets.manifests import Level
from isrcheck.checker.datasets.refusals import ClusterFailed
from isrcheck.checker.engines.spark import kernels


@dataclass(frozen=True)
class Found:
    """The owners' reports about a level that is not committed yet. The reports are in the order of the owners."""

    expanded: list[dict[str, Any]]
    merged: list[dict[str, Any]]
    seconds: float

    def total(self, key: str, where: str = "merged") -> int:
        return sum(report[key] for report in getattr(self, where))

    @property
    def tally(self) -> list[int]:
        tallies = [report["tally"] for report in self.expanded]
        least, greatest = min(t[kernels.LEAST] for t in tallies), max(t[kernels.GREATEST] for t in tallies)
        return [least, greatest, *(sum(column) for column in list(zip(*tallies, strict=True))[kernels.FAILURES :])]


def found_by(reports: list[dict[str, Any]], seconds: float) -> Found:
    reports.sort(key=lambda report: int(report["merge"]["owner"]))
    return Found([x for r in reports for x in r["expand"]], [r["merge"] for r in reports], seconds)


def require_each_owner(reports: list[dict[str, Any]], owners: int) -> None:
    """Raises `ClusterFailed` unless there is exactly one report for each owner.

    If an owner has no report, Spark has lost the owner's candidates (`tasks.py`). If an owner has several reports,
    Spark has divided the candidates among several tasks. In both cases, the reports are wrong.
    """
    if sorted(report["merge"]["owner"] for report in reports) != list(range(owners)):
        raise ClusterFailed(
            "Spark has not given each owner all of its candidates in one task; --conf spark.sql.adaptive.enabled=false"
        )


def any_of(numbers: Iterable[int]) -> int:
    result = 0
    for number in numbers:
        result |= number
    return result


def cost_of(found: Found) -> dict[str, Any]:
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
