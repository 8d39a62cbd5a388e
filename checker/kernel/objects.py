"""Compiled modules that are kept between processes, in the user's own cache folder.

Code from that folder is run, so it must come from nobody else: the folder and each file belong to the user, nobody else
may write there, and a file must be as it was written. Any file that fails these checks is compiled again.

ISRCHECK_CACHE names another folder; if it is empty, nothing is kept.
"""

from __future__ import annotations

import hashlib
import os
import stat
import tempfile
from collections.abc import Callable, Iterator
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Final

VARIABLE: Final = "ISRCHECK_CACHE"
LARGEST: Final = 512 << 20
"""The bytes that are kept. The files that were not used for longest are removed first."""
HASH: Final = hashlib.sha256
SIZE: Final = HASH().digest_size


def objects() -> Folder | None:
    """The folder of objects, or None if they are not kept."""
    named = os.environ.get(VARIABLE)
    if named == "" or not hasattr(os, "getuid"):
        return None
    if named is not None:
        return Folder(Path(named))
    from platformdirs import user_cache_path

    return Folder(user_cache_path("isrcheck") / "objects")


@dataclass(frozen=True)
class Folder:
    """Objects as files. A file is named by the hash of its key, and begins with the hash of key and content.

    Several processes may use the folder at once: a file appears whole or not at all. Nothing here raises an OSError:
    what cannot be kept is not kept.
    """

    path: Path
    largest: int = LARGEST

    def get(self, key: str) -> bytes | None:
        """The object of a key, or None if there is none that can be trusted."""
        path = self._file(key)
        try:
            if not _is_own(os.lstat(self.path), stat.S_ISDIR):
                return None
            with open(os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_CLOEXEC), "rb") as file:
                if not _is_own(os.fstat(file.fileno()), stat.S_ISREG):
                    return None
                content = file.read()
            os.utime(path)
        except OSError:
            return None
        if content[:SIZE] != _seal(key, content[SIZE:]):
            with suppress(OSError):
                path.unlink()
            return None
        return content[SIZE:]

    def put(self, key: str, data: bytes) -> None:
        """Keeps the object of a key."""
        with suppress(OSError):
            self.path.mkdir(mode=0o700, parents=True, exist_ok=True)
            if not _is_own(os.lstat(self.path), stat.S_ISDIR):
                return
            handle, name = tempfile.mkstemp(dir=self.path, prefix=".", suffix=".part")
            try:
                with open(handle, "wb") as file:
                    file.write(_seal(key, data) + data)
                os.replace(name, self._file(key))
            except BaseException:
                os.unlink(name)
                raise
            self._shrink()

    def files(self) -> list[tuple[Path, os.stat_result]]:
        """The kept objects, the least recently used first."""
        return sorted(self._files(), key=lambda pair: (pair[1].st_mtime_ns, pair[0].name))

    def clear(self) -> int:
        """Removes all objects. Returns how many files there were."""
        found = self.files()
        for path, _ in found:
            path.unlink(missing_ok=True)
        return len(found)

    def _file(self, key: str) -> Path:
        return self.path / HASH(key.encode()).hexdigest()

    def _files(self) -> Iterator[tuple[Path, os.stat_result]]:
        if not self.path.is_dir():
            return
        for path in self.path.iterdir():
            with suppress(FileNotFoundError):  # another process may remove it at the same time
                if not stat.S_ISDIR((about := path.lstat()).st_mode):
                    yield path, about

    def _shrink(self) -> None:
        found = self.files()
        total = sum(about.st_size for _, about in found)
        for path, about in found:
            if total <= self.largest:
                return
            path.unlink(missing_ok=True)
            total -= about.st_size


def _seal(key: str, data: bytes) -> bytes:
    return HASH(HASH(key.encode()).digest() + data).digest()


def is_own_folder(path: Path) -> bool:
    """Whether a folder exists, belongs to the user, and nobody else may write to it."""
    try:
        return _is_own(os.lstat(path), stat.S_ISDIR)
    except OSError:
        return False


def _is_own(about: os.stat_result, kind: Callable[[int], bool]) -> bool:
    """Whether a path is of the wanted kind, belongs to the user, and nobody else may write to it."""
    return kind(about.st_mode) and about.st_uid == os.getuid() and not about.st_mode & 0o022
