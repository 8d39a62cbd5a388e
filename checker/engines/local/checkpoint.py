"""Checkpoints: the whole levels of a search in a folder, from which a search goes on.

`manifest.json` says what was asked and names pairs of files, one for each time that something was written:
`N.states` has the rows of the levels found since the time before, partition by partition, as they lie in the store
(least byte of each word first); `N.levels.json` says of each of these levels what is known and where its rows end.
The manifest has the SHA-256 of every file, and its own. Files are never changed; a new manifest takes the place of the
old one at once, and only then do new files count.
"""

from __future__ import annotations

import hashlib
import json
import os
import signal
import threading
import time
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Final

import numpy as np

from isrcheck.checker.engines.local.store import Store
from isrcheck.checker.exploration import Keeping
from isrcheck.checker.kernel.compile import Integers, Kernel
from isrcheck.checker.results import CheckpointRefused
from isrcheck.model.language.system import TransitionSystem

FORMAT: Final = 1
"""Goes up with any change of the files, of the rows, of partitions, or of what a search does with them."""
MANIFEST: Final = "manifest.json"
PART: Final = 1 << 20
Known = dict[str, Any]
"""What is known of a level, as JSON data; `ends` has the rows of each partition after it."""


def question_of(
    system: TransitionSystem,
    kernel: Kernel,
    keep_going: bool,
    deadlock: bool,
    compact: bool,
    classes: Sequence[Sequence[int]] = (),
) -> dict[str, Any]:
    """What a checkpoint is bound to, as JSON data; `classes` are the brokers that are exchanged under symmetry."""
    return {
        "model": system.model,
        "settings": dict(system.settings),
        "invariants": list(kernel.verdicts.invariants),
        "options": {
            "compact": compact,
            "continue": keep_going,
            "deadlock": deadlock,
            "symmetry": list(map(list, classes)),
            **({"liveness": sorted({q.name for q in system.questions})} if system.questions else {}),
        },
        "goals": list(kernel.verdicts.goals),
        "bounds": list(kernel.verdicts.bounds),
        "actions": list(system.actions),
        "row_bytes": kernel.layout.row_bytes,
        "kernel": kernel.identity,
    }


