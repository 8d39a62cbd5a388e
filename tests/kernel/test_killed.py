"""A process that is killed at any moment leaves a checkpoint from which another process reaches the same report."""

from __future__ import annotations

import json
import os
import random
import signal
import subprocess
import sys
import time
from collections import Counter
from pathlib import Path
from typing import Any, Literal

import pytest

from isrcheck import check
from isrcheck.checker.engines.explicit.checkpoint import LOCK, MANIFEST

NAMES = ("replicas", "log_size", "max_records", "max_leader_epoch")
OF_A_RUN = ("seconds", "peak_rss_bytes", "store_bytes", "states_per_second", "workers", "store")
Moment = Literal["before its first level", "in the search", "in writing", "after the last level"]

ORDER: tuple[Moment, ...] = ("in the search", "in writing", "in the search", "in writing", "before its first level")


def essential(report: dict[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in report.items() if name not in OF_A_RUN}


def settings(bounds: str) -> dict[str, int]:
    return dict(zip(NAMES, map(int, bounds.split("/")), strict=True))


class Searches:
    """Checks of kip-320 in separate processes, one after the other, in one folder."""

    def __init__(self, bounds: str, folder: Path, *options: str) -> None:
        self.levels, self.report = folder / "levels", folder / "report.json"
        words = [word for name, value in settings(bounds).items() for word in ("-s", f"{name}={value}")]
        self.command = [sys.executable, "-m", "isrcheck", "check", "kip-320", *words, *options]
        self.command += ["--quiet", "--json", str(self.report), "--checkpoint-every", "1e-9"]

    def begin(self, workers: int) -> subprocess.Popen[bytes]:
        how = ["--resume" if self._manifest() else "--checkpoint", str(self.levels), "--workers", str(workers)]
        return subprocess.Popen([*self.command, *how], stdout=subprocess.DEVNULL)

    def killed(self, workers: int, generator: random.Random, where: Moment) -> Moment | None:
        """Kills a process at about this moment, and returns the real moment; None if the process ended before."""
        before, process = self._manifest(), self.begin(workers)

        def lives() -> bool:
            return os.waitid(os.P_PID, process.pid, os.WEXITED | os.WNOHANG | os.WNOWAIT) is None

        while where != "before its first level" and self._manifest() == before and lives():
            time.sleep(0.001)
        time.sleep(generator.uniform(0, 1.5 if where == "before its first level" else 0.3))
        if where == "in writing":
            while not self._unnamed() and lives():
                pass
            time.sleep(generator.uniform(0, 0.003))
        elif where == "in the search":
            while self._manifest() and self._unnamed() and lives():
                pass
        os.kill(process.pid, signal.SIGSTOP)
        _, status = os.waitpid(process.pid, os.WUNTRACED)
        if os.WIFEXITED(status):
            process.returncode = os.waitstatus_to_exitcode(status)
            assert process.returncode == 0
            return None
        moment = self._moment(before)
        process.kill()
        assert process.wait() == -signal.SIGKILL
        return moment

    def ended(self, workers: int) -> dict[str, Any]:
        assert self.begin(workers).wait(120) == 0
        found: dict[str, Any] = json.loads(self.report.read_bytes())
        return found

    def _manifest(self) -> tuple[int, int] | None:
        try:
            status = os.stat(self.levels / MANIFEST)
        except FileNotFoundError:
            return None
        return status.st_ino, status.st_mtime_ns

    def _moment(self, before: tuple[int, int] | None) -> Moment:
        """The moment at which a process was stopped. Its first write removes the rests of an earlier process."""
        if self._manifest() == before:
            return "before its first level"
        if self._unnamed():
            return "in writing"
        last = json.loads((self.levels / self._parts()[-1]["levels"]["name"]).read_bytes())[-1]
        return "after the last level" if not last["distinct"] else "in the search"

    def _parts(self) -> list[dict[str, Any]]:
        parts: list[dict[str, Any]] = json.loads((self.levels / MANIFEST).read_bytes())["parts"]
        return parts

    def _unnamed(self) -> set[str]:
        """The files that the manifest does not name."""
        there = {path.name for path in self.levels.iterdir()}
        named = {part[kind]["name"] for part in self._parts() for kind in ("states", "levels")}
        return there - named - {MANIFEST, LOCK}


def killed_many_times(
    bounds: str, kills: int, start: int, folder: Path, *options: str, symmetry: bool = False
) -> Counter[Moment]:
    """The moments of `kills` kills. Asserts that every killed search, when resumed, ends in the right report."""
    whole = json.loads(json.dumps(check("kip-320", settings(bounds), symmetry=symmetry).to_json()))
    generator, moments, number = random.Random(start), Counter[Moment](), 0
    while sum(moments.values()) < kills:
        number += 1
        (place := folder / str(number)).mkdir()
        searches = Searches(bounds, place, *options)
        while sum(moments.values()) < kills:
            so_far = sum(moments.values())
            moment = searches.killed(1 + so_far % 2, generator, ORDER[so_far % len(ORDER)])
            if moment is None:
                break
            moments[moment] += 1
        assert essential(searches.ended(1 + kills % 2)) == essential(whole)
    return moments


@pytest.mark.exhaustive
def test_a_search_that_is_killed_ends_with_the_same_report(tmp_path: Path) -> None:
    moments = killed_many_times("3/2/2/2", 2, 1, tmp_path)
    assert moments["in the search"] + moments["in writing"] > 0, moments


@pytest.mark.release
@pytest.mark.exhaustive
@pytest.mark.parametrize(
    "options",
    [(), ("--store", "disk"), ("--symmetry",), ("--symmetry", "--store", "disk")],
    ids=lambda options: " ".join(options) or "memory",
)
def test_searches_that_are_killed_at_random_moments(options: tuple[str, ...], tmp_path: Path) -> None:
    """Fifty kills in all, in searches of 4.09 million states or 683,278 orbits."""
    moments = killed_many_times("3/3/3/2", 10, len(options), tmp_path, *options, symmetry="--symmetry" in options)
    print(*options, dict(moments))
    assert moments["in the search"] > 0, moments
    assert moments["in writing"] > 0, moments
