"""Errors of the command line and of Python before a search starts: options, and missing tools."""

from __future__ import annotations

import json
import signal
import stat
from collections.abc import Callable, Iterator
from importlib import metadata
from pathlib import Path
from typing import Any

import pytest

from isrcheck import check
from isrcheck.checker.engines.spark import cluster
from isrcheck.checker.engines.spark.cluster import Cluster
from isrcheck.checker.engines.spark.session import deferred, raise_if_asked
from isrcheck.checker.results.errors import DatasetRefused, MissingTool
from tests.cli.running import counter, run


@pytest.mark.parametrize(
    ("options", "words"),
    [
        (("--master", "local[1]"), "--master requires --engine spark"),
        (("--spark-threshold", "0"), "--spark-threshold requires --engine spark"),
        (("--transitions", "--engine", "reference"), "--transitions requires --engine spark"),
        (("--engine", "spark", "--checkpoint", "a", "--resume", "b"), "remove one of them"),
        (("--engine", "spark", "--max-memory", "1GB"), "--engine spark gets its memory from Spark"),
        (("--engine", "spark", "--conf", "spark.x"), "'spark.x' is not NAME=VALUE"),
        (("--engine", "spark", "--partitions", "0"), "0 is not in the range"),
    ],
)
def test_options_that_do_not_fit(tmp_path: Path, options: tuple[str, ...], words: str) -> None:
    said = run("check", counter(tmp_path), *options)
    assert said.code == 2
    assert words in said.err


def java(folder: Path, said: str) -> None:
    program = folder / "bin/java"
    program.parent.mkdir()
    program.write_text(f"#!/bin/sh\necho '{said}' >&2\n")
    program.chmod(program.stat().st_mode | stat.S_IXUSR)


