"""Spark's settings of the user and the platform take precedence; wrong settings end in one line."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from importlib import metadata
from pathlib import Path
from typing import Any

import pytest

from isrcheck import check
from isrcheck.checker.engines.spark import cluster, session_settings
from isrcheck.checker.engines.spark.spark_search import require_each_partition
from isrcheck.checker.results.errors import ClusterFailed
from isrcheck.checker.results.exploration import Limits
from tests.cli.running import counter, run
from tests.spark.test_resume import assert_same_json

SETTINGS = {"replicas": 2, "log_size": 1, "max_records": 1, "max_leader_epoch": 1}
PLATFORM = """
# spark.master nowhere
spark.ui.enabled               true
spark.ui.port                  0
spark.executor.memory          3g
spark.sql.adaptive.enabled     true
spark.driver.extraJavaOptions  -XX:TieredStopAtLevel=1 -Dmine=1
"""
"""The spark-defaults.conf of a platform."""


def submitted(folder: Path, *options: str) -> dict[str, Any]:
    """The report of `submitted.py`, run by the installed PySpark's spark-submit."""
    pyspark = pytest.importorskip("pyspark")
    home, report = Path(pyspark.__file__).parent, folder / "report.json"
    (folder / "conf").mkdir()
    (folder / "conf/spark-defaults.conf").write_text(PLATFORM)
    environment = {
        **os.environ, "SPARK_HOME": str(home), "SPARK_CONF_DIR": str(folder / "conf"), "SPARK_LOCAL_IP": "127.0.0.1",
        "PYSPARK_PYTHON": sys.executable,
    }  # fmt: skip
    program = str(Path(__file__).parent / "submitted.py")
    command = [str(home / "bin/spark-submit"), *options, program, str(report), json.dumps(SETTINGS)]
    said = subprocess.run(command, env=environment, cwd=folder, capture_output=True, text=True)
    assert said.returncode == 0, said.stderr[-3000:]
    found: dict[str, Any] = json.loads(report.read_text())
    return found


@pytest.mark.release
@pytest.mark.exhaustive
@pytest.mark.needs("java")
def test_spark_submit_and_spark_defaults_are_heeded(tmp_path: Path) -> None:
    options = ("--master", "local[3]", "--name", "mine", "--driver-memory", "700m", "--conf", "spark.locality.wait=1s")
    found = submitted(tmp_path, *options)
    wanted = {
        "spark.master": "local[3]",
        "spark.app.name": "mine",
        "spark.driver.memory": "700m",
        "spark.locality.wait": "1s",
        "spark.executor.memory": "3g",
        "spark.ui.enabled": "true",
        "spark.sql.adaptive.enabled": "true",
        "spark.log.level": "ERROR",
    }
    assert {name: found["conf"].get(name) for name in wanted} == wanted
    assert found["conf"]["spark.driver.extraJavaOptions"].endswith("-XX:TieredStopAtLevel=1 -Dmine=1")
    assert found["spark"]["master"] == "local[3]"
    result = check("kip-320", SETTINGS, limits=Limits(states=20))
    assert_same_json(found, result)
    levels = list(enumerate(result.levels, start=1))[:-1]
    assert len(levels) > 2
    said = {f"isrcheck kip-320, level {n} ({states:,} states): expand, then merge" for n, states in levels}
    assert set(found["jobs"]) == said


# --- what the platform says before Java runs -----------------------------------------------------------------------


