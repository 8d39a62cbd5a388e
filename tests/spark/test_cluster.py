"""Executors in separate processes: they do not need this project, and one may be killed."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import psutil
import pytest

from isrcheck import check
from isrcheck.checker.datasets.manifests import manifest_name
from tests.spark import conftest
from tests.spark.test_resume import assert_same_json

pytestmark = [pytest.mark.needs("java"), pytest.mark.exhaustive, pytest.mark.release]
ROOT = Path(__file__).parent.parent.parent
MASTER = "local-cluster[2,1,1024]"
ASKED = "published_rows or scenarios"
SETTINGS = {"replicas": 2, "log_size": 2, "max_records": 1, "max_leader_epoch": 1}


def executors(driver: int) -> list[int]:
    """The ids of the executors' Java processes."""
    found = []
    for process in psutil.Process(driver).children(recursive=True):
        try:
            if "org.apache.spark.executor.CoarseGrainedExecutorBackend" in process.cmdline():
                found.append(process.pid)
        except psutil.Error:
            continue
    return sorted(found)


def on_cluster(folder: Path, kill_after: int) -> tuple[dict[str, Any], int]:
    """The report of a check on executors, and the number of executors killed in the middle of a level."""
    dataset, report, kills = folder / "dataset", folder / "report.json", 0
    environment = {**os.environ, "SPARK_LOCAL_IP": "127.0.0.1"}
    program = str(Path(__file__).parent / "on_cluster.py")
    command = [sys.executable, program, MASTER, str(dataset), str(report), json.dumps(SETTINGS)]
    with subprocess.Popen(command, cwd=folder, env=environment, stderr=subprocess.PIPE) as process:
        while process.poll() is None:
            if not kills and (dataset / manifest_name(kill_after)).exists():
                running = executors(process.pid)
                os.kill(running[0], 9)
                kills += 1
            time.sleep(0.005)
        assert process.stderr is not None
        said = process.stderr.read().decode()
    assert process.returncode == 0, said[-3000:]
    return json.loads(report.read_text()), kills


def test_executors_with_nothing_of_this_project_one_of_which_is_killed(tmp_path: Path) -> None:
    found, kills = on_cluster(tmp_path, kill_after=4)
    wanted = check("kip-320", SETTINGS)
    assert kills == 1
    assert found["loaded"] == [""]
    assert found["spark"]["master"] == MASTER
    assert found["spark_levels"] == list(range(1, len(found["spark_levels"]) + 1))
    assert len(found["spark_levels"]) == wanted.depth
    assert_same_json(found, wanted)


def test_a_master_that_cannot_be_reached(tmp_path: Path) -> None:
    command = [sys.executable, "-m", "isrcheck", "check", "kip-101", "--engine", "spark", "--spark-threshold", "0"]
    where = ["--master", "spark://127.0.0.1:1", "--checkpoint", str(tmp_path / "x"), "--quiet"]
    environment = {**os.environ, "SPARK_LOCAL_IP": "127.0.0.1"}
    said = subprocess.run([*command, *where], env=environment, capture_output=True, text=True)
    assert (said.returncode, said.stderr.count("\n")) == (153, 1)
    assert "Spark did not start: the master cannot be reached, or rejected the application" in said.stderr


def test_published_rows_and_scenarios_on_executors(tmp_path: Path) -> None:
    """Runs the tests of `test_spark.py` with executors in separate processes."""
    command = [sys.executable, "-m", "pytest", "-n", "0", "-q", "-p", "no:cacheprovider", "-m", "", "-k", ASKED]
    environment = {**os.environ, "SPARK_LOCAL_IP": "127.0.0.1", conftest.MASTER: MASTER}
    asked = [*command, "--basetemp", str(tmp_path / "x"), str(Path(__file__).parent / "test_spark.py")]
    said = subprocess.run(asked, cwd=ROOT, env=environment, capture_output=True, text=True)
    assert said.returncode == 0, said.stdout[-3000:]
    assert "54 passed" in said.stdout