class Checkpoint:
    """A folder with levels of one search. `due` says whether it is time to write again."""

    def __init__(self, keeping: Keeping, question: dict[str, Any]) -> None:
        self.folder, self._every, self._question = Path(keeping.folder), keeping.every, question
        self._parts: list[dict[str, Any]] = []
        self._written, self._ends = 0, np.zeros(0, dtype=np.int64)
        self.resumed = keeping.resume
        if self.resumed:
            self._parts = self._manifest()
        else:
            self._begin()
        self._last = time.monotonic()

    @property
    def size(self) -> int:
        """Bytes of all rows."""
        return sum(part["states"]["bytes"] for part in self._parts)

    @property
    def due(self) -> bool:
        return self._written == 0 or time.monotonic() - self._last >= self._every

    # --- writing ----------------------------------------------------------------------------------------------------

    def _begin(self) -> None:
        if (self.folder / MANIFEST).exists():
            raise CheckpointRefused(f"{self.folder} has a checkpoint; go on with --resume, or name another folder")
        self.folder.mkdir(parents=True, exist_ok=True)
        if foreign := sorted(p.name for p in self.folder.iterdir() if not _ours(p.name)):
            raise CheckpointRefused(f"{self.folder} has other files ({foreign[0]}); name a new folder")

    def write(self, store: Store, levels: list[Known]) -> None:
        """Keep the levels that were not written before; nothing where there is none."""
        new = levels[self._written :]
        if not new:
            return
        ends = np.array(new[-1]["ends"], dtype=np.int64)
        begin = self._ends if len(self._ends) else np.zeros_like(ends)
        name = f"{len(self._parts) + 1:06}"
        part = {
            "states": self._put(f"{name}.states", store.packed(begin, ends)),
            "levels": self._put(f"{name}.levels.json", [_json(new)]),
        }
        parts = [*self._parts, part]
        manifest = {"format": FORMAT, "question": self._question, "parts": parts}
        self._put(MANIFEST, [_json(manifest | {"sha256": _digest(manifest)})])
        self._parts, self._written, self._ends = parts, len(levels), ends
        self._last = time.monotonic()

    def _put(self, name: str, content: Iterable[Any]) -> dict[str, Any]:
        """Puts a whole file in place, at once and for good; its name, size and digest."""
        digest, size, temporary = hashlib.sha256(), 0, self.folder / f"{name}.tmp"
        with temporary.open("wb") as stream:
            for piece in content:
                digest.update(piece)
                size += stream.write(piece)
            stream.flush()
            os.fsync(stream.fileno())
        os.replace(temporary, self.folder / name)
        folder = os.open(self.folder, os.O_RDONLY)
        try:
            os.fsync(folder)
        finally:
            os.close(folder)
        return {"name": name, "bytes": size, "sha256": digest.hexdigest()}

    # --- reading ----------------------------------------------------------------------------------------------------

    def read(self, store: Store) -> list[Known]:
        """Puts all rows into an empty store; what is known of the levels. Nothing of a damaged file is believed."""
        levels: list[Known] = []
        begin = np.zeros_like(store.counts)
        for part in self._parts:
            new = self._levels(part["levels"], len(begin))
            ends = np.array(new[-1]["ends"], dtype=np.int64)
            self._rows(part["states"], store, begin, ends)
            levels, begin = levels + new, ends
        store.restored()
        self._written, self._ends = len(levels), begin
        return levels

    def _levels(self, file: dict[str, Any], partitions: int) -> list[Known]:
        content = b"".join(self._pieces(file, [file["bytes"]]))
        new: list[Known] = json.loads(content)
        if not new or any(len(level["ends"]) != partitions for level in new):
            raise self._damaged(file["name"])
        return new

    def _rows(self, file: dict[str, Any], store: Store, begin: Integers, ends: Integers) -> None:
        sizes = [(p, int(n) * store.row_bytes) for p, n in enumerate(ends - begin)]
        if any(size < 0 for _, size in sizes) or sum(size for _, size in sizes) != file["bytes"]:
            raise self._damaged(file["name"])
        largest = PART // store.row_bytes * store.row_bytes
        cuts = [(p, min(largest, size - at)) for p, size in sizes for at in range(0, size, largest)]
        for (p, _), piece in zip(cuts, self._pieces(file, [size for _, size in cuts]), strict=True):
            store.append(p, piece)

    def _pieces(self, file: dict[str, Any], sizes: list[int]) -> Iterable[bytes]:
        """A file in pieces of these sizes; refused in the end where its digest is another."""
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

    def _manifest(self) -> list[dict[str, Any]]:
        """The files of a checkpoint of the same question."""
        path = self.folder / MANIFEST
        if not path.exists():
            raise CheckpointRefused(f"{self.folder} has no checkpoint; begin one with --checkpoint")
        try:
            found = json.loads(path.read_bytes())
            whole = found.pop("sha256") == _digest(found)
        except (ValueError, KeyError, AttributeError, TypeError, RecursionError):
            whole = False
        if not whole:
            raise self._damaged(MANIFEST)
        if found.get("format") != FORMAT:
            raise CheckpointRefused(
                f"{self.folder} is of format {found.get('format')}, and this isrcheck reads {FORMAT}; begin anew"
            )
        self._require_same(found["question"])
        parts: list[dict[str, Any]] = found["parts"]
        return parts

    def _require_same(self, found: dict[str, Any]) -> None:
        # As it is read back: lists for tuples.
        wanted = json.loads(_json(self._question))
        for key in ("model", "settings", "invariants", "options"):
            if found.get(key) != wanted[key]:
                raise CheckpointRefused(
                    f"{self.folder} is of {key} {_words(found.get(key))}, not {_words(wanted[key])}; "
                    "ask the same, or begin anew"
                )
        if found != wanted:
            raise CheckpointRefused(
                f"{self.folder} was written with another kernel ({str(found.get('kernel'))[:12]}, now "
                f"{wanted['kernel'][:12]}): the model has changed, or isrcheck has; begin anew"
            )

    def _damaged(self, name: str, how: str = "is damaged") -> CheckpointRefused:
        return CheckpointRefused(f"{self.folder / name} {how}; begin anew with --checkpoint and another folder")


@contextmanager
def termination_interrupts(wanted: bool) -> Iterator[None]:
    """SIGTERM ends a search as Ctrl-C does: what was found is kept. Only the main thread can have it so."""
    if not wanted or threading.current_thread() is not threading.main_thread():
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
    """Whether a file may be what a killed process left that came to no manifest."""
    return name.removesuffix(".tmp").endswith((".states", ".levels.json")) or name == f"{MANIFEST}.tmp"


def _words(value: Any) -> str:
    if isinstance(value, dict):
        return ", ".join(f"{name}={x}" for name, x in value.items()) or "none"
    return ", ".join(map(str, value)) or "none" if isinstance(value, list) else str(value)
