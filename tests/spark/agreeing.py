"""Asks the local engine and Spark the same question. Spark runs every level except the first."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from isrcheck import check
from isrcheck.checker.engines.explicit.search import search
from isrcheck.checker.engines.spark import state_files
from isrcheck.checker.engines.spark.cluster import Cluster
from isrcheck.checker.kernel.compiled import Kernel
from isrcheck.checker.registry.loader import load_model_class
from isrcheck.checker.results.exploration import Limits
from isrcheck.checker.results.result import Result
from isrcheck.model.semantics.tracing import trace
from tests.agreement.test_engines_agree import comparable

LIMITS = Limits(memory=3 << 30)


def essence_on_spark(result: Result) -> dict[str, Any]:
    """The essence of a result of Spark. Asserts that Spark ran every level except the first."""
    data = result.to_json()
    assert data["spark_levels"] == list(range(1, len(data["spark_levels"]) + 1))
    assert len(data["spark_levels"]) >= len(result.levels) - 1
    return {name: x for name, x in comparable(result).items() if name not in ("spark", "spark_levels")}


def on_spark(session: Any, folder: Path, owners: int, *what: Any, **question: Any) -> Result:
    """The result of Spark, which writes its dataset into `folder`."""
    cluster = Cluster(threshold=0, partitions=owners, checkpoint=str(folder))
    return check(*what, profile="bare", engine="spark", spark=session, cluster=cluster, **question)


def states_on_disk(folder: Path, kernel: Kernel, depth: int) -> list[list[list[int]]]:
    """The states of each level, read from the files without the manifests."""
    levels = []
    for number in range(1, depth + 1):
        parts = sorted((folder / f"states/level={number:05d}").iterdir())
        slabs = (
            slab
            for part in parts
            for slab, _ in state_files.Reader(str(folder), str(part.relative_to(folder)), kernel.hashes).between(
                0, 1 << 64
            )
        )
        levels.append(sorted(row for slab in slabs for row in slab.tolist()))
    return levels


class Asked:
    """A question with the local engine's answer: the result, and every state of every level."""

    def __init__(self, name: str, settings: dict[str, Any], **question: Any) -> None:
        self.name, self.settings, self.question = name, settings, question
        self.wanted = check(name, settings, profile="bare", **question, limits=LIMITS)
        loaded = load_model_class(name)
        names = question.get("invariants")
        system = trace(loaded.cls(**settings), loaded.chosen(None if names is None else tuple(names)))
        _, native = search(
            system, keep_going=question.get("keep_going", False), deadlock=question.get("deadlock", False),
            limits=LIMITS, report=None,
        )  # fmt: skip
        self.kernel, depth = Kernel(system), len(self.wanted.levels)
        self.levels = [sorted(native.level_states(k).tolist()) for k in range(1, depth + 1)]

    def same(self, session: Any, folder: Path, owners: int) -> Result:
        """The result of Spark. Asserts that the result and all states of all levels are as expected."""
        found = on_spark(session, folder, owners, self.name, self.settings, **self.question)
        assert essence_on_spark(found) == comparable(self.wanted)
        assert states_on_disk(folder, self.kernel, len(self.levels)) == self.levels
        return found
