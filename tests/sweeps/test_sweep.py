"""Sweeps on this machine: every cell gets its own answer, whatever the other cells do."""

from __future__ import annotations

import signal
import subprocess
import sys
import time
from pathlib import Path

import psutil
import pytest

from tests.cli.running import run
from tests.sweeps.dying import require_answers

LONG = """
[[matrix]]
models = ["kip-320"]
settings = {replicas = 3, log_size = [3, 4], max_records = 3, max_leader_epoch = 2}
"""


@pytest.mark.parametrize("workers", [pytest.param(1, marks=pytest.mark.exhaustive), 2])
def test_a_sweep_in_which_cells_die(workers: int, tmp_path: Path) -> None:
    require_answers(tmp_path, "--workers", str(workers))


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("", "is not a sweep: write one or more [[matrix]] tables"),
        ("[[matrix", "is not TOML"),
        ("[[matrix]]\n", "models is missing; write a non-empty list of models"),
        ('[[matrix]]\nmodels = "kip-101"', "models is 'kip-101'; write a non-empty list of models"),
        ('[[matrix]]\nmodels = ["kip-101"]\nsetting = {}', "there is no key 'setting'; did you mean settings"),
    ],
)
def test_a_file_that_is_no_sweep(tmp_path: Path, text: str, words: str) -> None:
    (tmp_path / "sweep.toml").write_text(text)
    said = run("sweep", str(tmp_path / "sweep.toml"))
    assert (said.code, said.err.count("\n")) == (150, 1)
    assert words in said.err


@pytest.mark.exhaustive
def test_an_interrupt_ends_the_processes_too(tmp_path: Path) -> None:
    (tmp_path / "sweep.toml").write_text(LONG)
    with subprocess.Popen(
        [sys.executable, "-m", "isrcheck", "sweep", "sweep.toml", "--workers", "2"],
        stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, cwd=tmp_path,
    ) as process:  # fmt: skip
        while len(begun := children(process.pid)) < 2:
            assert process.poll() is None
        process.send_signal(signal.SIGINT)
        out, err = process.communicate(timeout=300)
    assert (process.returncode, out, err) == (130, "", "isrcheck: interrupted\n")
    # The system removes a process a moment after its end.
    until = time.monotonic() + 30
    while any(psutil.pid_exists(child) for child in begun):
        assert time.monotonic() < until


@pytest.mark.exhaustive
def test_a_sweep_that_is_killed_leaves_no_process_behind(tmp_path: Path) -> None:
    (tmp_path / "sweep.toml").write_text(LONG)
    with subprocess.Popen(
        [sys.executable, "-m", "isrcheck", "sweep", "sweep.toml", "--workers", "2"],
        stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, cwd=tmp_path,
    ) as process:  # fmt: skip
        while len(begun := [psutil.Process(child) for child in children(process.pid)]) < 2:
            assert process.poll() is None
        process.kill()
    _, alive = psutil.wait_procs(begun, timeout=300)
    for child in alive:
        child.kill()
    assert alive == []


def children(of: int) -> list[int]:
    return [
        child.pid
        for child in psutil.Process(of).children()
        if "isrcheck.checker.analysis.sweep.cells" in child.cmdline()
    ]


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (("--conf", "a=b"), "--conf is a Spark setting"),
        (("--workers", "2", "--master", "local[2]"), "--workers applies to this machine"),
    ],
)
def test_options_that_do_not_go_together(words: tuple[str, ...], message: str, tmp_path: Path) -> None:
    said = run("sweep", tmp_path / "sweep.toml", *words)
    assert said.code == 2
    assert message in said.err