@pytest.fixture
def bare(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An empty folder of configuration, in an environment without settings of Spark."""
    for name in ("PYSPARK_GATEWAY_PORT", "PYSPARK_SUBMIT_ARGS", "SPARK_SUBMIT_OPTS", "MASTER", "SPARK_REMOTE"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("SPARK_CONF_DIR", str(tmp_path))
    return tmp_path


def test_a_platform_that_says_nothing(bare: Path) -> None:
    assert not session_settings.platform_says("spark.master", "--master", "MASTER=")
    (bare / "spark-defaults.conf").write_text("# spark.master x\nspark.ui.enabled true\n")
    assert not session_settings.platform_says("spark.master", "--master", "MASTER=")


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("PYSPARK_GATEWAY_PORT", "4242"),
        ("PYSPARK_SUBMIT_ARGS", "--master yarn pyspark-shell"),
        ("PYSPARK_SUBMIT_ARGS", "--conf spark.master=yarn pyspark-shell"),
        ("PYSPARK_SUBMIT_ARGS", "--properties-file mine.conf pyspark-shell"),
        ("MASTER", "yarn"),
    ],
)
def test_a_platform_that_names_a_master(bare: Path, monkeypatch: pytest.MonkeyPatch, name: str, value: str) -> None:
    monkeypatch.setenv(name, value)
    assert session_settings.platform_says("spark.master", "--master", "MASTER=")


def test_a_master_in_spark_defaults(bare: Path) -> None:
    (bare / "spark-defaults.conf").write_text("spark.master yarn\n")
    assert session_settings.platform_says("spark.master", "--master", "MASTER=")


# --- what is said in one line ----------------------------------------------------------------------------------------


@pytest.mark.needs("java")
@pytest.mark.parametrize("how", ["--master", "SPARK_REMOTE", "--conf"])
def test_spark_connect_is_refused(bare: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, how: str) -> None:
    given = {"--master": ("--master", "sc://there:15002"), "--conf": ("--conf", "spark.remote=sc://there:15002")}
    if how == "SPARK_REMOTE":
        monkeypatch.setenv("SPARK_REMOTE", "sc://there:15002")
    folder = ("--checkpoint", tmp_path / "x")
    said = run("check", counter(tmp_path), "--engine", "spark", "--spark-threshold", "0", *given.get(how, ()), *folder)
    assert (said.code, said.err.count("\n")) == (150, 1)
    assert "Spark Connect (sc://) cannot run the driver's Python code and has no context; use a master" in said.err


@pytest.mark.needs("java")
@pytest.mark.exhaustive
def test_yarn_without_its_configuration(bare: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    environment = {n: v for n, v in os.environ.items() if n not in ("HADOOP_CONF_DIR", "YARN_CONF_DIR")}
    command = [sys.executable, "-m", "isrcheck", "check", "kip-101", "--engine", "spark", "--spark-threshold", "0"]
    where = ["--master", "yarn", "--checkpoint", str(tmp_path / "x"), "--quiet"]
    said = subprocess.run([*command, *where], env=environment, capture_output=True, text=True)
    assert (said.returncode, said.stderr.count("\n")) == (153, 1)
    assert "HADOOP_CONF_DIR or YARN_CONF_DIR must be set in the environment; set HADOOP_CONF_DIR to the" in said.stderr


def test_pyspark_without_pip_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    """Such a PySpark is in $SPARK_HOME/python, which spark-submit puts on the path."""
    pyspark = pytest.importorskip("pyspark")

    def missing(name: str) -> str:
        raise metadata.PackageNotFoundError(name)

    monkeypatch.setattr(cluster.metadata, "version", missing)
    assert cluster._version("pyspark") == pyspark.__version__
    assert cluster._version("no_such_package") is None


def test_pyspark_in_spark_home_is_found(tmp_path: Path) -> None:
    """The test runs in a process without PySpark on its path."""
    package = tmp_path / "python/pyspark"
    package.mkdir(parents=True)
    (package / "__init__.py").write_text('__version__ = "4.1.7"\n')
    words = "import sys; from isrcheck.checker.engines.spark import cluster; print(cluster._version('pyspark'))"
    names = Path(__file__).parent.parent.parent
    environment = {"SPARK_HOME": str(tmp_path), "PYTHONPATH": str(names), "PATH": os.environ["PATH"]}
    said = subprocess.run([sys.executable, "-S", "-c", words], env=environment, capture_output=True, text=True)
    assert (said.stdout, said.stderr) == ("4.1.7\n", "")


def test_candidates_of_an_owner_that_are_parted_are_not_believed() -> None:
    reports = [{"merge": {"owner": owner}} for owner in (0, 1, 1)]
    require_each_partition(reports[:2], 2)
    for wrong in (reports, reports[:1], reports[1:]):
        with pytest.raises(ClusterFailed, match="split the candidates of one partition over several tasks"):
            require_each_partition(wrong, 2)
