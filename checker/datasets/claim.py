"""Ensures that only one search at a time writes to a dataset.

On a local file system the file `.lock` is locked. The lock ends with its process, in whatever way the process ends. If
files cannot be locked (an object store, HDFS), the last writer has its name in `.claim.json`. Before a search commits a
level, it reads this name, and stops if the name is not its own.
"""

from __future__ import annotations

import fcntl
import json
import os
import socket
import uuid
import weakref
from contextlib import suppress
from typing import Any, Final

from isrcheck.checker.datasets.refusals import DatasetRefused
from isrcheck.checker.datasets.storage import Storage

LOCK: Final = ".lock"
CLAIM: Final = ".claim.json"


class Claim:
    """The right to write to a dataset, until `end`. Raises `DatasetRefused` if another search has this right."""

    def __init__(self, storage: Storage) -> None:
        self._storage, self._name = storage, uuid.uuid4().hex
        self.end: Any = _locked(storage) if storage.local else lambda: None

    def take(self) -> None:
        """Marks the dataset as taken."""
        mine = {"search": self._name, "host": socket.gethostname(), "process": os.getpid()}
        self._storage.write_json(CLAIM, mine)

    def require(self) -> None:
        """Raises `DatasetRefused` if another search has taken the dataset since then."""
        found = _claimed(self._storage)
        if found.get("search") != self._name:
            raise DatasetRefused(f"another search{_who(found)} has taken {self._storage.root}; this one stops")


def _locked(storage: Storage) -> Any:
    """Locks the dataset. Returns a function that releases the lock. The end of `storage` releases the lock as well."""
    storage.make("")
    file = os.open(storage.at(LOCK), os.O_RDWR | os.O_CREAT, 0o666)
    try:
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        os.close(file)
        raise DatasetRefused(
            f"another search{_who(_claimed(storage))} writes to {storage.root}; wait for its end, then --resume it"
        ) from None
    except OSError:
        # A file system without locks has only the claim file.
        os.close(file)
        return lambda: None
    return weakref.finalize(storage, os.close, file)


def _claimed(storage: Storage) -> dict[str, Any]:
    with suppress(OSError, ValueError):
        found = json.loads(storage.read(CLAIM))
        if isinstance(found, dict):
            return found
    return {}


def _who(claim: dict[str, Any]) -> str:
    return f" ({claim.get('host')}, process {claim.get('process')})" if claim else ""
