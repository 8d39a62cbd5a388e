"""Kept outcomes of a sweep: cells with a kept outcome do not run again, damaged or foreign lines are not trusted."""

from __future__ import annotations

import fcntl
import json
import os
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest

from isrcheck import check
from tests.cli.running import run

QUICK = """
[[matrix]]
models = ["kip-101"]
settings = {replicas = 2, log_size = [1, 2], max_records = 1, max_leader_epoch = 1}
"""
LONG = """
[[matrix]]
models = ["kip-320"]
settings = {replicas = 3, log_size = 4, max_records = 3, max_leader_epoch = 2}
"""
MODEL = '''\
from isrcheck.model.language import Model, action, number
from beside import LAST

class Counter(Model):
    """Counts."""

    def variables(self):
        return {"n": number(0, LAST)}

    @action(actor="someone")
    def counts(self, s):
        """Counts."""
        s.require(s.n < LAST)
        s.n = s.n + 1
'''


def swept(folder: Path, *words: str) -> list[dict[str, Any]]:
    """Runs `sweep.toml` with outcomes kept in `kept`, and returns its cells."""
    said = run("sweep", folder / "sweep.toml", "--results", folder / "kept", "--json", folder / "json", *words)
    assert said.code in (0, 12), said.err
    cells: list[dict[str, Any]] = json.loads((folder / "json").read_text())["cells"]
    return cells


def lines(folder: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in (folder / "kept").read_text().splitlines()]


def marked(folder: Path) -> None:
    """Changes each kept outcome to a number of states that no check has."""
    marked = [{**line, "outcome": {**line["outcome"], "distinct": 12345}} for line in lines(folder)]
    (folder / "kept").write_text("".join(json.dumps(line) + "\n" for line in marked))


@pytest.mark.exhaustive
def test_a_sweep_that_is_killed_goes_on(tmp_path: Path) -> None:
    interrupted(tmp_path, "--workers", "1")


@pytest.mark.needs("java")
@pytest.mark.release
@pytest.mark.exhaustive
def test_a_sweep_on_spark_that_is_killed_goes_on(tmp_path: Path) -> None:
    interrupted(tmp_path, "--master", "local[1]")


def interrupted(tmp_path: Path, *where: str) -> None:
    """Outcomes before an interruption are kept and not computed again. The interrupted check runs again."""
    (tmp_path / "sweep.toml").write_text(QUICK + LONG)
    command = [sys.executable, "-m", "isrcheck", "sweep", "sweep.toml", "--results", "kept", *where]
    with subprocess.Popen(command, cwd=tmp_path, stdout=subprocess.DEVNULL) as process:
        while not (tmp_path / "kept").exists() or len((tmp_path / "kept").read_bytes().splitlines()) < 2:
            assert process.poll() is None
            time.sleep(0.05)
        process.kill()
    wanted = [check("kip-101", {**line["cell"]["settings"]}) for line in lines(tmp_path)]
    assert [line["outcome"]["distinct"] for line in lines(tmp_path)] == [result.distinct for result in wanted]
    marked(tmp_path)
    with (tmp_path / "kept").open("a") as file:
        file.write('{"cell": {"model": "kip-1')
    # Other checks come to them, in another order, and one more setting.
    text = LONG.replace("[[matrix]]", "[[matrix]]\nmax_states = 10").replace("log_size = 4", "log_size = 1")
    (tmp_path / "sweep.toml").write_text(text + QUICK)
    said = run("sweep", tmp_path / "sweep.toml", "--results", tmp_path / "kept", "--json", tmp_path / "json", *where)
    cells = json.loads((tmp_path / "json").read_text())["cells"]
    assert [cell["distinct"] for cell in cells][1:] == [12345, 12345]
    assert 0 < cells[0]["distinct"] < 12345
    assert f"2 of 3 checks are already in {tmp_path / 'kept'}" in said.err
    assert len(lines(tmp_path)) == 3


@pytest.mark.exhaustive
def test_what_has_changed_is_done_again(tmp_path: Path) -> None:
    (tmp_path / "counter.py").write_text(MODEL)
    (tmp_path / "beside.py").write_text("LAST = 3\n")
    (tmp_path / "sweep.toml").write_text(f'[[matrix]]\nmodels = ["{tmp_path / "counter.py"}"]\n')
    command = [sys.executable, "-m", "isrcheck", "sweep", "sweep.toml", "--results", "kept", "--json", "json"]
    for last in (3, 3, 5):
        (tmp_path / "beside.py").write_text(f"LAST = {last}\n")
        subprocess.run(command, cwd=tmp_path, env={**os.environ, "PYTHONPATH": str(tmp_path)}, check=True)
        assert json.loads((tmp_path / "json").read_text())["cells"][0]["distinct"] == last + 1
    # The second sweep had nothing to do.
    assert [line["outcome"]["distinct"] for line in lines(tmp_path)] == [4, 6]


@pytest.mark.exhaustive
def test_a_check_without_a_verdict_is_done_again(tmp_path: Path) -> None:
    (tmp_path / "sweep.toml").write_text(QUICK)
    before = swept(tmp_path, "--workers", "2")
    failed = [{**line, "outcome": {**line["outcome"], "verdict": None, "exit_code": 152}} for line in lines(tmp_path)]
    (tmp_path / "kept").write_text("".join(json.dumps(line) + "\n" for line in failed))
    again = swept(tmp_path)
    assert [(cell["verdict"], cell["distinct"]) for cell in again] == [(c["verdict"], c["distinct"]) for c in before]


@pytest.mark.parametrize(
    "text", ["x", "[[matrix]]\n", '{"cell": 1}\n', '{"cell": {}, "sources": "", "outcome": {}}\n', "[]\n"]
)
def test_another_file_is_left_as_it_is(tmp_path: Path, text: str) -> None:
    (tmp_path / "sweep.toml").write_text(QUICK)
    (tmp_path / "kept").write_text(text)
    said = run("sweep", tmp_path / "sweep.toml", "--results", tmp_path / "kept")
    assert (said.code, said.err.count("\n")) == (150, 1)
    assert "kept does not contain the outcomes of a sweep; choose another file; nothing was changed" in said.err
    assert (tmp_path / "kept").read_text() == text


def test_two_sweeps_do_not_write_to_one_file(tmp_path: Path) -> None:
    (tmp_path / "sweep.toml").write_text(QUICK)
    with (tmp_path / "kept").open("w") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        said = run("sweep", tmp_path / "sweep.toml", "--results", tmp_path / "kept")
    assert (said.code, "another sweep is writing to" in said.err) == (150, True)
