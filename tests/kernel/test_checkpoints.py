"""A search that was ended in any way continues from its checkpoint to the same result; a bad checkpoint is refused."""

from __future__ import annotations

import json
import os
import random
import shutil
import signal
import socket
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from click.testing import CliRunner, Result

from isrcheck import check
from isrcheck.checker.cli import main
from isrcheck.checker.engines.explicit import checkpoint
from isrcheck.checker.engines.explicit.levels import NativeLevels
from isrcheck.checker.kernel.compiled import Kernel
from isrcheck.checker.results.exploration import Checkpointing, Exploration, Limits, Progress
from isrcheck.checker.results.result import CheckpointRefused, LimitTooSmall
from isrcheck.model.semantics.expressions import TRUE, and_, eq, leaf, lt, not_
from isrcheck.model.semantics.transition_system import TransitionSystem
from tests.kernel.large import search
from tests.kernel.toys import grid, leaves_of, number, predicate, ring

pytestmark = pytest.mark.exhaustive  # in a clean checkout their loops take half a minute to compile

ALWAYS = 1e-9
PLACE_OR_TIME = ("seconds", "peak_rss_bytes", "store_bytes", "states_per_second", "workers")


def kept(folder: Path, resume: bool = False) -> Checkpointing:
    return Checkpointing(str(folder), resume, ALWAYS)


def run(
    toy: TransitionSystem,
    checkpointing: Checkpointing | None,
    states: int | None = None,
    workers: int = 1,
    keep_going: bool = True,
) -> tuple[Exploration, NativeLevels]:
    limits = Limits(states=states)
    return search(
        toy,
        keep_going=keep_going,
        deadlock=True,
        limits=limits,
        report=None,
        workers=workers,
        checkpointing=checkpointing,
    )


def comparable(found: Exploration) -> Exploration:
    return replace(found, seconds={}, peak_store_bytes=0, workers=0)


def states(levels: NativeLevels) -> list[list[bytes]]:
    return [sorted(row.tobytes() for row in levels.level_states(k)) for k in range(1, levels.depth + 1)]


