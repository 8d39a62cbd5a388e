"""A checkpoint is a folder with the whole levels of a search. Another search can continue after these levels.

A level is *whole* when all its states have been found. `manifest.json` has the question of the search (`question_of`)
and names pairs of files, one pair for each write. The pair of write N has the levels that were found between write
N - 1 and write N. `N.states` has the states of these levels, level by level, and `N.levels.json` has the data of each
level. A state takes `row_bytes` bytes (see `Layout`): its packed words, each with the least significant byte first,
without the bytes at the end of the last word that are always 0. The manifest has the SHA-256 of each file that it
names, and of its own other fields. A file of states or levels belongs to the checkpoint only if the manifest names the
file. Each write first completes a pair of files, and then replaces the manifest. A file that the manifest names is
never changed.

Only one search at a time uses a folder. It holds a lock on the file `.lock`, which ends with its process, even if the
process is killed.
"""

from __future__ import annotations

import fcntl
import hashlib
import json
import os
import re
import signal
import socket
import threading
import time
import uuid
import weakref
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any, Final

import numpy as np

from isrcheck.checker.engines.explicit.levels import NativeLevels
from isrcheck.checker.kernel.compiled import Kernel
from isrcheck.checker.kernel.exchanges import Classes
from isrcheck.checker.kernel.layout import Words
from isrcheck.checker.results.exploration import Checkpointing
from isrcheck.checker.results.result import CheckpointRefused
from isrcheck.model.semantics.transition_system import TransitionSystem

FORMAT: Final = 2
"""The version of the format. Raise this number with each change of the layout of the files, of the packed rows of
states, or of the way that a search uses the files."""
MANIFEST: Final = "manifest.json"
LOCK: Final = ".lock"
TEMPORARY: Final = ".tmp"
PART: Final = 1 << 20
Known = dict[str, Any]
"""The data of a level (`Level.to_json`). `distinct` is the number of its states."""


def question_of(
    system: TransitionSystem,
    kernel: Kernel,
    keep_going: bool,
    deadlock: bool,
    classes: Classes = (),
) -> dict[str, Any]:
    """The *question* of a search, as JSON data: what the search checks, with which options, and with which kernel.

    A search can continue only from a checkpoint of the same question. Each of `classes` lists members, such as brokers,
    that are interchangeable.
    """
    return {
        "model": system.model,
        "settings": dict(system.settings),
        "invariants": list(kernel.verdicts.invariants),
        "options": {
            "continue": keep_going,
            "deadlock": deadlock,
            "symmetry": [[list(member) for member in c] for c in classes],
            **({"liveness": sorted({q.name for q in system.questions})} if system.questions else {}),
        },
        "goals": list(kernel.verdicts.goals),
        "bounds": list(kernel.verdicts.bounds),
        "actions": list(system.actions),
        "row_bytes": kernel.layout.row_bytes,
        "kernel": kernel.identity,
    }


