"""The files of a dataset: a header, and a manifest for each level, which makes the level count.

    dataset.json                       what was explored: model, settings, the kernel's hash, where each variable lies
    manifests/level-00001.json         a level: counts, files with their hashes, the hash of the manifest before
    states/level=00001/part-*.parquet  its states, packed, in the order of the owner hash
    transitions/level=00001/*.parquet  the steps from its states, where they were asked for
    runs/*.parquet                     states of several levels merged, for the search alone
    staging/                           a level that is being built
    levels.parquet, actions.parquet, violations.parquet   what the manifests say, as tables

A level is committed in three steps: files are in `staging`; the folder is renamed; the manifest is written. What no
manifest names does not count and is removed by the next search.
"""

from __future__ import annotations

import hashlib
import json
import re
import uuid
from collections.abc import Iterator
from dataclasses import asdict, dataclass, field, fields
from typing import Any, Final

from isrcheck.checker.datasets.refusals import DatasetRefused
from isrcheck.checker.datasets.storage import Storage

FORMAT: Final = 1
HEADER: Final = "dataset.json"
ENTRY: Final = {"path", "rows", "bytes", "sha256", "hashes", "owner"}
"""What a manifest says of a file of states; `hashes` are the first and the last one, `owner` is who wrote it."""
STATES: Final = re.compile(r"(states/level=\d{5}|runs)/[0-9a-z-]+\.parquet")
TRANSITIONS: Final = re.compile(r"transitions/level=\d{5}/[0-9a-z-]+\.parquet")


@dataclass(frozen=True)
class Level:
    """What a manifest says of a whole level, and of the expansion of the level before.

    `generated` counts instances by action, None for level 1; `degrees` is the (least, greatest) number of enabled
    instances; `rejected` and `outside` (verdict bits) are of successors outside the constraints; `counts[bit]` says in
    how many states of the level a verdict bit is set. `files` are its states, `transitions` the steps that lead from
    the level before, `runs` the files that together hold all states up to it.
    """

    number: int
    distinct: int
    generated: list[int] | None
    degrees: list[int] | None
    rejected: int
    outside: int
    counts: list[int]
    files: list[dict[str, Any]]
    transitions: list[dict[str, Any]]
    runs: list[dict[str, Any]]
    by: str
    cost: dict[str, Any] = field(default_factory=dict)

    @property
    def seen(self) -> int:
        """The verdict bits of its states and of the successors outside the constraints."""
        return self.outside | sum(1 << bit for bit, count in enumerate(self.counts) if count)


