"""Limits of memory: the free memory in a control group; and a process stays within its limit."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import psutil
import pytest

from isrcheck.checker.analysis import check as check_module
from isrcheck.checker.analysis import free_memory
from isrcheck.checker.analysis.check import check
from isrcheck.checker.engines.explicit.checkpoint import MANIFEST

MIB = 1 << 20


def group(folder: Path, **content: str) -> None:
    folder.mkdir(parents=True, exist_ok=True)
    for name, text in content.items():
        (folder / name.replace("_in_bytes", "-in-bytes").replace("_", ".").replace("-", "_")).write_text(text + "\n")


def own_groups(root: Path, *lines: str) -> None:
    (root / "proc/self").mkdir(parents=True)
    (root / "proc/self/cgroup").write_text("".join(line + "\n" for line in lines))


def test_a_group_of_version_two_limits_what_is_free(tmp_path: Path) -> None:
    """The limit is 400 MiB. 150 MiB are used, and 30 MiB of these are inactive files."""
    own_groups(tmp_path, "0::/")
    stat = f"anon {100 * MIB}\ninactive_file {30 * MIB}\nactive_file {20 * MIB}"
    group(tmp_path / "sys/fs/cgroup", memory_max=str(400 * MIB), memory_current=str(150 * MIB), memory_stat=stat)
    assert free_memory.free_memory(tmp_path) == 280 * MIB


def test_the_narrowest_group_on_the_way_up_decides(tmp_path: Path) -> None:
    own_groups(tmp_path, "0::/pods/pod/job")
    top = tmp_path / "sys/fs/cgroup"
    group(top / "pods/pod/job", memory_max="max", memory_current="5")
    group(top / "pods/pod", memory_max=str(100 * MIB), memory_current=str(60 * MIB))
    group(top / "pods", memory_max=str(500 * MIB), memory_current=str(90 * MIB))
    assert free_memory.free_memory(tmp_path) == 40 * MIB


def test_a_group_of_version_one_limits_what_is_free(tmp_path: Path) -> None:
    """As in a container, the group's full path does not exist, and its files are in the mount itself."""
    own_groups(tmp_path, "9:name=systemd:/", "4:cpu,memory:/docker/0a1b", "0::/")
    top = tmp_path / "sys/fs/cgroup/memory"
    stat = f"inactive_file 1\ntotal_inactive_file {7 * MIB}"
    group(top, memory_limit_in_bytes=str(50 * MIB), memory_usage_in_bytes=str(20 * MIB), memory_stat=stat)
    assert free_memory.free_memory(tmp_path) == 37 * MIB


def test_no_limit_and_nothing_left(tmp_path: Path) -> None:
    available = psutil.virtual_memory().available
    for name, files in {
        "no files": {},
        "none": {"memory_max": "max"},
        "vast": {"memory_max": str((1 << 63) - 4096)},
    }.items():
        own_groups(tmp_path / name, "0::/", "damaged")
        group(tmp_path / name / "sys/fs/cgroup", **files)
        assert free_memory.free_memory(tmp_path / name) > available // 2
    own_groups(tmp_path / "full", "0::/")
    group(tmp_path / "full/sys/fs/cgroup", memory_max="5000", memory_current="9000")
    assert free_memory.free_memory(tmp_path / "full") == 0


