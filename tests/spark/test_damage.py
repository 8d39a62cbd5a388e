"""A damaged dataset is refused in one line and not changed, and two searches never write to one dataset."""

from __future__ import annotations

import dataclasses
import fcntl
import json
import os
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from isrcheck.checker.datasets import manifests
from isrcheck.checker.datasets.dataset import Dataset
from isrcheck.checker.datasets.manifests import manifest_name
from isrcheck.checker.datasets.storage import Storage, WriteLock
from isrcheck.checker.engines.spark import executor_queries, state_files
from isrcheck.checker.results.errors import DatasetRefused
from tests.spark.test_resume import counts, files_of, run

WAYS: dict[str, Callable[[bytes], bytes | None]] = {
    "deleted": lambda content: None,
    "emptied": lambda content: b"",
    "cut": lambda content: content[:-1],
    "made longer": lambda content: content + b"\0",
    "flipped in its first page": lambda content: flipped(content, 40),
    "flipped in its footer": lambda content: flipped(content, len(content) - 30),
    "flipped at its end": lambda content: flipped(content, len(content) - 1),
}


def flipped(content: bytes, at: int) -> bytes:
    return content[:at] + bytes([content[at] ^ 1]) + content[at + 1 :]


@pytest.fixture
def dataset(tmp_path: Path) -> Path:
    run(tmp_path / "dataset")
    return tmp_path / "dataset"


def content(folder: Path) -> dict[str, bytes]:
    return {str(p.relative_to(folder)): p.read_bytes() for p in folder.rglob("*") if p.is_file() and p.name != ".lock"}


def refused(folder: Path, words: str, act: Callable[[Path], Any] = lambda folder: Dataset.resume(str(folder))) -> None:
    """Asserts that the dataset is refused in one line with these words, and that no byte of it changes."""
    before = content(folder)
    with pytest.raises(DatasetRefused) as failure:
        act(folder)
    assert words in str(failure.value)
    assert "\n" not in str(failure.value)
    assert content(folder) == before


# --- files -----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("table", ["states", "transitions"])
@pytest.mark.parametrize("way", WAYS)
def test_files_that_are_not_what_was_written(dataset: Path, table: str, way: str) -> None:
    part = sorted((dataset / table / "level=00003").iterdir())[0]
    changed = WAYS[way](part.read_bytes())
    part.unlink() if changed is None else part.write_bytes(changed)
    said = f"{part.relative_to(dataset)} is missing or damaged; nothing was changed; start over with --checkpoint"
    refused(dataset, said)
    if "flipped" not in way:
        refused(dataset, said, lambda folder: Dataset.open(str(folder)).require_files())


def test_each_file_that_counts_is_looked_at(dataset: Path) -> None:
    """Each file of states and transitions, of every level, is cut, changed or deleted."""
    parts = [part for table in ("states", "transitions") for part in sorted((dataset / table).rglob("*.parquet"))]
    assert len(parts) == sum(len(x.files) + len(x.transitions) for x in Dataset.open(str(dataset)).levels) > 6
    for part in parts:
        whole = part.read_bytes()
        for change in WAYS.values():
            changed = change(whole)
            part.unlink() if changed is None else part.write_bytes(changed)
            refused(dataset, f"{part.relative_to(dataset)} is missing or damaged; nothing was changed")
            part.write_bytes(whole)
    Dataset.resume(str(dataset)).close()


def test_what_is_read_to_be_analyzed_is_compared_with_its_hash(dataset: Path) -> None:
    entry = Dataset.open(str(dataset)).levels[2].files[0]
    query = {"root": str(dataset), "files": [[3, entry["path"], entry["sha256"]]]}

    class Batch:
        def column(self, number: int) -> Any:
            return self

        def to_pylist(self) -> list[int]:
            return [0]

    assert [(level, len(states)) for level, states in executor_queries.each_file(query, [Batch()])] == [
        (3, entry["rows"])
    ]
    part = dataset / entry["path"]
    part.write_bytes(flipped(part.read_bytes(), part.stat().st_size - 30))
    with pytest.raises(ValueError, match=state_files.CHANGED):
        list(executor_queries.each_file(query, [Batch()]))


def test_merged_files_can_be_done_without(dataset: Path, tmp_path: Path) -> None:
    """Merged files repeat the files of states, so a search continues without them to the same result."""
    run(tmp_path / "whole")
    (dataset / manifest_name(4)).unlink()
    merged = list((dataset / "runs").iterdir())
    assert merged
    for path in merged:
        path.write_bytes(b"")
    run(dataset, resume=True)
    assert files_of(dataset) == files_of(tmp_path / "whole")


# --- manifests and the header ----------------------------------------------------------------------------------------


@pytest.mark.parametrize("number", [1, 2, 3])
def test_a_manifest_that_is_missing(dataset: Path, number: int) -> None:
    (dataset / manifest_name(number)).unlink()
    refused(dataset, f"{manifest_name(number)} is missing, but later levels exist; restore it, or start over")
    refused(dataset, "is missing", lambda folder: Dataset.open(str(folder)))


@pytest.mark.parametrize("lost", [1, 2, 4])
def test_without_its_last_manifests_a_dataset_keeps_every_file_until_its_level_is_built_again(
    dataset: Path, tmp_path: Path, lost: int
) -> None:
    before, last = content(dataset), len(list((dataset / "manifests").iterdir()))
    for number in range(last - lost + 1, last + 1):
        (dataset / manifest_name(number)).unlink()
    Dataset.resume(str(dataset)).close()
    kept = {name for name in before if name.startswith(("states/", "transitions/"))}
    assert kept <= content(dataset).keys()
    wanted = run(tmp_path / "whole")
    assert counts(run(dataset, resume=True)) == counts(wanted)
    assert files_of(dataset) == files_of(tmp_path / "whole")


