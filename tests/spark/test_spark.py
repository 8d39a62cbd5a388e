"""Real Spark, one level after the other: verdicts, counts, states and traces to the byte those of the local engine."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest

from checker import check
from checker.datasets.dataset import manifest_name
from checker.engines.local.search import search
from checker.engines.spark import files
from checker.engines.spark import levels as stored
from checker.engines.spark.cluster import Cluster
from checker.exploration import Limits
from checker.kernel.compile import Kernel
from checker.library import load_model_class
from checker.scenarios.scenario import read
from model.language.tracing import trace
from tests.agreement.test_engines_agree import essence
from tests.agreement.test_where_searches_stop import COUNT, UNGUARDED, counter
from tests.published.test_published_counts import INVARIANTS, settings_of

pytestmark = [pytest.mark.needs("java"), pytest.mark.xdist_group("spark")]
ROOT = Path(__file__).parent.parent.parent
NAMES = {"async-isr": ("replicas", "max_offset", "max_version")}
KAFKA_NAMES = ("replicas", "log_size", "max_records", "max_leader_epoch")
ROWS = """
truncate-to-hw     2/2/1/1  353
kip-101            2/2/1/1  341
kip-279            2/2/1/1  341
kip-320-first-try  2/2/1/1  337
kip-320            2/2/1/1  277
async-isr          2/1/1     24
async-isr          2/2/2     84
async-isr          3/1/2   1460
"""
SCENARIOS = (
    "kip-101", "v3-acks-one", "v3-empty-isr", "v3-frozen-isr", "v3-leader-ignores-command", "v3-min-isr-of-one",
    "v3-unclean-election", "v3-unnoticed-bounce-waits",
)  # fmt: skip


def on_spark(session: Any, folder: Path, owners: int, *what: Any, **question: Any) -> dict[str, Any]:
    """The essence of a result for which Spark ran every level but the first, and its dataset in `folder`."""
    cluster = Cluster(threshold=0, partitions=owners, checkpoint=str(folder))
    result = check(*what, engine="spark", spark=session, cluster=cluster, **question)
    data = result.to_json()
    assert data["spark_levels"] == list(range(1, len(data["spark_levels"]) + 1))
    assert len(data["spark_levels"]) >= len(result.levels) - 1
    return {name: x for name, x in essence(result).items() if name not in ("spark", "spark_levels")}


def states_on_disk(folder: Path, kernel: Kernel, depth: int) -> list[list[list[int]]]:
    """The states of each level, read from the files whatever the manifests say."""
    levels = []
    for number in range(1, depth + 1):
        parts = sorted((folder / f"states/level={number:05d}").iterdir())
        slabs = (slab for part in parts for slab, _ in files.Reader(str(part), kernel.hashes).between(0, 1 << 64))
        levels.append(sorted(row for slab in slabs for row in slab.tolist()))
    return levels


def assert_same(
    session: Any, folder: Path, owners: int, name: str, settings: dict[str, Any], **question: Any
) -> dict[str, Any]:
    """What the local engine and Spark both find."""
    wanted = essence(check(name, settings, **question))
    assert on_spark(session, folder, owners, name, settings, **question) == wanted
    loaded = load_model_class(name)
    names = question.get("invariants")
    system = trace(loaded.cls(**settings), loaded.chosen(None if names is None else tuple(names)))
    _, native = search(
        system, keep_going=question.get("keep_going", False), deadlock=False, limits=Limits(seconds=60), report=None
    )
    depth = len(wanted["levels"])
    levels = [sorted(native.level_states(k).tolist()) for k in range(1, depth + 1)]
    assert states_on_disk(folder, Kernel(system), depth) == levels
    return wanted


@pytest.mark.parametrize("owners", [1, 2, 7])
@pytest.mark.parametrize("row", [line.split() for line in ROWS.strip().splitlines()], ids=" ".join)
def test_published_rows(session: Any, tmp_path: Path, row: list[str], owners: int) -> None:
    name, bounds, distinct = row
    settings = settings_of(bounds, *NAMES.get(name, KAFKA_NAMES))
    invariants = None if name in NAMES else INVARIANTS
    found = assert_same(session, tmp_path / "x", owners, name, settings, invariants=invariants, keep_going=True)
    assert found["distinct"] == int(distinct)


@pytest.mark.parametrize("owners", [1, 2, 7])
@pytest.mark.parametrize("name", SCENARIOS)
def test_scenarios(session: Any, tmp_path: Path, name: str, owners: int) -> None:
    folder = ROOT / "counterexamples" / name
    scenario = read(folder, folder)
    question = {"invariants": scenario.invariants, "keep_going": scenario.keep_going}
    assert_same(session, tmp_path / "x", owners, scenario.specification(), scenario.settings, **question)


STUCK = COUNT.replace("s.n < 5", "(s.n < 2) | ((s.n == 2) & s.side)")
ENDS = {
    "an instance without meaning": (counter(step=UNGUARDED, invariant="s.n < 9"), 75),
    "a predicate without meaning": (counter(goal="s.few[s.n] == 9", invariant="s.n < 9"), 75),
    "a predicate without meaning outside": (counter(constraint="s.n < 2", invariant="s.few[s.n] == 0"), 75),
    "a deadlock": (counter(step=STUCK, invariant="s.n < 3"), 11),
    "a violation outside": (counter(constraint="s.n < 2", invariant="s.n < 2", goal="s.n == 2"), 12),
}


@pytest.mark.parametrize("end", ENDS)
def test_a_search_ends_as_everywhere(session: Any, tmp_path: Path, end: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Here Spark looks for the steps of traces too."""
    monkeypatch.setattr(stored, "SMALL", 0)
    cls, code = ENDS[end]
    wanted = check(cls, deadlock=True)
    assert wanted.exit_code == code
    assert on_spark(session, tmp_path / "x", 2, cls, deadlock=True) == essence(wanted)


def test_seconds_run_out_while_spark_works(session: Any) -> None:
    settings = settings_of("3/2/2/1", *KAFKA_NAMES)
    cluster = Cluster(threshold=0, partitions=2)
    result = check("kip-320", settings, engine="spark", spark=session, cluster=cluster, limits=Limits(seconds=1.5))
    assert (result.verdict, result.exit_code, result.reason) == (
        "incomplete",
        152,
        "1.5 seconds passed (--max-seconds)",
    )
    whole = check("kip-320", settings)
    assert result.levels == whole.levels[: result.depth]
    assert {f.checked_depth for f in result.findings.values()} == {result.depth}


def test_an_interruption_keeps_the_whole_levels(tmp_path: Path) -> None:
    report = tmp_path / "report.json"
    command = [sys.executable, "-m", "checker.cli", "check", "kip-320", "--engine", "spark", "--spark-threshold", "0"]
    options = ["--master", "local[1]", "--checkpoint", str(tmp_path / "x"), "--json", str(report), "--quiet"]
    environment = {**os.environ, "PYTHONPATH": str(ROOT)}
    with subprocess.Popen([*command, *options], env=environment, stdout=subprocess.DEVNULL) as process:
        while not (tmp_path / "x" / manifest_name(5)).exists():
            assert process.poll() is None
            time.sleep(0.01)
        process.send_signal(signal.SIGINT)
    found = json.loads(report.read_text())
    assert (process.returncode, found["verdict"], found["reason"]) == (130, "incomplete", "interrupted")
    assert found["levels"] == check("kip-320").levels[: found["depth"]]
    assert found["depth"] >= 5
