"""Real Spark, level by level: verdicts, counts, states and traces equal those of the local engine, byte for byte."""

from __future__ import annotations

import json
import signal
import subprocess
import sys
import time
from functools import cache
from pathlib import Path
from typing import Any

import pytest

from isrcheck import check
from isrcheck.checker.analysis.compare_with_fix import compare_all_with_fixes
from isrcheck.checker.datasets.manifests import manifest_name
from isrcheck.checker.engines.spark import dataset_paths as stored
from isrcheck.checker.engines.spark.cluster import Cluster
from isrcheck.checker.registry.loader import load_model_class
from isrcheck.checker.results.exploration import Limits
from isrcheck.checker.scenarios.controls import fixed_versions_of
from isrcheck.checker.scenarios.derived_files import files_of
from isrcheck.checker.scenarios.scenario import Scenario, read
from tests.agreement.test_engines_agree import comparable
from tests.agreement.test_where_searches_stop import COUNT, UNGUARDED, counter
from tests.published.test_published_counts import INVARIANTS, settings_of
from tests.scenarios.shipped import FOLDERS
from tests.spark.agreeing import Asked, essence_on_spark, on_spark

pytestmark = pytest.mark.needs("java")
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
SCENARIOS = """
alter-isr-lost-response  kip-101  v1-zombie-shrinks-the-isr-first  v2-acknowledged-by-one-copy  v3-acks-one
v3-empty-isr  v3-frozen-isr  v3-leader-ignores-command  v3-min-isr-of-one  v3-unclean-election
kraft-shrink-obeyed-before-it-is-granted  kraft-record-of-the-same-version-forgets-an-expansion
"""
OWNERS = (1, 2, 7)
QUICK = {("truncate-to-hw 2/2/1/1", 2)}
"""The questions of the quick tests, with two violations. All others together take minutes."""
SLOWER = {("kip-320 2/2/1/1", 2), ("v3-frozen-isr", 1), ("async-isr 2/1/1", 7), ("alter-isr-lost-response", 1)}
"""The questions of the exhaustive tests. The remaining questions are for a release."""


def for_owners(texts: list[str]) -> list[Any]:
    """The questions of all texts, each with each number of owners."""
    return [_asked(text, owners) for text in texts for owners in OWNERS]


def _asked(text: str, owners: int) -> Any:
    def among(questions: set[tuple[str, int]]) -> bool:
        return any(text.startswith(name) and owners == number for name, number in questions)

    slow = [] if among(QUICK) else [pytest.mark.exhaustive]
    marks = slow if among(QUICK | SLOWER) else [*slow, pytest.mark.release]
    return pytest.param(text, owners, id=f"{text}-{owners}", marks=marks)


@cache
def published(text: str) -> tuple[Asked, int]:
    name, bounds, distinct = text.split()
    settings = settings_of(bounds, *NAMES.get(name, KAFKA_NAMES))
    return Asked(name, settings, invariants=None if name in NAMES else INVARIANTS, keep_going=True), int(distinct)


@cache
def scenario_of(name: str) -> tuple[Asked, Scenario]:
    folder = FOLDERS[name]
    found = read(folder, folder)
    question = {"invariants": found.invariants, "keep_going": found.keep_going, "deadlock": found.deadlock}
    return Asked(found.specification(), found.settings, **question), found


@pytest.mark.parametrize(("row", "owners"), for_owners([" ".join(line.split()) for line in ROWS.strip().splitlines()]))
def test_published_rows(session: Any, tmp_path: Path, row: str, owners: int) -> None:
    asked, distinct = published(row)
    assert asked.same(session, tmp_path / "x", owners).distinct == distinct


@pytest.mark.parametrize(("name", "owners"), for_owners(SCENARIOS.split()))
def test_scenarios(session: Any, tmp_path: Path, name: str, owners: int) -> None:
    """The recorded files of the scenario are also compared, byte for byte."""
    asked, scenario = scenario_of(name)
    found, loaded = asked.same(session, tmp_path / "x", owners), load_model_class(scenario.specification())
    compare_all_with_fixes(found, loaded, fixed_versions_of(scenario, loaded, {}))
    made = files_of(found)
    assert made.keys() == {"expected.json", "trace.txt", "trace.itf.json"}
    assert {file: (scenario.folder / file).read_text(encoding="utf-8") for file in made} == made


STUCK = COUNT.replace("s.n < 5", "(s.n < 2) | ((s.n == 2) & s.side)")
ENDS = {
    "an undefined action instance": (counter(step=UNGUARDED, invariant="s.n < 9"), 75),
    "an undefined predicate": (counter(goal="s.few[s.n] == 9", invariant="s.n < 9"), 75),
    "an undefined predicate outside": (counter(constraint="s.n < 2", invariant="s.few[s.n] == 0"), 75),
    "a deadlock": (counter(step=STUCK, invariant="s.n < 3"), 11),
    "a violation outside": (counter(constraint="s.n < 2", invariant="s.n < 2", goal="s.n == 2"), 12),
}


@pytest.mark.parametrize(
    "end", [pytest.param(x, marks=() if x == "a violation outside" else pytest.mark.exhaustive) for x in ENDS]
)
def test_a_search_ends_as_everywhere(session: Any, tmp_path: Path, end: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """In this test Spark also searches the steps of traces."""
    monkeypatch.setattr(stored, "SMALL", 0)
    cls, code = ENDS[end]
    wanted = check(cls, deadlock=True)
    assert wanted.exit_code == code
    assert essence_on_spark(on_spark(session, tmp_path / "x", 2, cls, deadlock=True)) == comparable(wanted)


@pytest.mark.exhaustive
def test_seconds_run_out_while_spark_works(session: Any) -> None:
    settings = settings_of("3/2/2/1", *KAFKA_NAMES)
    cluster = Cluster(threshold=0, partitions=2)
    result = check("kip-320", settings, engine="spark", spark=session, cluster=cluster, limits=Limits(seconds=1.5))
    assert (result.verdict, result.exit_code, result.reason) == (
        "incomplete",
        152,
        "time limit of 1.5 s reached (--max-seconds)",
    )
    whole = check("kip-320", settings)
    assert result.levels == whole.levels[: result.depth]
    assert {f.checked_depth for f in result.invariants.values()} == {result.depth}


@pytest.mark.release
@pytest.mark.exhaustive
def test_an_interruption_keeps_the_whole_levels(tmp_path: Path) -> None:
    report = tmp_path / "report.json"
    command = [sys.executable, "-m", "isrcheck", "check", "kip-320", "--engine", "spark", "--spark-threshold", "0"]
    options = ["--master", "local[1]", "--checkpoint", str(tmp_path / "x"), "--json", str(report), "--quiet"]
    with subprocess.Popen([*command, *options], stdout=subprocess.DEVNULL) as process:
        while not (tmp_path / "x" / manifest_name(5)).exists():
            assert process.poll() is None
            time.sleep(0.01)
        process.send_signal(signal.SIGINT)
    found = json.loads(report.read_text())
    assert (process.returncode, found["verdict"], found["reason"]) == (130, "incomplete", "interrupted")
    assert found["levels"] == check("kip-320").levels[: found["depth"]]
    assert found["depth"] >= 5