class Checkpoint:
    """A folder with the levels of one search. `due` says whether it is time to write again."""

    def __init__(self, checkpointing: Checkpointing, question: dict[str, Any]) -> None:
        self.folder, self._every, self._question = Path(checkpointing.folder), checkpointing.every, question
        self._parts: list[dict[str, Any]] = []
        self._written, self._row_bytes = 0, int(question["row_bytes"])
        self.resumed = checkpointing.resume
        self.end: Callable[[], object] = lambda: None
        """Lets other searches use the folder."""
        if self.resumed:
            self._require_begun()
            self._lock()
            try:
                self._parts = self._manifest()
            except BaseException:
                self.end()
                raise
        else:
            self._begin()
        self._last = time.monotonic()
        self.unwritten: str | None = None
        """Why the last write failed, or None if it did not."""

    @property
    def size(self) -> int:
        """The bytes of all states in the folder."""
        return sum(part["states"]["bytes"] for part in self._parts)

    @property
    def due(self) -> bool:
        first = self._written == 0 and self.unwritten is None
        return first or time.monotonic() - self._last >= self._every

    # --- writing ----------------------------------------------------------------------------------------------------

    def _begin(self) -> None:
        self._require_new()
        self.folder.mkdir(parents=True, exist_ok=True)
        if foreign := sorted(p.name for p in self.folder.iterdir() if not _ours(p.name)):
            raise CheckpointRefused(f"{self.folder} contains other files ({foreign[0]}); choose a new folder")
        self._lock()
        self._require_new()

    def _require_new(self) -> None:
        if (self.folder / MANIFEST).exists():
            raise CheckpointRefused(
                f"{self.folder} already has a checkpoint; continue with --resume, or choose another folder"
            )

    def _lock(self) -> None:
        """Locks the folder, and removes what a killed search has not finished. Refuses a folder in use.

        Does nothing if no lock is possible: in a folder that cannot be written, or on a file system without locks.
        """
        with suppress(OSError):
            file = os.open(self.folder / LOCK, os.O_RDWR | os.O_CREAT, 0o666)
            self.end = weakref.finalize(self, os.close, file)
            try:
                fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError:
                holder = os.pread(file, 200, 0).decode("utf-8", "replace").strip()
                self.end()
                who = f" ({holder})" if holder.isprintable() and holder else ""
                what = f"another search{who} uses {self.folder}; wait until it ends, then continue with --resume"
                raise CheckpointRefused(what) from None
            os.ftruncate(file, 0)
            os.pwrite(file, f"{socket.gethostname()}, process {os.getpid()}\n".encode(), 0)
            for path in self.folder.glob(f"*{TEMPORARY}"):
                if _ours(path.name):
                    path.unlink()

    def try_write(self, levels: NativeLevels, known: list[Known]) -> None:
        """Writes like `write`. If the disk is full, or fails in another way, notes this in `unwritten`."""
        try:
            self.write(levels, known)
        except OSError as error:
            self._last = time.monotonic()
            self.unwritten = f"cannot write the checkpoint {self.folder}: {error.strerror or error} (--checkpoint)"
        else:
            self.unwritten = None

    def write(self, levels: NativeLevels, known: list[Known]) -> None:
        """Writes the levels that are not in the folder yet, if there are any.

        `known` has the data of all whole levels.
        """
        new = known[self._written :]
        if not new:
            return
        name = f"{len(self._parts) + 1:06}"
        numbers = [k for k, level in enumerate(new, self._written + 1) if level["distinct"]]
        rows = (self._rows(states) for k in numbers for states in levels.blocks(k))
        part = {
            "states": self._put(f"{name}.states", rows),
            "levels": self._put(f"{name}.levels.json", [_json(new)]),
        }
        parts = [*self._parts, part]
        manifest = {"format": FORMAT, "question": self._question, "parts": parts}
        self._put(MANIFEST, [_json(manifest | {"sha256": _digest(manifest)})])
        self._parts, self._written = parts, len(known)
        self._last = time.monotonic()

    def _put(self, name: str, content: Iterable[Any]) -> dict[str, Any]:
        """Writes a file, which gets its name only when it is complete. Returns its name, size and digest."""
        digest, size, temporary = hashlib.sha256(), 0, self.folder / f"{name}.{uuid.uuid4().hex}{TEMPORARY}"
        try:
            with temporary.open("wb") as stream:
                for piece in content:
                    digest.update(piece)
                    size += stream.write(piece)
                stream.flush()
                os.fsync(stream.fileno())
            os.replace(temporary, self.folder / name)
        except BaseException:
            with suppress(OSError):  # the room may be needed
                temporary.unlink()
            raise
        folder = os.open(self.folder, os.O_RDONLY)
        try:
            os.fsync(folder)
        finally:
            os.close(folder)
        return {"name": name, "bytes": size, "sha256": digest.hexdigest()}

    def _rows(self, states: Words) -> bytes:
        packed = np.ascontiguousarray(states, dtype="<u8").view(np.uint8).reshape(len(states), -1)
        return packed[:, : self._row_bytes].tobytes()

    # --- reading ----------------------------------------------------------------------------------------------------

    def read(self, words: int) -> Iterator[tuple[Known, Iterator[Words]]]:
        """Yields each level: its data and its states in blocks. Take all blocks before you ask for the next level.

        Raises `CheckpointRefused` for a damaged file, but may notice the damage only at the end of the file.
        """
        for part in self._parts:
            levels = self._levels(part["levels"])
            sizes = [int(level["distinct"]) * self._row_bytes for level in levels]
            if min(sizes) < 0 or sum(sizes) != part["states"]["bytes"]:
                raise self._damaged(part["states"]["name"])
            largest = PART // self._row_bytes * self._row_bytes
            cuts = [[min(largest, size - at) for at in range(0, size, largest)] for size in sizes]
            pieces = self._pieces(part["states"], [size for some in cuts for size in some])
            for level, some in zip(levels, cuts, strict=True):
                yield level, (self._states(next(pieces), words) for _ in some)
                self._written += 1
            for _ in pieces:  # the digest is compared after the last piece
                raise self._damaged(part["states"]["name"])

    def _states(self, rows: bytes, words: int) -> Words:
        packed = np.frombuffer(rows, dtype=np.uint8).reshape(-1, self._row_bytes)
        states = np.zeros((len(packed), 8 * words), dtype=np.uint8)
        states[:, : self._row_bytes] = packed
        return states.view("<u8").astype(np.uint64)

    def _levels(self, file: dict[str, Any]) -> list[Known]:
        content = b"".join(self._pieces(file, [file["bytes"]]))
        new: list[Known] = json.loads(content)
        if not new:
            raise self._damaged(file["name"])
        return new

    def _pieces(self, file: dict[str, Any], sizes: list[int]) -> Iterator[bytes]:
        """Yields the content of a file in pieces of these sizes.

        Refuses a file that is missing or damaged. A wrong digest is noticed only after the last piece.
        """
        digest = hashlib.sha256()
        try:
            with (self.folder / file["name"]).open("rb") as stream:
                if os.fstat(stream.fileno()).st_size != file["bytes"]:
                    raise self._damaged(file["name"])
                for size in sizes:
                    piece = stream.read(size)
                    if len(piece) != size:
                        raise self._damaged(file["name"])
                    digest.update(piece)
                    yield piece
        except FileNotFoundError:
            raise self._damaged(file["name"], "is missing") from None
        if digest.hexdigest() != file["sha256"]:
            raise self._damaged(file["name"])

    def _require_begun(self) -> None:
        if not (self.folder / MANIFEST).exists():
            raise CheckpointRefused(f"{self.folder} has no checkpoint; start with --checkpoint")

    def _manifest(self) -> list[dict[str, Any]]:
        """The pairs of files that the manifest names.

        Refuses a checkpoint that is damaged, has another format, or belongs to another question.
        """
        try:
            found = json.loads((self.folder / MANIFEST).read_bytes())
            whole = found.pop("sha256") == _digest(found)
        except (ValueError, KeyError, AttributeError, TypeError, RecursionError):
            whole = False
        if not whole:
            raise self._damaged(MANIFEST)
        if found.get("format") != FORMAT:
            raise CheckpointRefused(
                f"{self.folder} has format {found.get('format')}, "
                f"but this version of isrcheck reads format {FORMAT}; start over"
            )
        self._require_same(found["question"])
        parts: list[dict[str, Any]] = found["parts"]
        return parts

    def _require_same(self, found: dict[str, Any]) -> None:
        # `wanted` is the question as JSON gives it back, with lists instead of tuples.
        wanted = json.loads(_json(self._question))
        for key in ("model", "settings", "invariants", "options"):
            if found.get(key) != wanted[key]:
                raise CheckpointRefused(
                    f"{self.folder} was made for {key} {_words(found.get(key))}, not "
                    f"{_words(wanted[key])}; use the same options, or start over"
                )
        if found != wanted:
            raise CheckpointRefused(
                f"{self.folder} was written with another kernel ({str(found.get('kernel'))[:12]}, now "
                f"{wanted['kernel'][:12]}): the model or isrcheck has changed; start over"
            )

    def _damaged(self, name: str, how: str = "is damaged") -> CheckpointRefused:
        return CheckpointRefused(f"{self.folder / name} {how}; start over with --checkpoint and another folder")