@pytest.mark.exhaustive
def test_by_default_a_search_takes_nine_tenths_of_what_its_group_has_left(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    own_groups(tmp_path, "0::/")
    group(tmp_path / "sys/fs/cgroup", memory_max=str(40 * MIB), memory_current=str(10 * MIB))
    monkeypatch.setattr(check_module, "free_memory", lambda: free_memory.free_memory(tmp_path))
    settings = {"log_size": 3, "max_records": 3, "max_leader_epoch": 3}
    found = check("kip-320", settings, workers=1)
    assert (found.exit_code, found.verdict) == (152, "incomplete")
    assert found.store_bytes is not None
    assert 20 * MIB < found.store_bytes <= 27 * MIB


# --- processes ------------------------------------------------------------------------------------------------------

NAMES = ("replicas", "log_size", "max_records", "max_leader_epoch")
SMALL_DISK = f"""
import errno, os
write = os.pwrite
def full(file, data, first):
    if first + len(data) > {MIB // 2}:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
    return write(file, data, first)
os.pwrite = full
from isrcheck.checker.cli import main
main()
"""


def isrcheck(
    bounds: str, *words: object, small_disk: bool = False, cache: Path | None = None
) -> subprocess.CompletedProcess[str]:
    chosen = [x for name, value in zip(NAMES, bounds.split("/"), strict=True) for x in ("-s", f"{name}={value}")]
    begin = ["-c", SMALL_DISK] if small_disk else ["-m", "isrcheck"]
    command = [sys.executable, *begin, "check", "kip-320", *chosen, "--quiet", *map(str, words)]
    environment = {**os.environ, **({} if cache is None else {"ISRCHECK_CACHE": str(cache)})}
    return subprocess.run(command, capture_output=True, text=True, timeout=300, check=False, env=environment)


def essential(report: dict[str, object]) -> dict[str, object]:
    of_a_run = ("seconds", "peak_rss_bytes", "store_bytes", "states_per_second", "workers", "store")
    return {name: value for name, value in report.items() if name not in of_a_run}


@pytest.mark.exhaustive
def test_a_full_disk_loses_nothing_that_a_checkpoint_can_keep(tmp_path: Path) -> None:
    """The states' disk is full at half a megabyte. The checkpoint's disk is not, so the last checkpoint is written."""
    kept, found = tmp_path / "kept", tmp_path / "found.json"
    words = ("--store", "disk", "--store-folder", tmp_path, "--json", found, "--checkpoint-every", 1e6)
    full = isrcheck("3/2/2/2", *words, "--checkpoint", kept, small_disk=True)
    what = "no more states can be stored here; choose another folder with --store-folder"
    why = f"{tmp_path}: No space left on device: {what}"
    assert (full.returncode, full.stderr) == (153, f"isrcheck: {why}\n")
    assert full.stdout.startswith(f"INCOMPLETE  kip-320: {why}; no violation in ")
    data = json.loads(found.read_text())
    assert (data["exit_code"], data["reason"], data["verdict"]) == (153, why, "incomplete")
    parts = json.loads((kept / MANIFEST).read_text())["parts"]
    levels = [level for part in parts for level in json.loads((kept / part["levels"]["name"]).read_text())]
    assert sum(level["distinct"] for level in levels) > 30_000
    assert isrcheck("3/2/2/2", *words, "--resume", kept).returncode == 0
    settings = dict(zip(NAMES, (3, 2, 2, 2), strict=True))
    assert essential(json.loads(found.read_text())) == essential(
        json.loads(json.dumps(check("kip-320", settings).to_json()))
    )


@pytest.mark.exhaustive
def test_a_full_disk_without_a_checkpoint_is_one_line(tmp_path: Path) -> None:
    full = isrcheck("3/2/2/2", "--store", "disk", "--store-folder", tmp_path, small_disk=True)
    assert (full.returncode, full.stdout.count("\n"), full.stderr.count("\n")) == (153, 1, 1)
    assert list(tmp_path.iterdir()) == []


BESIDE: int = 125 * MIB
"""The memory of a process besides its states (Python, LLVM, kernels), as `docs/reference/engines.md` states it."""
COMPILING: int = 230 * MIB
"""The same for a process that must compile the loops: it also holds Numba."""
LARGEST_BESIDE: int = 150 * MIB
LARGEST_COMPILING: int = 310 * MIB
"""The same two numbers for `kraft`, the largest model."""


def limited(bounds: str, limit: int, report: Path, cache: Path | None = None) -> dict[str, Any]:
    """The JSON of a check under a limit of memory. Its peak is the number that the system has measured."""
    found = isrcheck(bounds, "--workers", "2", "--max-memory", limit, "--json", report, cache=cache)
    assert found.returncode == 152
    data: dict[str, Any] = json.loads(report.read_text())
    return data


@pytest.mark.exhaustive
@pytest.mark.parametrize(
    ("bounds", "limit"),
    [
        ("3/3/3/2", 24 * MIB),
        pytest.param("3/3/3/3", 128 * MIB, marks=pytest.mark.release),
        pytest.param("5/3/3/3", 256 * MIB, marks=pytest.mark.release),
        pytest.param("3/3/3/3", 96 * MIB, marks=pytest.mark.release),
    ],
)
def test_a_process_stays_within_its_limit_and_what_python_takes(bounds: str, limit: int, tmp_path: Path) -> None:
    """The states use most of the limit, the process little more. First it compiles all code, then it loads it."""
    for most in (COMPILING, BESIDE):
        report = limited(bounds, limit, tmp_path / "report", cache=tmp_path)
        assert 0.8 * limit < report["store_bytes"] <= limit
        assert report["store_bytes"] < report["peak_rss_bytes"] <= limit + most


@pytest.mark.exhaustive
def test_the_expressions_of_the_largest_model_take_little_more(tmp_path: Path) -> None:
    words = ("--quiet", "--workers", "2", "--max-memory", str(24 * MIB), "--json", str(tmp_path / "report"))
    for most in (LARGEST_COMPILING, LARGEST_BESIDE):
        found = subprocess.run(
            [sys.executable, "-m", "isrcheck", "check", "kraft", "--continue", *words], capture_output=True,
            timeout=300, check=False, env={**os.environ, "ISRCHECK_CACHE": str(tmp_path)},
        )  # fmt: skip
        assert found.returncode == 152
        report = json.loads((tmp_path / "report").read_text())
        assert report["store_bytes"] < report["peak_rss_bytes"] <= 24 * MIB + most


@pytest.mark.exhaustive
def test_what_memory_has_no_room_for_the_disk_has(tmp_path: Path) -> None:
    """The message about memory also recommends the disk. The number of states is that of the published table."""
    refused = limited("3/3/3/2", 24 * MIB, tmp_path / "refused")
    assert refused["reason"].endswith("; --store disk needs much less")
    words = ("--max-memory", 24 * MIB, "--store", "disk", "--store-folder", tmp_path, "--json", tmp_path / "found")
    done = isrcheck("3/3/3/2", *words)
    found = json.loads((tmp_path / "found").read_text())
    assert (done.returncode, found["distinct"], found["depth"]) == (0, 4_093_531, 31)
    assert found["store_bytes"] <= 24 * MIB
    assert found["peak_rss_bytes"] <= 24 * MIB + COMPILING


@pytest.mark.exhaustive
def test_the_peak_of_a_process_is_not_that_of_who_started_it(tmp_path: Path) -> None:
    # What `getrusage` says of a process begins with the size of its parent.
    ballast = bytearray(b"x") * (400 * MIB)
    assert free_memory.peak_memory() > len(ballast)
    report = limited("3/3/3/2", 24 * MIB, tmp_path / "report")
    assert report["peak_rss_bytes"] < len(ballast)
