"""A full disk loses no answer: what was found is printed and written, with the path and the option of what failed."""

from __future__ import annotations

import errno
import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

ROOT = Path(__file__).parents[2]

FULL = """
import errno, os, pathlib
from isrcheck.__main__ import main

def full(*arguments, **more):
    raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

{patch}
if __name__ == "__main__":
    main()
"""
CHECKPOINTS = "os.fsync = full"
STATES = """
write = os.pwrite
def some(file, data, first):
    return full() if first + len(data) > (1 << 15) else write(file, data, first)
os.pwrite = some
"""
CERTIFICATES = """
text = pathlib.Path.write_text
def some(path, *arguments, **more):
    return full() if path.suffix == ".smt2" else text(path, *arguments, **more)
pathlib.Path.write_text = some
"""
TOYS = ROOT / "tests" / "proofs" / "toys.py"
SMALL = ("-s", "replicas=2", "-s", "log_size=2")


def isrcheck(patch: str, *words: object) -> subprocess.CompletedProcess[str]:
    """Runs isrcheck with a disk that is full for some files."""
    command = [sys.executable, "-c", FULL.format(patch=patch), *map(str, words)]
    return subprocess.run(
        command, capture_output=True, text=True, timeout=300, check=False, cwd=ROOT, env={**os.environ, "LC_ALL": "C"}
    )


def found(path: Path) -> dict[str, Any]:
    data: dict[str, Any] = json.loads(path.read_text())
    return data


def test_a_violation_is_reported_although_no_checkpoint_can_be_written(tmp_path: Path) -> None:
    kept, report = tmp_path / "kept", tmp_path / "r.json"
    done = isrcheck(CHECKPOINTS, "check", "kip-101", *SMALL, "--quiet", "--checkpoint", kept, "--json", report)
    plain = isrcheck("", "check", "kip-101", *SMALL, "--quiet", "--json", tmp_path / "plain.json")
    why = f"cannot write the checkpoint {kept}: {os.strerror(errno.ENOSPC)} (--checkpoint)"
    assert (done.returncode, done.stdout, done.stderr) == (12, plain.stdout, f"isrcheck: {why}\n")
    data, expected = found(report), found(tmp_path / "plain.json")
    assert (data["exit_code"], data["verdict"], data["reason"]) == (12, "violated", why)
    assert (data["levels"], data["invariants"]) == (expected["levels"], expected["invariants"])
    assert not [path.name for path in kept.iterdir() if path.name != ".lock"]


def test_a_search_to_the_end_is_reported_although_no_checkpoint_can_be_written(tmp_path: Path) -> None:
    kept, report = tmp_path / "kept", tmp_path / "r.json"
    words = ("check", "kip-320", *SMALL, "--checkpoint", kept, "--checkpoint-every", "0.001", "--json", report)
    done = isrcheck(CHECKPOINTS, *words)
    why = f"cannot write the checkpoint {kept}: {os.strerror(errno.ENOSPC)} (--checkpoint)"
    assert (done.returncode, done.stderr.splitlines()[-1]) == (153, f"isrcheck: {why}")
    assert done.stdout.startswith("HOLDS  kip-320: ")
    data = found(report)
    assert (data["exit_code"], data["verdict"], data["reason"]) == (153, "holds", why)
    assert data["distinct"] == sum(data["levels"]) > 1000


def test_a_violation_is_reported_although_the_disk_of_the_states_is_full(tmp_path: Path) -> None:
    report, words = tmp_path / "r.json", ("check", "kip-101", "-s", "replicas=2", "--continue")
    store = ("--store", "disk", "--store-folder", tmp_path)
    done = isrcheck(STATES, *words, "--quiet", *store, "--json", report)
    remedy = "choose another folder with --store-folder"
    why = f"{tmp_path}: {os.strerror(errno.ENOSPC)}: no more states can be stored here; {remedy}"
    assert (done.returncode, done.stderr) == (12, f"isrcheck: {why}\n")
    assert done.stdout.startswith("VIOLATED  kip-101: ")
    data = found(report)
    assert (data["exit_code"], data["verdict"], data["reason"]) == (12, "violated", why)
    assert {name: each["verdict"] for name, each in data["invariants"].items()} == {
        "leader-in-isr-or-none": "incomplete",
        "strong-isr": "violated",
        "weak-isr": "violated",
    }


def test_a_search_that_has_found_nothing_yet_says_how_far_it_came(tmp_path: Path) -> None:
    words = ("check", "kip-320", "--quiet", "--store", "disk", "--store-folder", tmp_path)
    done = isrcheck(STATES, *words, "--json", tmp_path / "r.json")
    assert (done.returncode, done.stderr.count("\n")) == (153, 1)
    assert done.stdout.startswith(f"INCOMPLETE  kip-320: {tmp_path}: No space left on device: ")
    data = found(tmp_path / "r.json")
    assert (data["exit_code"], data["verdict"]) == (153, "incomplete")
    assert data["distinct"] > 100
    assert data["partial"]


@pytest.mark.parametrize("quiet", [[], ["--quiet"]], ids=["", "quiet"])
def test_a_proof_is_reported_although_its_certificate_cannot_be_written(tmp_path: Path, quiet: list[str]) -> None:
    folder, report = tmp_path / "certificate", tmp_path / "r.json"
    words = ("prove", f"{TOYS}:Hill", "--proof", f"{TOYS}:SoundHillProof", "--certificate", folder, "--json", report)
    done = isrcheck(CERTIFICATES, *words, *quiet)
    why = f"cannot write {folder}: {os.strerror(errno.ENOSPC)} (--certificate)"
    assert (done.returncode, done.stderr.splitlines()[-1]) == (153, f"isrcheck: {why}")
    assert done.stdout.startswith("PROVED  toys:Hill: ")
    assert (found(report)["exit_code"], found(report)["verdict"], found(report)["reason"]) == (153, "proved", why)
    assert [path.name for path in tmp_path.iterdir()] == ["r.json"]