def essential(report: dict[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in report.items() if name not in PLACE_OR_TIME}


def with_everything() -> TransitionSystem:
    """A system with rejected successors, violations, goals, bounds, deadlocks at several levels; rows of 5 bytes."""
    x, y = (leaf(z) for z in leaves_of(("number", 0, 1 << 17), ("number", 0, 1 << 17)))
    toy = grid(
        [(1 << 17) + 1, (1 << 17) + 1],
        constraints=[predicate("small", and_(lt(x, number(12)), lt(y, number(9))))],
        invariants=[predicate("not-5-5", not_(and_(eq(x, number(5)), eq(y, number(5))))), predicate("true", TRUE)],
        goals=[predicate("x-7", eq(x, number(7)))],
        bounds=[predicate("y-8", eq(y, number(8)))],
    )
    stuck = and_(eq(x, number(6)), eq(y, number(2)))
    return replace(toy, transitions=tuple(replace(t, guard=and_(t.guard, not_(stuck))) for t in toy.transitions))


@pytest.mark.parametrize("workers", [1, 3])
@pytest.mark.parametrize("toy", [with_everything(), ring(4)], ids=["grid", "ring"])
def test_a_search_goes_on_from_any_level_to_the_same_end(toy: TransitionSystem, workers: int, tmp_path: Path) -> None:
    whole, levels = run(toy, None)
    ends = np.cumsum(whole.levels).tolist()
    for k in (0, 1, len(ends) // 2, len(ends) - 2):
        so_far, folder = ends[k], tmp_path / str(k)
        first, _ = run(toy, kept(folder), states=so_far - 1 or None, workers=workers)
        again, native = run(toy, kept(folder, True), workers=4 - workers)
        assert first.stopped == ("states" if so_far > 1 else None)
        assert comparable(again) == comparable(whole)
        assert states(native) == states(levels)


def test_a_search_can_be_ended_at_every_level_in_turn(tmp_path: Path) -> None:
    toy = with_everything()
    whole, levels = run(toy, None)
    run(toy, kept(tmp_path), states=1)
    for so_far in np.cumsum(whole.levels)[1:-1:4].tolist():
        found, _ = run(toy, kept(tmp_path, True), states=so_far - 1)
        assert found.stopped == "states"
        assert found.levels == whole.levels[: len(found.levels)]
    again, native = run(toy, kept(tmp_path, True))
    assert (comparable(again), states(native)) == (comparable(whole), states(levels))
    finished, native = run(toy, kept(tmp_path, True))
    assert (comparable(finished), states(native)) == (comparable(whole), states(levels))


def test_what_was_written_is_never_written_again(tmp_path: Path) -> None:
    run(with_everything(), kept(tmp_path), states=30)
    before = {path: path.read_bytes() for path in tmp_path.iterdir() if path.name != checkpoint.MANIFEST}
    run(with_everything(), kept(tmp_path, True))
    after = {path: path.read_bytes() for path in tmp_path.iterdir()}
    assert before.items() <= after.items()
    assert sum(len(x) for path, x in after.items() if path.suffix == ".states") == 5 * 12 * 9


def test_reports_and_traces_are_the_same_after_a_stop(tmp_path: Path) -> None:
    name = "kip-101"
    whole = check(name, {"replicas": 2}).to_json()
    assert whole["verdict"] == "violated"
    assert check(name, {"replicas": 2}, checkpointing=kept(tmp_path), limits=Limits(states=20)).exit_code == 152
    again = check(name, {"replicas": 2}, checkpointing=kept(tmp_path, True), workers=2)
    assert essential(again.to_json()) == essential(whole)


@pytest.mark.parametrize("how", [signal.SIGINT, signal.SIGTERM])
def test_an_interrupted_search_keeps_its_whole_levels(how: signal.Signals, tmp_path: Path) -> None:
    looks = 0

    def interrupt(progress: Progress) -> None:
        nonlocal looks
        looks += 1
        if looks == 8:
            signal.raise_signal(how)

    toy = grid([16] * 5)
    checkpointing = Checkpointing(str(tmp_path), every=1e6)
    question: dict[str, Any] = {"keep_going": False, "deadlock": False, "limits": Limits()}
    handler = signal.getsignal(signal.SIGTERM)
    found, _ = search(toy, **question, report=interrupt, workers=2, checkpointing=checkpointing)
    assert found.stopped == "interrupt"
    assert signal.getsignal(signal.SIGTERM) is handler
    manifest = json.loads((tmp_path / checkpoint.MANIFEST).read_bytes())
    rows = sum(part["states"]["bytes"] for part in manifest["parts"]) // manifest["question"]["row_bytes"]
    assert rows == sum(found.levels)
    again, _ = search(toy, **question, report=None, checkpointing=kept(tmp_path, True))
    assert (again.stopped, sum(again.levels), len(again.levels)) == (None, 16**5, 76)


# --- refused --------------------------------------------------------------------------------------------------------


def finished(folder: Path) -> list[str]:
    run(with_everything(), kept(folder), states=30)
    run(with_everything(), kept(folder, True))
    return sorted(path.name for path in folder.iterdir() if path.name != checkpoint.LOCK)


def test_a_changed_byte_in_any_file_is_seen(tmp_path: Path) -> None:
    names = finished(tmp_path / "good")
    assert len(names) > 4
    generator = random.Random(2)
    for name in names:
        content = (tmp_path / "good" / name).read_bytes()
        for at in [0, len(content) - 2, *(generator.randrange(len(content) - 1) for _ in range(4))] if content else []:
            if content[at : at + 1].isspace() and name == checkpoint.MANIFEST:
                continue  # a space or another: the data are the same
            damaged(tmp_path, name, content[:at] + bytes([content[at] ^ 1]) + content[at + 1 :])


def test_a_file_that_is_shorter_longer_empty_or_missing_is_seen(tmp_path: Path) -> None:
    for name in finished(tmp_path / "good"):
        content = (tmp_path / "good" / name).read_bytes()
        for other in {content[:-2], content + b"0", b"", None} - {content}:
            damaged(tmp_path, name, other)


KERNEL = Kernel(with_everything())
QUESTION = checkpoint.question_of(with_everything(), KERNEL, True, True)


def damaged(folder: Path, name: str, content: bytes | None) -> None:
    """Asserts that a checkpoint with this content in one file is refused. The file is restored afterwards."""
    bad = folder / "bad"
    if not bad.exists():
        shutil.copytree(folder / "good", bad)
    if content is None:
        (bad / name).unlink()
    else:
        (bad / name).write_bytes(content)

    def read() -> None:
        found = checkpoint.Checkpoint(kept(bad, True), QUESTION)
        try:
            for _, states in found.read(KERNEL.words):
                list(states)
        finally:
            found.end()

    with pytest.raises(CheckpointRefused) as refused:
        read()
    assert str(refused.value) in (
        f"{bad / name} is damaged; start over with --checkpoint and another folder",
        f"{bad / name} is missing; start over with --checkpoint and another folder",
        f"{bad} has no checkpoint; start with --checkpoint",
    )
    shutil.copy(folder / "good" / name, bad / name)


def test_a_manifest_of_another_format_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(checkpoint, "FORMAT", 7)
    run(with_everything(), kept(tmp_path))
    monkeypatch.undo()
    with pytest.raises(
        CheckpointRefused, match=r"has format 7, but this version of isrcheck reads format 2; start over"
    ):
        run(with_everything(), kept(tmp_path, True))


def test_a_change_of_the_model_is_seen(tmp_path: Path) -> None:
    toy = with_everything()
    run(toy, kept(tmp_path))
    first, *others = toy.transitions
    changed = replace(first, guard=and_(first.guard, lt(leaf(toy.leaves[0]), number(11))))
    with pytest.raises(CheckpointRefused, match=r"another kernel \(.*\): the model or isrcheck has changed"):
        run(replace(toy, transitions=(changed, *others)), kept(tmp_path, True))


def test_a_change_that_only_the_first_states_show_is_seen(tmp_path: Path) -> None:
    # The code is the same, and what was found from elsewhere says nothing of this search.
    toy = grid([4, 4])
    elsewhere = replace(toy, initial=((3, 3),))
    assert Kernel(toy).text == Kernel(elsewhere).text
    run(elsewhere, kept(tmp_path))
    with pytest.raises(CheckpointRefused, match="the model or isrcheck has changed"):
        run(toy, kept(tmp_path, True))


def test_a_limit_of_memory_that_does_not_hold_the_levels_is_refused(tmp_path: Path) -> None:
    toy = grid([40] * 4)
    question: dict[str, Any] = {"keep_going": False, "deadlock": False, "report": None}
    search(toy, **question, limits=Limits(states=200_000), checkpointing=kept(tmp_path))
    with pytest.raises(LimitTooSmall) as refused:
        search(toy, **question, limits=Limits(memory=1 << 21), checkpointing=kept(tmp_path, True))
    search(toy, **question, limits=Limits(memory=refused.value.minimum), checkpointing=kept(tmp_path, True))


def isrcheck(*words: object) -> Result:
    return CliRunner().invoke(main, ["check", *map(str, words)])


def test_other_questions_are_refused_in_one_line(tmp_path: Path) -> None:
    small = ("-s", "replicas=2", "-s", "log_size=1")
    assert isrcheck("kip-320", *small, "--checkpoint", tmp_path).exit_code == 0
    assert isrcheck("kip-320", *small, "--resume", tmp_path, "--workers", 1).exit_code == 0
    for words, what in (
        (("kip-320", "-s", "replicas=2", "-s", "log_size=2"), "was made for settings "),
        (("kip-279", *small), "was made for model kip-320, not kip-279; use the same options, or start over"),
        (
            ("kip-320", *small, "--deadlock"),
            "symmetry=[], not continue=False, deadlock=True, symmetry=[]; use",
        ),
        (
            ("kip-320", *small, "--continue"),
            "deadlock=False, symmetry=[], not continue=True, ",
        ),
        (("kip-320", *small, "--invariant", "weak-isr"), "was made for invariants "),
    ):
        refused = isrcheck(*words, "--resume", tmp_path, "--quiet")  # no progress, however slow the machine is
        assert (refused.exit_code, refused.output.count("\n")) == (150, 1)
        assert what in refused.output
    again = isrcheck("kip-320", *small, "--checkpoint", tmp_path)
    assert again.exit_code == 150
    assert "already has a checkpoint; continue with --resume, or choose another folder" in again.output


def test_folders_that_are_not_for_checkpoints(tmp_path: Path) -> None:
    nothing = isrcheck("kip-320", "--resume", tmp_path)
    assert nothing.exit_code == 150
    assert "has no checkpoint; start with --checkpoint" in nothing.output
    (tmp_path / "000001.states.tmp").write_bytes(b"what a killed process left")
    (tmp_path / "000001.levels.json").write_bytes(b"the same")
    run(with_everything(), kept(tmp_path / "new" / "folder"))
    shutil.copy(tmp_path / "000001.states.tmp", tmp_path / "new")
    shutil.rmtree(tmp_path / "new")
    run(with_everything(), kept(tmp_path))
    (tmp_path / "other").mkdir()
    (tmp_path / "other" / "letter.txt").write_text("mine")
    with pytest.raises(CheckpointRefused, match=r"contains other files \(letter.txt\); choose a new folder"):
        run(with_everything(), kept(tmp_path / "other"))


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (
            ("--checkpoint", "a", "--resume", "b"),
            "--checkpoint starts a new search and --resume continues one; remove one of them",
        ),
        (("--checkpoint", "a", "--engine", "reference"), "--checkpoint requires --engine local or spark"),
        (("--resume", "a", "--engine", "symbolic"), "--resume requires --engine local or spark"),
        (("--checkpoint-every", "3"), "--checkpoint-every requires --checkpoint or --resume"),
    ],
)
def test_options_that_do_not_go_together(words: tuple[str, ...], message: str) -> None:
    refused = isrcheck("kip-320", *words)
    assert refused.exit_code == 2
    assert message in " ".join(refused.output.split())


