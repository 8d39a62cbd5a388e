"""A search that is killed anywhere continues from its last complete level; a damaged dataset is refused."""

from __future__ import annotations

import json
import random
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from isrcheck import check
from isrcheck.checker.datasets.manifests import manifest_name
from isrcheck.checker.datasets.storage import Storage
from isrcheck.checker.engines.spark import state_files
from isrcheck.checker.engines.spark.cluster import Cluster
from isrcheck.checker.kernel.compiled import Kernel
from isrcheck.checker.results.errors import DatasetRefused
from isrcheck.checker.results.exploration import Exploration
from isrcheck.checker.results.result import Result
from tests.agreement.test_engines_agree import comparable
from tests.kernel.test_local_search import below
from tests.spark.searching import StandIn, explored

ROOT = Path(__file__).parent.parent.parent
TOY = below(4, 3)
KERNEL = Kernel(TOY)


class Killed(BaseException):
    """What a test raises in the place of a kill."""


def counts(found: Exploration) -> tuple[Any, ...]:
    return found.levels, found.generated, found.rejected, found.violated, found.goals, found.bounds, found.degrees


def files_of(folder: Path) -> list[tuple[str, int]]:
    """The public files of a dataset with their sizes, without the random parts of their names."""
    found = [p for name in ("states", "transitions", "manifests") for p in (folder / name).rglob("*") if p.is_file()]
    sizes = [(str(p.relative_to(folder)), 0 if p.suffix == ".json" else p.stat().st_size) for p in found]
    return sorted((name.rpartition("-")[0] if "part" in name else name.split("edges")[0], n) for name, n in sizes)


def touching(monkeypatch: pytest.MonkeyPatch, act: Callable[[], None]) -> None:
    """Makes each operation that changes a file system call `act` before and after."""

    def wrapped(original: Any) -> Any:
        def call(*given: Any, **named: Any) -> Any:
            act()
            answer = original(*given, **named)
            act()
            return answer

        return call

    for name in ("write", "remove", "make"):
        monkeypatch.setattr(Storage, name, wrapped(getattr(Storage, name)))
    monkeypatch.setattr(state_files, "write", wrapped(state_files.write))


def run(folder: Path, **more: Any) -> Exploration:
    more = {"keep_going": True, "group": 2, "most_runs": 1, "transitions": True, "kernel": KERNEL, **more}
    return explored(TOY, folder, StandIn(2), **more)[0]


@pytest.mark.exhaustive
@pytest.mark.parametrize("every", [pytest.param(1, marks=pytest.mark.exhaustive), 5])
def test_a_search_killed_at_any_point_goes_on_to_the_same_dataset(
    every: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    wanted, points = run(tmp_path / "whole"), 0
    left = [10**9]

    def act() -> None:
        nonlocal points
        points += 1
        left[0] -= 1
        if left[0] == 0:
            raise Killed

    touching(monkeypatch, act)
    run(tmp_path / "counted")
    total = points
    assert total > 100
    begun = 0
    for point in range(1, total + 1, every):
        folder = tmp_path / f"killed-{point}"
        left[0] = point
        with pytest.raises(Killed):
            run(folder)
        left[0] = 10**9
        resume = (folder / "dataset.json").exists()
        begun += resume
        assert counts(run(folder, resume=resume)) == counts(wanted)
        assert files_of(folder) == files_of(tmp_path / "whole")
    assert begun > 100 // every


def test_a_search_killed_again_and_again_gets_to_its_end(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    wanted, chance, kills = counts(run(tmp_path / "whole")), random.Random(6), 0

    def act() -> None:
        if chance.random() < 0.05:
            raise Killed

    touching(monkeypatch, act)
    while True:
        try:
            found = run(tmp_path / "x", resume=(tmp_path / "x/dataset.json").exists())
            break
        except Killed:
            kills += 1
    assert counts(found) == wanted
    assert kills >= 5


# --- the command, killed by the system ------------------------------------------------------------------------------


def assert_same_json(found: dict[str, Any], wanted: Result) -> None:
    """Compares the parts of a result that do not depend on the engine, the machine or the time."""
    names = comparable(wanted).keys() & wanted.to_json().keys()
    assert {"levels", "actions", "invariants", "verdict", "bounds_hit"} <= names
    mine = {name: x for name, x in wanted.to_json().items() if name in names}
    assert {name: found[name] for name in names} == json.loads(json.dumps(mine))


COMMAND = [sys.executable, "-m", "isrcheck", "check", "kip-101", "-s", "replicas=2", "--engine", "spark", "--quiet"]


@pytest.mark.needs("java")
@pytest.mark.exhaustive
def test_the_command_survives_kill_9(tmp_path: Path) -> None:
    wanted = check("kip-101", {"replicas": 2}, keep_going=True)
    folder, report, chance, kills = tmp_path / "dataset", tmp_path / "report.json", random.Random(1), 0
    while not report.exists():
        how = ["--resume" if (folder / "dataset.json").exists() else "--checkpoint", str(folder)]
        command = [*COMMAND, "--continue", *how, "--json", str(report)]
        with subprocess.Popen(command, stdout=subprocess.DEVNULL) as process:
            level = manifest_name(len(list(folder.glob("manifests/*.json"))) + chance.randint(1, 9))
            while process.poll() is None and kills < 4 and not (folder / level).exists():
                time.sleep(0.002)
            if kills < 4:
                time.sleep(chance.random() * 0.01)
                kills += process.poll() is None
                process.send_signal(signal.SIGKILL)
    assert kills >= 2
    assert_same_json(json.loads(report.read_text()), wanted)


# --- datasets that are refused ----------------------------------------------------------------------------------------


@pytest.mark.needs("java")
def test_a_dataset_of_something_else_is_refused(tmp_path: Path) -> None:
    folder = str(tmp_path / "x")
    small = {"replicas": 2, "log_size": 1, "max_records": 1, "max_leader_epoch": 1}

    def ask(model: str, settings: dict[str, int], invariants: tuple[str, ...] = ("weak-isr",), **how: Any) -> int:
        return check(model, settings, invariants=invariants, engine="spark", cluster=Cluster(**how)).exit_code

    assert ask("kip-101", small, checkpoint=folder) == 0
    assert ask("kip-101", small, resume=folder) == 0
    cases: list[tuple[str, tuple[Any, ...], dict[str, Any]]] = [
        ("was made for model kip-101, not kip-279; use the same options, or start over", ("kip-279", small), {}),
        ("was made for settings", ("kip-101", {**small, "log_size": 2}), {}),
        ("for the invariants weak-isr, not strong-isr", ("kip-101", small, ("strong-isr",)), {}),
        ("does not store transitions", ("kip-101", small), {"transitions": True}),
    ]
    for words, question, how in cases:
        with pytest.raises(DatasetRefused, match=words):
            ask(*question, resume=folder, **how)
    header = json.loads((tmp_path / "x/dataset.json").read_text())
    (tmp_path / "x/dataset.json").write_text(json.dumps({**header, "kernel": "0" * 64}))
    with pytest.raises(DatasetRefused, match=r"was explored with another kernel .*the model or isrcheck has changed"):
        ask("kip-101", small, resume=folder)
    with pytest.raises(FileExistsError, match="already contains a dataset; continue with --resume"):
        ask("kip-101", small, checkpoint=folder)