def test_no_java(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("JAVA_HOME", raising=False)
    monkeypatch.setenv("PATH", str(tmp_path))
    said = run("check", counter(tmp_path), "--engine", "spark")
    assert (said.code, said.err.count("\n")) == (153, 1)
    assert "needs Java 17, which was not found; install a Java runtime (Debian and Ubuntu: apt install" in said.err


@pytest.mark.parametrize("version", ["1.8.0_392", "11.0.21"])
def test_a_java_that_is_too_old(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, version: str) -> None:
    java(tmp_path, f'openjdk version "{version}"')
    monkeypatch.setenv("JAVA_HOME", str(tmp_path))
    with pytest.raises(MissingTool, match=f"needs Java 17 or later, not {version}; install"):
        cluster.require()


def test_versions(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    java(tmp_path, 'openjdk version "21.0.1" 2023-10-17')
    monkeypatch.setenv("JAVA_HOME", str(tmp_path))
    assert cluster.require()["java"] == "21.0.1"


@pytest.mark.parametrize(
    ("version", "words"),
    [(None, "needs pyspark 4.1 or later, which is not installed; pip install 'isrcheck.spark.'"),
     ("3.5.1", "needs pyspark 4.1 or later, not 3.5.1; pip install")],
)  # fmt: skip
def test_a_package_that_is_missing_or_too_old(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, version: str | None, words: str
) -> None:
    def found(name: str) -> str:
        if version is None:
            raise metadata.PackageNotFoundError(name)
        return version

    def imported(name: str) -> Any:
        raise ModuleNotFoundError(name)

    monkeypatch.setattr(cluster.metadata, "version", found)
    monkeypatch.setattr(cluster.importlib, "import_module", imported)
    said = run("check", counter(tmp_path), "--engine", "spark")
    assert (said.code, said.err.count("\n")) == (153, 1)
    with pytest.raises(MissingTool, match=words):
        cluster.require()


def test_plots_are_svg_and_apart_from_other_output(tmp_path: Path) -> None:
    said = run("analyze", str(tmp_path), "--plot", "x.pdf")
    wanted = "plots can be written as SVG or PNG, not PDF; choose a file name ending in .svg or .png"
    assert (said.code, wanted in said.err) == (2, True)
    said = run("analyze", str(tmp_path), "--diff", str(tmp_path), "--trace", "--plot", "-", "--json", "-")
    assert (said.code, "--json and --plot name the same file" in said.err) == (2, True)


@pytest.fixture
def _ctrl_c_raises() -> Iterator[None]:
    """Makes Ctrl-C raise as in an ordinary program, because the runner of the tests may ignore it."""
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    signal.signal(signal.SIGINT, before)


def interrupted(act: Callable[[], None]) -> bool:
    try:
        with deferred():
            act()
    except KeyboardInterrupt:
        return True
    return False


@pytest.mark.usefixtures("_ctrl_c_raises")
def test_an_interruption_waits_until_it_is_asked_for() -> None:
    seen = []

    def act() -> None:
        signal.raise_signal(signal.SIGINT)
        seen.append("it has waited")
        raise_if_asked()
        seen.append("it was forgotten")

    assert interrupted(act)
    assert seen == ["it has waited"]
    assert not interrupted(raise_if_asked)


@pytest.mark.usefixtures("_ctrl_c_raises")
def test_an_interruption_that_nobody_asks_for_comes_at_the_end_and_a_second_one_at_once() -> None:
    seen = []

    def act() -> None:
        signal.raise_signal(signal.SIGINT)
        seen.append("once")

    def act_again() -> None:
        act()
        act()

    assert interrupted(act)
    assert interrupted(act_again)
    assert seen == ["once", "once"]
    assert not interrupted(lambda: None)
    assert signal.getsignal(signal.SIGINT) is signal.default_int_handler


def test_who_has_a_handler_of_their_own_keeps_it() -> None:
    seen = []
    before = signal.signal(signal.SIGINT, lambda number, frame: seen.append(number))
    try:
        assert not interrupted(lambda: signal.raise_signal(signal.SIGINT))
    finally:
        signal.signal(signal.SIGINT, before)
    assert seen == [signal.SIGINT]


@pytest.mark.needs("java")
def test_a_master_elsewhere_needs_a_folder_that_is_shared(tmp_path: Path) -> None:
    said = run("check", counter(tmp_path), "--engine", "spark", "--master", "spark://nowhere:7077")
    assert (said.code, said.err.count("\n")) == (153, 1)
    assert "the states need a folder shared by the driver and the executors; name it with --checkpoint" in said.err


@pytest.mark.needs("java")
def test_a_folder_that_is_not_empty_is_left_alone(tmp_path: Path) -> None:
    (tmp_path / "x").mkdir()
    (tmp_path / "x/mine.txt").write_text("mine")
    said = run("check", counter(tmp_path), "--engine", "spark", "--checkpoint", str(tmp_path / "x"))
    assert (said.code, said.err.count("\n")) == (153, 1)
    assert "is not empty; choose a new folder for the dataset" in said.err
    assert [path.name for path in (tmp_path / "x").iterdir()] == ["mine.txt"]


@pytest.mark.needs("java")
def test_a_connect_session_is_refused() -> None:
    class SparkSession:
        """Looks like the class of `pyspark.sql.connect`, by its module."""

    SparkSession.__module__ = "pyspark.sql.connect.session"
    with pytest.raises(
        DatasetRefused, match=r"Spark Connect \(sc://\) .* has no context; use a master .*; or pass a classic session"
    ):
        check("kip-101", {"replicas": 2}, engine="spark", spark=SparkSession(), cluster=Cluster(threshold=0))


@pytest.mark.needs("java")
def test_small_checks_need_no_session(tmp_path: Path) -> None:
    result = check("kip-101", {"replicas": 2}, engine="spark", cluster=Cluster(master="local[1]"))
    assert (result.exit_code, result.extra["spark_levels"]) == (12, [])
    assert result.extra["spark"]["versions"].keys() == {"pyspark", "pandas", "pyarrow", "java"}


@pytest.mark.exhaustive
@pytest.mark.needs("java")
def test_a_threshold_of_0_on_the_command_line_gives_every_level_to_spark(tmp_path: Path, session: Any) -> None:
    report = tmp_path / "report.json"
    said = run("check", counter(tmp_path), "--engine", "spark", "--spark-threshold", "0", "--json", report)
    data = json.loads(report.read_text())
    assert (said.code, data["spark_levels"], data["spark"]["threshold"]) == (0, [1, 2, 3, 4], 0)