@pytest.mark.skipif(os.geteuid() == 0 and not Path("/dev/full").exists(), reason="no file system that is full")
def test_a_checkpoint_that_cannot_be_written_leaves_the_one_before(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    run(with_everything(), kept(tmp_path), states=30)

    def full(descriptor: int) -> None:
        raise OSError(28, "No space left on device")

    with monkeypatch.context() as patched:
        patched.setattr(os, "fsync", full)
        found, _ = run(with_everything(), kept(tmp_path, True))
    assert found.disk_error == f"cannot write the checkpoint {tmp_path}: No space left on device (--checkpoint)"
    again, _ = run(with_everything(), kept(tmp_path, True))
    assert comparable(again) == comparable(run(with_everything(), None)[0])


# --- two searches, one folder ---------------------------------------------------------------------------------------

HOLDING = """
import sys, time
from isrcheck.checker.engines.explicit.checkpoint import Checkpoint
from isrcheck.checker.results.exploration import Checkpointing
held = Checkpoint(Checkpointing(sys.argv[1]), {"row_bytes": 8})
print("held", flush=True)
time.sleep(600)
"""


@pytest.fixture
def holder(tmp_path: Path) -> Iterator[subprocess.Popen[str]]:
    """Another process with a checkpoint in the folder `shared`."""
    command = [sys.executable, "-c", HOLDING, str(tmp_path / "shared")]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == "held\n"
        yield process
        process.kill()


def test_a_folder_in_use_is_refused_in_one_line(tmp_path: Path, holder: subprocess.Popen[str]) -> None:
    shared, small = tmp_path / "shared", ("kip-320", "-s", "replicas=2", "-s", "log_size=1")
    before = sorted(shared.iterdir())
    refused = isrcheck(*small, "--checkpoint", shared, "--quiet")
    who = f"{socket.gethostname()}, process {holder.pid}"
    assert (refused.exit_code, refused.output) == (
        150,
        f"isrcheck: another search ({who}) uses {shared}; wait until it ends, then continue with --resume\n",
    )
    assert sorted(shared.iterdir()) == before
    (shared / checkpoint.MANIFEST).write_text("{}")
    assert isrcheck(*small, "--resume", shared, "--quiet").output == refused.output


def test_the_folder_of_a_search_that_was_killed_is_taken_over(tmp_path: Path, holder: subprocess.Popen[str]) -> None:
    shared = tmp_path / "shared"
    left = [shared / f"{name}.{'0a' * 16}.tmp" for name in (checkpoint.MANIFEST, "000001.states")]
    for path in left:
        path.write_bytes(b"what the killed process left")
    holder.kill()
    holder.wait()
    run(with_everything(), kept(shared))
    run(with_everything(), kept(shared, True))
    assert not any(path.exists() for path in left)


def test_of_many_searches_that_begin_together_one_has_the_folder(tmp_path: Path) -> None:
    small = ("kip-320", "-s", "replicas=2", "-s", "log_size=1", "--quiet", "--checkpoint-every", "0.001")
    command = [sys.executable, "-m", "isrcheck", "check", *small, "--checkpoint", str(tmp_path)]
    searches = [subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) for _ in range(3)]
    said = [(*search.communicate(timeout=300), search.returncode) for search in searches]
    assert sorted(code for *_, code in said) == [0, 150, 150]
    assert all(error.count("\n") == 1 for _, error, code in said if code)
    assert isrcheck(*small, "--resume", tmp_path).exit_code == 0


def test_a_folder_is_free_again_when_its_search_has_ended(tmp_path: Path) -> None:
    held = checkpoint.Checkpoint(kept(tmp_path), QUESTION)
    with pytest.raises(CheckpointRefused, match="another search"):
        checkpoint.Checkpoint(kept(tmp_path), QUESTION)
    held.end()
    checkpoint.Checkpoint(kept(tmp_path), QUESTION)