@contextmanager
def termination_interrupts(wanted: bool) -> Iterator[None]:
    """If `wanted`, lets SIGTERM end a search as Ctrl-C does, so the findings are kept.

    In a thread that is not the main thread, and if the program handles SIGTERM itself, this function does nothing.
    """
    handled = threading.current_thread() is not threading.main_thread() or signal.getsignal(signal.SIGTERM) is not (
        signal.SIG_DFL
    )
    if not wanted or handled:
        yield
        return
    before = signal.signal(signal.SIGTERM, signal.default_int_handler)
    try:
        yield
    finally:
        signal.signal(signal.SIGTERM, before)


def _json(data: Any) -> bytes:
    return (json.dumps(data, sort_keys=True) + "\n").encode()


def _digest(data: Any) -> str:
    return hashlib.sha256(_json(data)).hexdigest()


def _ours(name: str) -> bool:
    """Whether a file may have been left behind by a process that was killed before it wrote its manifest."""
    written = name
    if name.endswith(TEMPORARY):
        written = name.removesuffix(TEMPORARY)
        stem, _, ending = written.rpartition(".")
        written = stem if re.fullmatch("[0-9a-f]{32}", ending) else written
    return written.endswith((".states", ".levels.json")) or name == LOCK or (written == MANIFEST and name != MANIFEST)


def _words(value: Any) -> str:
    if isinstance(value, dict):
        return ", ".join(f"{name}={x}" for name, x in value.items()) or "none"
    return ", ".join(map(str, value)) or "none" if isinstance(value, list) else str(value)
