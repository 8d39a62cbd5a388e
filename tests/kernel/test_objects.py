"""Compiled code that is kept between processes: it is loaded if it can be trusted, and otherwise compiled again."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from isrcheck.checker.kernel import llvm_compiler
from isrcheck.checker.kernel.code_cache import VARIABLE, Folder, objects
from isrcheck.checker.kernel.compiled import Kernel
from isrcheck.model.semantics.transition_system import TransitionSystem
from tests.cli.running import counter, run
from tests.kernel.toys import ring

KEY, DATA = "the text, and what else it depends on", bytes(range(256)) * 9


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Folder:
    """An empty folder, which is used for compiled code."""
    monkeypatch.setenv(VARIABLE, str(tmp_path / "objects"))
    return Folder(tmp_path / "objects")


@pytest.fixture
def compilations(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The list of the modules that are compiled, in order."""
    seen, optimised = [], llvm_compiler._optimised

    def noted(text: str, machine: Any) -> Any:
        seen.append(text)
        return optimised(text, machine)

    monkeypatch.setattr(llvm_compiler, "_optimised", noted)
    return seen


def only(folder: Folder) -> Path:
    ((path, _),) = folder.files()
    return path


def test_an_object_is_given_for_its_key_alone(folder: Folder) -> None:
    assert folder.get(KEY) is None
    folder.put(KEY, DATA)
    assert (folder.get(KEY), folder.get(KEY + " ")) == (DATA, None)
    assert os.stat(folder.path).st_mode & 0o777 == 0o700
    assert os.stat(only(folder)).st_mode & 0o777 == 0o600


def cut(path: Path) -> None:
    path.write_bytes(path.read_bytes()[:-1])


def flip(path: Path) -> None:
    content = bytearray(path.read_bytes())
    content[-1] ^= 1
    path.write_bytes(content)


def empty(path: Path) -> None:
    path.write_bytes(b"")


def open_to_all(path: Path) -> None:
    path.chmod(0o666)


def open_folder_to_group(path: Path) -> None:
    path.parent.chmod(0o770)


def behind_a_link(path: Path) -> None:
    path.rename(path.with_suffix(".elsewhere"))
    path.symlink_to(path.with_suffix(".elsewhere"))


def of_another_key(path: Path) -> None:
    Folder(path.parent).put("another", DATA)
    (other,) = (each for each, _ in Folder(path.parent).files() if each != path)
    other.replace(path)


@pytest.mark.parametrize("damage", [cut, flip, empty, open_to_all, open_folder_to_group, behind_a_link, of_another_key])
def test_what_is_not_as_it_was_written_is_not_taken(folder: Folder, damage: Callable[[Path], None]) -> None:
    folder.put(KEY, DATA)
    damage(only(folder))
    assert folder.get(KEY) is None


@pytest.mark.skipif(os.getuid() != 0, reason="only root can give a file away")
def test_what_belongs_to_somebody_else_is_not_taken(folder: Folder) -> None:
    folder.put(KEY, DATA)
    os.chown(only(folder), 65534, 65534)
    assert folder.get(KEY) is None
    os.chown(only(folder), 0, 0)
    os.chown(folder.path, 65534, 65534)
    assert folder.get(KEY) is None
    folder.put("another", DATA)
    assert len(folder.files()) == 1


def test_the_least_recently_used_goes_first(folder: Folder) -> None:
    small = Folder(folder.path, largest=3 * (len(DATA) + 32))
    for number in range(3):
        small.put(str(number), DATA)
        os.utime(small._file(str(number)), (number, number))
    assert small.get("0") == DATA  # used now
    small.put("3", DATA)
    assert [small.get(str(number)) is not None for number in range(4)] == [True, False, True, True]


@pytest.fixture
def others(folder: Folder) -> list[Path]:
    """The oldest files of the folder, which other programs made."""
    folder.path.mkdir(mode=0o700)
    names = ["thesis.txt", ".profile", "film.part", ".film.part", "cafe", "0" * 63, "A" * 64, "0" * 64 + ".txt"]
    for name in names:
        (folder.path / name).write_bytes(DATA)
        os.utime(folder.path / name, (1, 1))
    return [folder.path / name for name in names]


def test_files_of_others_are_neither_counted_nor_removed(folder: Folder, others: list[Path]) -> None:
    small = Folder(folder.path, largest=len(DATA) + 32)
    for key in ("0", "1"):
        small.put(key, DATA)
    assert [path for path, _ in small.files()] == [small._file("1")]
    assert run("--clear-cache").out.startswith(f"{folder.path}: 1 file, ")
    assert set(folder.path.iterdir()) == set(others)


