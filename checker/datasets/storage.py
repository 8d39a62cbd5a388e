"""Folders and small files of a dataset, on file systems that pyarrow knows, such as local paths, `hdfs:`, `s3:`.

Ensures that only one search at a time writes to a dataset.

On a local file system the file `.lock` is locked. The lock ends when its process ends, even if the process is killed.
Some file systems have no locks, for example HDFS and object stores. Therefore the file `.lock.json` also names the
search that was the last to take the dataset. Before a search commits a level, it reads this name. The search stops if
it does not find its own name.
"""

from __future__ import annotations

import fcntl
import hashlib
import json
import os
import posixpath
import socket
import uuid
import weakref
from collections.abc import Iterable
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from typing import Any, Final

import pyarrow as pa
import pyarrow.fs as pafs

from isrcheck.checker.datasets.places import is_uri, located
from isrcheck.checker.results.errors import DatasetRefused, Unreachable

OBJECT_STORES: Final = ("s3", "gcs", "abfs")
"""pyarrow's names for object stores. An object store has no folders, and shows a file only when it is complete."""
ALIASES: Final = {"s3a": "s3", "s3n": "s3"}
"""Hadoop's names for schemes that pyarrow knows by another name."""
KNOWN: Final = ("abfs", "abfss", "file", "gcs", "gs", "hdfs", "s3", "viewfs")
AT_ONCE: Final = 32
"""The greatest number of files that are removed at the same time."""
ELSEWHERE: Final = {
    "dbfs": "use the path /dbfs/..., which the driver and the executors see as a folder",
    "wasb": "use abfs://",
    "wasbs": "use abfss://",
}


class Storage:
    """The folder of a dataset. Names are relative to this folder. Errors are of type OSError."""

    def __init__(self, root: str) -> None:
        self.root = root_of(root)
        try:
            self.filesystem, self.place = located(self.root)
        except (pa.ArrowException, OSError) as error:
            raise Unreachable(_words(self.root, error)) from None

    @property
    def in_object_store(self) -> bool:
        return self.filesystem.type_name in OBJECT_STORES

    @property
    def local(self) -> bool:
        return bool(self.filesystem.type_name == "local")

    def at(self, name: str) -> str:
        return f"{self.place}/{name}" if name else self.place

    def names(self, folder: str) -> list[str]:
        """The names in a folder, in order; none if the folder does not exist."""
        selector = pafs.FileSelector(self.at(folder), allow_not_found=True)
        return sorted(info.base_name for info in self.filesystem.get_file_info(selector))

    def exists(self, name: str) -> bool:
        found: bool = self.filesystem.get_file_info(self.at(name)).type != pafs.FileType.NotFound
        return found

    def size(self, name: str) -> int | None:
        """The size of a file in bytes; None if there is no such file."""
        size: int | None = self.filesystem.get_file_info(self.at(name)).size
        return size

    def make(self, folder: str) -> None:
        """Makes a folder and its missing parent folders, if the file system has folders."""
        if not self.in_object_store:
            self.filesystem.create_dir(self.at(folder), recursive=True)

    def read(self, name: str) -> bytes:
        with self.filesystem.open_input_stream(self.at(name)) as stream:
            content: bytes = stream.read()
        return content

    def digest(self, name: str) -> str:
        """The SHA-256 of a file."""
        digest = hashlib.sha256()
        with self.filesystem.open_input_stream(self.at(name)) as stream:
            while part := stream.read(1 << 24):
                digest.update(part)
        return digest.hexdigest()

    def write(self, name: str, content: bytes) -> None:
        """Writes a file. It appears under its name only when it is complete."""
        folder, base = posixpath.split(name)
        written = name if self.in_object_store else posixpath.join(folder, f".{base}-{uuid.uuid4().hex}.tmp")
        with self.filesystem.open_output_stream(self.at(written)) as stream:
            stream.write(content)
        if written != name:
            self.filesystem.move(self.at(written), self.at(name))

    def write_json(self, name: str, data: Any, indent: int | None = 1) -> bytes:
        content = (json.dumps(data, indent=indent) + "\n").encode()
        self.write(name, content)
        return content

    def write_table(self, name: str, table: Any) -> None:
        import pyarrow.parquet as pq

        sink = pa.BufferOutputStream()
        pq.write_table(table, sink)
        self.write(name, sink.getvalue().to_pybytes())

    def remove(self, name: str) -> None:
        """Removes a file, or a folder with everything in it, if it exists."""
        kind = self.filesystem.get_file_info(self.at(name)).type
        if kind == pafs.FileType.Directory:
            self.filesystem.delete_dir(self.at(name))
        elif kind != pafs.FileType.NotFound:
            self.filesystem.delete_file(self.at(name))

    def remove_files(self, names: Iterable[str]) -> None:
        """Removes the files that exist, many at the same time.

        In an object store, it would take long to remove thousands of files one after the other.
        """
        with ThreadPoolExecutor(AT_ONCE) as pool:
            list(pool.map(self.remove, names))


def root_of(path: str) -> str:
    """A path in the form that driver and executors both understand. Raises `Unreachable` for an unknown scheme."""
    if not is_uri(path):
        return posixpath.abspath(path)
    scheme, rest = path.split(":", 1)
    scheme = ALIASES.get(scheme.lower(), scheme.lower())
    if scheme not in KNOWN:
        remedy = ELSEWHERE.get(scheme, f"the schemes are {', '.join(KNOWN)}; or use a folder that all machines share")
        raise Unreachable(f"cannot open {path}: pyarrow does not support {scheme}:// paths; {remedy}")
    place, mark, query = rest.partition("?")
    return f"{scheme}:{place.rstrip('/')}{mark}{query}"


def _words(root: str, error: Exception) -> str:
    """The message that says why a file system cannot be opened."""
    said = " ".join(str(error).split())
    if "libjvm" in said or "libhdfs" in said:
        return (
            f"cannot open {root}: libhdfs or Java's libjvm was not found; set ARROW_LIBHDFS_DIR (or "
            "HADOOP_HOME), JAVA_HOME and CLASSPATH (hadoop classpath --glob) for driver and executors"
        )
    return f"cannot open {root}: {said[:300]}"


LOCK: Final = ".lock"
CLAIM: Final = ".claim.json"


class WriteLock:
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
        """Raises `DatasetRefused` if `.lock.json` does not name this search, or cannot be read.

        If the file names another search, that search has taken the dataset.
        """
        found = _held_by(self._storage)
        if found.get("search") != self._name:
            raise DatasetRefused(f"another search{_who(found)} has taken over {self._storage.root}; stopping")


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
            f"another search{_who(_held_by(storage))} is writing to {storage.root}; wait until it ends, "
            "then use --resume"
        ) from None
    except OSError:
        # On a file system without locks, only the claim file protects the dataset.
        os.close(file)
        return lambda: None
    return weakref.finalize(storage, os.close, file)


def _held_by(storage: Storage) -> dict[str, Any]:
    with suppress(OSError, ValueError):
        found = json.loads(storage.read(CLAIM))
        if isinstance(found, dict):
            return found
    return {}


def _who(lock: dict[str, Any]) -> str:
    return f" ({lock.get('host')}, process {lock.get('process')})" if lock else ""
