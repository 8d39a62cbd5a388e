"""The files of a dataset. A level is part of the dataset only once its manifest is written.

    dataset.json                       what was explored: model, settings, the kernel's hash, where each variable lies
    manifests/level-00001.json         a level: counts, files with their hashes, the hash of the manifest before
    states/level=00001/part-*.parquet  its states, packed, in the order of their hashes
    transitions/level=00001/*.parquet  the steps from its states, if they were asked for
    runs/*.parquet                     states of several levels merged, only for the search
    cones-*/*.parquet                  *slices*: states that lead to the end of a trace, only until the trace is found
    levels.parquet, actions.parquet, violations.parquet   the contents of the manifests, as tables

A file of states, transitions or merged states has a name that no earlier file had. The file is never renamed or
overwritten, and it is used only if a manifest names it. The manifest of a level is written last. Then two kinds of
files are removed: files of the level that its manifest does not name, and merged files replaced by newer ones. Slices
are removed after the search for the trace. A resumed search removes what killed processes left: files of committed
levels that their manifests do not name, merged files that the last manifest does not name, and slices. If a merged file
is damaged, a resumed search removes all merged files. Nothing else is ever removed. If a manifest is missing, but one
of a later level is there, the dataset is refused. If only the last manifests are missing, a resumed search builds these
levels again.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Iterable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from typing import Any, Final

from isrcheck.checker.datasets import manifests
from isrcheck.checker.datasets.manifests import Level, folder_of, manifest_name
from isrcheck.checker.datasets.storage import Storage, WriteLock
from isrcheck.checker.results.errors import DatasetRefused

FORMAT: Final = 2
HEADER: Final = "dataset.json"
SLICES: Final = "cones"
READERS: Final = 8
"""The number of threads that look for missing or changed files."""
MUCH: Final = 1 << 30
"""From this many bytes on, a cluster checks files faster than `READERS` threads."""
Entries = Iterable[dict[str, Any]]
Look = Callable[[str, list[tuple[str, str]]], list[str]]
"""A function that gets a root and pairs (path, SHA-256), and returns the paths of missing or changed files."""


class Dataset:
    """A folder with a header and committed levels. `levels` are the levels that were read or committed so far."""

    def __init__(self, storage: Storage, header: dict[str, Any], lock: WriteLock | None = None) -> None:
        self.storage, self.header, self._lock = storage, header, lock
        self.levels: list[Level] = []
        self._last = ""
        self._look: Look | None = None

    @property
    def root(self) -> str:
        return self.storage.root

    # --- beginning --------------------------------------------------------------------------------------------------

    @staticmethod
    def create(root: str, header: dict[str, Any]) -> Dataset:
        """A new dataset, open for writing.

        Raises `FileExistsError` if the folder is not empty (names that begin with a dot do not count), and
        `DatasetRefused` if another search holds the folder's lock.
        """
        storage = Storage(root)
        if storage.exists(HEADER):
            raise FileExistsError(
                f"{root} already contains a dataset; continue with --resume {root}, or choose another folder"
            )
        _require_empty(storage)
        lock = WriteLock(storage)
        try:
            # Another search may have just begun here.
            _require_empty(storage)
        except FileExistsError:
            lock.end()
            raise
        lock.take()
        storage.write_json(HEADER, header)
        dataset = Dataset(storage, header, lock)
        dataset._make_folders()
        return dataset

    @staticmethod
    def open(root: str) -> Dataset:
        """A dataset with all its committed levels, open for reading.

        Raises `DatasetRefused` if the header or a manifest is missing or damaged, or if the dataset has another version
        of the format. Missing manifests are not noticed if no later manifest exists.
        """
        storage = Storage(root)
        dataset = Dataset(storage, _header(storage))
        dataset._read_levels()
        return dataset

    @staticmethod
    def resume(
        root: str, require: Callable[[dict[str, Any]], None] = lambda header: None, look: Look | None = None
    ) -> Dataset:
        """An existing dataset, open for writing. Raises the errors of `open`, `require`, `verify` and `WriteLock`.

        Until all files of states and transitions are checked, only the lock file is written. If `look` is given, and
        these files together have more than `MUCH` bytes, `look` checks them.
        """
        storage = Storage(root)
        header = _header(storage)
        require(header)
        dataset = Dataset(storage, header, WriteLock(storage))
        dataset._look = look
        try:
            dataset._read_levels()
            dataset.verify()
        except BaseException:
            dataset.close()
            raise
        dataset._require_lock().take()
        dataset._make_folders()
        dataset._tidy()
        return dataset

    def close(self) -> None:
        """Lets another search write to the dataset."""
        if self._lock is not None:
            self._lock.end()
        self._lock = None

    def _read_levels(self) -> None:
        for number, name in enumerate(self._manifests(), start=1):
            content = self.storage.read(name)
            try:
                self.levels.append(manifests.read(content, number, self._last))
            except ValueError as error:
                said = " ".join(str(error).split())
                raise DatasetRefused(f"{self.root}/{name} is damaged: {said}; nothing was changed") from None
            self._last = hashlib.sha256(content).hexdigest()
            # Only the `runs` of the last manifest are used, so those of earlier manifests are not kept in memory.
            self.levels[-2:-1] = [replace(level, runs=[]) for level in self.levels[-2:-1]]

    def _manifests(self) -> list[str]:
        """The names of the manifests, from level 1 on."""
        found = [name for name in self.storage.names("manifests") if manifests.NAME.fullmatch(name)]
        wanted = [manifest_name(number) for number in range(1, len(found) + 1)]
        for name, there in zip(wanted, found, strict=True):
            if name != f"manifests/{there}":
                raise DatasetRefused(
                    f"{self.root}/{name} is missing, but later levels exist; restore it, or start over "
                    "with --checkpoint in another folder; nothing was changed"
                )
        return wanted

    # --- whether it is whole ----------------------------------------------------------------------------------------

    def verify(self) -> None:
        """Raises `DatasetRefused` if a file of states or transitions differs from its manifest.

        Merged files only repeat the files of states. If a merged file is damaged, the files of states are used instead.
        """
        damaged = self._damaged(entry for level in self.levels for entry in (*level.files, *level.transitions))
        if damaged:
            raise DatasetRefused(_missing(self.root, damaged[0]))
        if self.levels and self._damaged(self._runs()):
            states = [entry for level in self.levels for entry in level.files]
            self.levels[-1] = replace(self.levels[-1], runs=states)

    def _runs(self) -> list[dict[str, Any]]:
        return [entry for entry in self.levels[-1].runs if entry["path"].startswith("runs/")] if self.levels else []

    def _damaged(self, entries: Entries) -> list[str]:
        """The sorted paths of the files that are missing or have another size or content."""

        def damaged(entry: dict[str, Any]) -> bool:
            path, storage = entry["path"], self.storage
            return storage.size(path) != entry["bytes"] or storage.digest(path) != str(entry["sha256"])

        listed = list(entries)
        if self._look is not None and sum(entry["bytes"] for entry in listed) > MUCH:
            return sorted(self._look(self.root, [(entry["path"], str(entry["sha256"])) for entry in listed]))
        with ThreadPoolExecutor(READERS) as pool:
            found = pool.map(damaged, listed)
            return sorted(entry["path"] for entry, bad in zip(listed, found, strict=True) if bad)

    def require_files(self) -> None:
        """Raises `DatasetRefused` if a file of states or transitions is missing or has another size.

        The contents are not read.
        """
        for entry in (entry for level in self.levels for entry in (*level.files, *level.transitions)):
            if self.storage.size(entry["path"]) != entry["bytes"]:
                raise DatasetRefused(_missing(self.root, entry["path"]))

    # --- going on ---------------------------------------------------------------------------------------------------

    def _make_folders(self) -> None:
        for folder in ("manifests", "states", "runs"):
            self.storage.make(folder)

    def prepare(self, number: int) -> tuple[str, str]:
        """Returns the folder for a level's states and the folder for the steps from the level before.

        Makes the first folder. Makes the second only if the dataset keeps transitions and the level is not the first.
        """
        folders = f"states/{folder_of(number)}", f"transitions/{folder_of(number - 1)}"
        self.storage.make(folders[0])
        if number > 1 and self.header.get("transitions_kept"):
            self.storage.make(folders[1])
        return folders

    def commit(self, level: Level) -> None:
        """Writes a level's manifest, then removes the files that are no longer used.

        Raises `DatasetRefused` if another search has taken the dataset or has already written this manifest.
        """
        self._require_lock().require()
        name = manifest_name(level.number)
        if self.storage.exists(name):
            raise DatasetRefused(f"another search has written {self.root}/{name}; stopping")
        # Not indented, because a manifest that names thousands of files has megabytes.
        content = self.storage.write_json(name, manifests.written(level, self._last), indent=None)
        before = self._runs()
        self.levels.append(level)
        self._last = hashlib.sha256(content).hexdigest()
        self._tidy_level(level)
        # Removes merged files that were merged again: only earlier manifests name these files.
        used = {entry["path"] for entry in level.runs}
        self.storage.remove_files(entry["path"] for entry in before if entry["path"] not in used)

    def _require_lock(self) -> WriteLock:
        if self._lock is None:
            raise DatasetRefused(f"{self.root} is open for reading only")
        return self._lock

    def _tidy(self) -> None:
        """Removes slices, files of levels that their manifests do not name, and merged files that are not used."""
        for level in self.levels:
            self._tidy_level(level)
        if self.levels:
            self._tidy_folder("runs", self.levels[-1].runs)
        # Slices remain if a process was killed while it looked for a trace.
        self.storage.remove_files(name for name in self.storage.names("") if name.startswith(f"{SLICES}-"))

    def _tidy_level(self, level: Level) -> None:
        self._tidy_folder(f"states/{folder_of(level.number)}", level.files)
        self._tidy_folder(f"transitions/{folder_of(level.number - 1)}", level.transitions)

    def _tidy_folder(self, folder: str, wanted: Entries) -> None:
        named, left = {entry["path"] for entry in wanted}, (f"{folder}/{name}" for name in self.storage.names(folder))
        ours = (path for path in left if manifests.STATES.fullmatch(path) or manifests.TRANSITIONS.fullmatch(path))
        self.storage.remove_files(path for path in ours if path not in named)


def _require_empty(storage: Storage) -> None:
    if any(not name.startswith(".") for name in storage.names("")):
        raise FileExistsError(f"{storage.root} is not empty; choose a new folder for the dataset")


def _missing(root: str, path: str) -> str:
    return f"{root}/{path} is missing or damaged; nothing was changed; start over with --checkpoint in another folder"


def _header(storage: Storage) -> dict[str, Any]:
    root = storage.root
    if not storage.exists(HEADER):
        raise DatasetRefused(
            f"{root} does not contain a dataset (no {HEADER}); use the folder that was given to --checkpoint"
        )
    try:
        header = json.loads(storage.read(HEADER))
    except ValueError as error:
        raise DatasetRefused(f"{root}/{HEADER} is damaged: {error}") from None
    if not isinstance(header, dict) or "format" not in header or "kernel" not in header:
        raise DatasetRefused(f"{root}/{HEADER} is not the header of a dataset")
    if header["format"] != FORMAT:
        raise DatasetRefused(
            f"{root} has version {header['format']!r} of the dataset format, "
            f"but this version of isrcheck reads version {FORMAT}"
        )
    return header