def test_what_was_half_written_is_removed(folder: Folder, monkeypatch: pytest.MonkeyPatch) -> None:
    """A process that is killed while it writes leaves a temporary file."""
    with monkeypatch.context() as killed:
        killed.setattr(os, "replace", lambda old, new: None)
        folder.put(KEY, DATA)
    assert only(folder).suffix == ".part"
    assert folder.clear() == 1
    assert list(folder.path.iterdir()) == []


def test_a_folder_that_cannot_be_made_keeps_nothing(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("in the way")
    nowhere = Folder(tmp_path / "file" / "objects")
    nowhere.put(KEY, DATA)
    assert nowhere.get(KEY) is None
    assert nowhere.files() == []


def test_many_at_once_see_whole_objects(folder: Folder) -> None:
    def both(number: int) -> bytes | None:
        folder.put(KEY, DATA)
        return folder.get(KEY)

    with ThreadPoolExecutor(8) as pool:
        assert set(pool.map(both, range(64))) == {DATA}
    assert [path.suffix for path, _ in folder.files()] == [""]


def compiled(toy: TransitionSystem) -> Kernel:
    """A kernel that runs as compiled code."""
    kernel = Kernel(toy)
    assert kernel.code.addresses["evaluate"]
    return kernel


def test_a_kernel_is_compiled_once_and_then_loaded(folder: Folder, compilations: list[str]) -> None:
    states = np.array([[0], [1], [2]], dtype=np.uint64)
    first = compiled(ring(3)).expand(states)
    assert len(compilations) == 1
    again = compiled(ring(3)).expand(states)
    assert len(compilations) == 1
    assert all(np.array_equal(a, b) for a, b in zip(first, again, strict=True))
    compiled(ring(4))
    assert len(compilations) == 2
    for path, _ in folder.files():
        flip(path)
    compiled(ring(3))
    assert len(compilations) == 3


def test_what_tells_failing_instances_is_compiled_when_it_is_asked_for(folder: Folder, compilations: list[str]) -> None:
    kernel = compiled(ring(3))
    kernel.evaluate(np.array([[0]], dtype=np.uint64))
    kernel.expand(np.array([[0]], dtype=np.uint64))
    assert len(compilations) == 1
    assert "@failures(" not in compilations[0]
    kernel.failures(np.array([[0]], dtype=np.uint64))
    assert len(compilations) == 2


def test_what_runs_on_columns_is_not_compiled(folder: Folder, compilations: list[str]) -> None:
    kernel = Kernel(ring(3))
    assert kernel.digest
    states = kernel.layout.pack(ring(3).initial)
    for function in (kernel.expand, kernel.evaluate, kernel.failures, kernel.hashes):
        function(states)
    assert compilations == []


def test_what_an_object_depends_on_is_in_its_key(monkeypatch: pytest.MonkeyPatch) -> None:
    before = llvm_compiler.surroundings()
    assert llvm_compiler._machine().triple in before
    name, features = llvm_compiler._processor()
    for other in (("another", features), (name, "+other")):
        monkeypatch.setattr(llvm_compiler, "_processor", lambda other=other: other)
        assert llvm_compiler.surroundings() != before


def test_the_command_says_where_and_how_large_and_clears(folder: Folder, tmp_path: Path) -> None:
    model = counter(tmp_path)
    assert run("check", model, "--quiet", "--checkpoint", tmp_path / "one", "--no-cache").code == 0
    assert run("--cache").out == f"{folder.path}: 0 files, 0.0 MiB of at most 512 MiB\n"
    assert run("check", model, "--quiet").code == 0
    assert folder.files() == []
    assert run("check", model, "--quiet", "--checkpoint", tmp_path / "other").code == 0
    # The model's code, and a note that the loops of the search are compiled.
    assert len(folder.files()) == 2
    assert run("--clear-cache").out.endswith("2 files, 0.0 MiB of at most 512 MiB, cleared\n")
    assert folder.files() == []


def test_nothing_is_kept_where_the_variable_is_empty(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(VARIABLE, "")
    assert objects() is None
    assert run("--cache").out == "nothing is cached: ISRCHECK_CACHE is empty\n"


DIGEST = """
from isrcheck.checker.kernel.compiled import Kernel
from isrcheck.checker.registry.loader import load_model_class
from isrcheck.model.semantics.tracing import trace

loaded = load_model_class("majority")
model = loaded.cls(replicas=5, votes="at-once", crashes=3, restarts=False, timeouts=0)
print(Kernel(trace(model, loaded.chosen(None))).digest)
"""


@pytest.mark.exhaustive
def test_the_text_is_the_same_in_every_process() -> None:
    """An action of this model has a set of brokers as a parameter, and iterates over it."""
    seeds = [os.environ | {"PYTHONHASHSEED": str(seed)} for seed in (1, 2, 3, 5)]
    asked = [
        subprocess.run([sys.executable, "-c", DIGEST], env=each, capture_output=True, check=True) for each in seeds
    ]
    assert len({done.stdout for done in asked}) == 1
