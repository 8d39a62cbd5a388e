"""Ensures that only one search at a time writes to a dataset.

On a local file system the file `.lock` is locked. The lock ends when its process ends, even if the process is killed.
Some file systems have no locks, for example HDFS and object stores. Therefore the file `.claim.json` also names the
search that was the last to take the dataset. Before a search commits a level, it reads this name. The search stops if
it does not find its own name.
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
    """The right to write to a dataset, until `end()` is called.

    Raises `DatasetRefused` if another search holds the lock. Without locks, only `require` notices another search.
    """

    def __init__(self, storage: Storage) -> None:
        self._storage, self._name = storage, uuid.uuid4().hex
        self.end: Any = _locked(storage) if storage.local else lambda: None

    def take(self) -> None:
        """Records in the dataset that this search is the last writer."""
        mine = {"search": self._name, "host": socket.gethostname(), "process": os.getpid()}
        self._storage.write_json(CLAIM, mine)

    def require(self) -> None:
        """Raises `DatasetRefused` if `.claim.json` does not name this search, or cannot be read.

        If the file names another search, that search has taken the dataset.
        """
        found = _claimed(self._storage)
        if found.get("search") != self._name:
            raise DatasetRefused(f"another search{_who(found)} has taken {self._storage.root}; this one stops")


def _locked(storage: Storage) -> Any:
    """Locks the dataset, if the file system has locks. Returns a function that releases the lock.

    The lock is also released when `storage` is freed.
    """
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
        # On a file system without locks, only the claim file protects the dataset.
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