class Dataset:
    """A folder with a header and committed levels; `levels` are those read or committed so far."""

    def __init__(self, storage: Storage, header: dict[str, Any]) -> None:
        self.storage, self.header = storage, header
        self.levels: list[Level] = []
        self._last = ""

    @property
    def root(self) -> str:
        return self.storage.root

    # --- beginning --------------------------------------------------------------------------------------------------

    @staticmethod
    def create(root: str, header: dict[str, Any]) -> Dataset:
        """A new dataset; OSError where the folder has something in it already."""
        storage = Storage(root)
        if storage.exists(HEADER):
            raise FileExistsError(f"{root} holds a dataset already; go on with --resume {root}, or name another folder")
        if any(not name.startswith(".") for name in storage.names("")):
            raise FileExistsError(f"{root} is not empty; name a new folder for the dataset")
        storage.make("")
        storage.write_json(HEADER, header)
        dataset = Dataset(storage, header)
        dataset.clear()
        return dataset

    @staticmethod
    def open(root: str) -> Dataset:
        """A dataset with all its committed levels; `DatasetRefused` where it is damaged or of another version."""
        storage = Storage(root)
        header = _json(storage, HEADER)
        if not isinstance(header, dict) or "format" not in header or "kernel" not in header:
            raise DatasetRefused(f"{root}/{HEADER} is not the header of a dataset")
        if header["format"] != FORMAT:
            raise DatasetRefused(
                f"{root} has version {header['format']!r} of the dataset format; this program knows version {FORMAT}"
            )
        dataset = Dataset(storage, header)
        for name in dataset._manifests():
            dataset._read(name)
        return dataset

    def _manifests(self) -> Iterator[str]:
        for number in range(1, 10**5):
            name = manifest_name(number)
            if not self.storage.exists(name):
                return
            yield name

    def _read(self, name: str) -> None:
        content = self.storage.read(name)
        try:
            data = json.loads(content)
            chained, known = data.pop("previous"), {f.name for f in fields(Level)}
            if set(data) != known:
                raise ValueError(f"fields {sorted(set(data) ^ known)}")
            level = Level(**data)
            whole = level.number == len(self.levels) + 1 and chained == self._last
            sizes = sum(entry["rows"] for entry in level.files) == level.distinct
            _require_entries(level)
        except (ValueError, KeyError, TypeError, AttributeError) as error:
            raise DatasetRefused(f"{self.root}/{name} is damaged: {' '.join(str(error).split())}") from None
        if not whole or not sizes:
            raise DatasetRefused(f"{self.root}/{name} is damaged: it does not continue the level before")
        self.levels.append(level)
        self._last = hashlib.sha256(content).hexdigest()

    # --- going on ---------------------------------------------------------------------------------------------------

    def clear(self) -> None:
        """Removes what no manifest names; makes the folders that are missing."""
        storage, whole = self.storage, {folder_of(level.number) for level in self.levels}
        storage.remove("staging")
        for folder in ("manifests", "states", "runs", "staging"):
            storage.make(folder)
        for table in ("states", "transitions"):
            steps = {folder_of(level.number - 1) for level in self.levels}
            for name in storage.names(table):
                if name not in (whole if table == "states" else steps):
                    storage.remove(f"{table}/{name}")
        used = {entry["path"] for entry in (self.levels[-1].runs if self.levels else [])}
        for name in storage.names("runs"):
            if f"runs/{name}" not in used:
                storage.remove(f"runs/{name}")

    def verify(self) -> None:
        """`DatasetRefused` where a file that holds states is not what its manifest says."""
        entries = {entry["path"]: entry for level in self.levels for entry in level.files}
        entries |= {entry["path"]: entry for entry in (self.levels[-1].runs if self.levels else [])}
        for path, entry in sorted(entries.items()):
            if not self.storage.exists(path) or self.storage.digest(path) != entry["sha256"]:
                raise DatasetRefused(f"{self.root}/{path} is missing or damaged; begin anew with --checkpoint")

    def require_files(self) -> None:
        """`DatasetRefused` where a file of states is not there or has another size; what is in it is not read."""
        for entry in (entry for level in self.levels for entry in level.files):
            if self.storage.size(entry["path"]) != entry["bytes"]:
                raise DatasetRefused(f"{self.root}/{entry['path']} is missing or damaged; begin anew with --checkpoint")

    def staging(self, number: int) -> str:
        """An empty folder in which a level is built: what a search that was killed still writes ends elsewhere."""
        folder = f"staging/{folder_of(number)}-{uuid.uuid4().hex}"
        self.storage.make(folder)
        return folder

    def commit(self, level: Level, staging: str) -> None:
        """Makes a level count: its files under their final names, then its manifest."""
        storage, wanted = self.storage, {entry["path"].rpartition("/")[2] for entry in level.files}
        if storage.exists(manifest_name(level.number)):
            raise FileExistsError(f"another search writes to {self.root}; wait for its end, then --resume {self.root}")
        steps = {entry["path"].rpartition("/")[2] for entry in level.transitions}
        for name in storage.names(staging):
            if name not in wanted | steps:
                storage.remove(f"{staging}/{name}")
        if steps:
            storage.make(f"transitions/{folder_of(level.number - 1)}")
            for name in sorted(steps):
                source, to = storage.at(f"{staging}/{name}"), f"transitions/{folder_of(level.number - 1)}/{name}"
                storage.filesystem.move(source, storage.at(to))
        storage.remove(f"states/{folder_of(level.number)}")
        if wanted:
            storage.move(staging, f"states/{folder_of(level.number)}")
        else:
            storage.remove(staging)
        content = storage.write_json(manifest_name(level.number), {"previous": self._last, **asdict(level)})
        before = self.levels[-1].runs if self.levels else []
        self.levels.append(level)
        self._last = hashlib.sha256(content).hexdigest()
        # Merged files that are merged again: the manifest before this one was the last to need them.
        used = {entry["path"] for entry in level.runs}
        for entry in before:
            if entry["path"] not in used and entry["path"].startswith("runs/"):
                storage.remove(entry["path"])


def _require_entries(level: Level) -> None:
    """`ValueError` where a file is not described as it should be, or does not lie where it should."""
    for entry in (*level.files, *level.runs):
        if set(entry) != ENTRY or not STATES.fullmatch(entry["path"]):
            raise ValueError(f"{str(entry)[:200]} describes no file of states")
    for entry in level.transitions:
        if set(entry) != {"path", "rows"} or not TRANSITIONS.fullmatch(entry["path"]):
            raise ValueError(f"{str(entry)[:200]} describes no file of transitions")


def folder_of(number: int) -> str:
    return f"level={number:05d}"


def manifest_name(number: int) -> str:
    return f"manifests/level-{number:05d}.json"


def _json(storage: Storage, name: str) -> Any:
    if not storage.exists(name):
        raise DatasetRefused(
            f"{storage.root} holds no dataset: there is no {name}; name the folder given to --checkpoint"
        )
    try:
        return json.loads(storage.read(name))
    except ValueError as error:
        raise DatasetRefused(f"{storage.root}/{name} is damaged: {error}") from None