def test_no_dataset(tmp_path: Path) -> None:
    refused(tmp_path, "does not contain a dataset (no dataset.json); use the folder that was given to --checkpoint")


@pytest.mark.parametrize("text", ["", "{", "[]", "7", '{"format": 1}', "null", '{"format": 1, "kernel": '])
def test_a_header_that_is_none(dataset: Path, text: str) -> None:
    (dataset / "dataset.json").write_text(text)
    refused(dataset, "dataset.json is")


def test_another_version(dataset: Path) -> None:
    header = json.loads((dataset / "dataset.json").read_text())
    (dataset / "dataset.json").write_text(json.dumps({**header, "format": 1}))
    refused(dataset, "has version 1 of the dataset format, but this version of isrcheck reads version 2")


@pytest.mark.parametrize(
    "change",
    [
        lambda text: text[:-20],
        lambda text: "",
        lambda text: "[]",
        lambda text: text.replace('"distinct": 3', '"distinct": 2'),
        lambda text: text.replace('"number": 3', '"number": 4'),
        lambda text: text.replace('"rejected"', '"refused"'),
        lambda text: text.replace('"rows"', '"lines"'),
        lambda text: text.replace('"files": [', '"files": 7, "was": ['),
        lambda text: text.replace("states/level=00003/part", "states/level=00003/../../part"),
        lambda text: text.replace('"path": "states/', '"path": "/states/'),
        lambda text: text.replace('"owner"', '"of"'),
    ],
)
def test_a_damaged_manifest(dataset: Path, change: Callable[[str], str]) -> None:
    path = dataset / manifest_name(3)
    before = path.read_text()
    path.write_text(change(before))
    assert path.read_text() != before
    refused(dataset, "level-00003.json is damaged")


def test_a_manifest_that_another_search_has_written_breaks_the_chain(dataset: Path) -> None:
    levels, path = Dataset.open(str(dataset)).levels, dataset / manifest_name(3)
    previous = json.loads(path.read_text())["previous"]
    other = manifests.written(dataclasses.replace(levels[2], rejected=7), previous)
    path.write_text(json.dumps(other))
    refused(dataset, "level-00004.json is damaged: it does not continue the previous level")


@pytest.mark.exhaustive
def test_every_bit_of_the_last_manifest_counts(dataset: Path) -> None:
    """No later manifest has its hash, so it has a hash of itself."""
    path = sorted((dataset / "manifests").iterdir())[-1]
    before = path.read_bytes()
    for at in range(0, len(before), 7):
        path.write_bytes(flipped(before, at))
        if json_of(path) != json.loads(before):
            refused(dataset, f"{path.name} is damaged")


def json_of(path: Path) -> Any:
    try:
        return json.loads(path.read_bytes())
    except ValueError:
        return None


# --- two searches ----------------------------------------------------------------------------------------------------

HOLDING = """
import sys
from isrcheck.checker.datasets.dataset import Dataset
held = Dataset.resume(sys.argv[1])
print("held", flush=True)
sys.stdin.read()
"""


@pytest.fixture
def holder(dataset: Path) -> Iterator[subprocess.Popen[str]]:
    """Another process that writes to the dataset."""
    with subprocess.Popen(
        [sys.executable, "-c", HOLDING, str(dataset)], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    ) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == "held\n"
        yield process
        process.kill()


def test_a_second_search_is_refused_until_the_first_one_has_ended(dataset: Path, holder: subprocess.Popen[str]) -> None:
    refused(dataset, f"process {holder.pid}) is writing to {dataset}; wait until it ends, then use --resume")
    assert len(Dataset.open(str(dataset)).levels) == 4
    holder.kill()
    holder.wait()
    Dataset.resume(str(dataset)).close()


def test_two_new_searches_in_one_empty_folder(tmp_path: Path) -> None:
    Storage(str(tmp_path / "x")).make("")
    first = os.open(tmp_path / "x/.lock", os.O_CREAT | os.O_RDWR)
    fcntl.flock(first, fcntl.LOCK_EX)
    refused(tmp_path / "x", "another search is writing to", lambda folder: Dataset.create(str(folder), {}))
    os.close(first)
    Dataset.create(str(tmp_path / "x"), {"format": 2}).close()
    with pytest.raises(FileExistsError, match="already contains a dataset"):
        Dataset.create(str(tmp_path / "x"), {})


def test_where_nothing_can_be_locked_who_comes_last_goes_on_and_the_other_stops(
    dataset: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As in an object store, the first search finds another name in place of its own before it commits."""
    monkeypatch.setattr(Storage, "local", False)
    first, second = Dataset.resume(str(dataset)), Dataset.resume(str(dataset))
    last = first.levels[-1]
    before = content(dataset)
    with pytest.raises(DatasetRefused, match=r"another search \(.*, process \d+\) has taken over .*; stopping"):
        first.commit(last)
    with pytest.raises(DatasetRefused, match=r"another search has written .*level-\d{5}.json; stopping"):
        second.commit(last)
    assert content(dataset) == before


def test_a_file_system_without_locks_is_written_to_all_the_same(dataset: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def none(file: int, how: int) -> None:
        raise OSError(95, "Operation not supported")

    monkeypatch.setattr(fcntl, "flock", none)
    WriteLock(Storage(str(dataset))).end()
    Dataset.resume(str(dataset)).close()


def test_a_dataset_that_is_open_to_be_read_is_not_written_to(dataset: Path) -> None:
    found = Dataset.open(str(dataset))
    refused(dataset, "is open for reading only", lambda folder: found.commit(found.levels[-1]))
