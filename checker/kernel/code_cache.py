"""Compiled code that is kept between processes, in the user's own cache folder.

What searches found out about large spaces is kept in the same way (`isrcheck.checker.engines.explicit.search_cache`).

Code from this folder is run, so nobody else may have written it. The folder and each file must belong to the user, and
nobody else may write to them. A file must also be unchanged since it was written. If a file or the folder fails a
check, the code is compiled again.

The environment variable ISRCHECK_CACHE can name another folder. If its value is empty, nothing is kept. On a system
without user ids (Windows) nothing is kept either, because the owner of a file cannot be checked.
"""

from __future__ import annotations

import hashlib
import os
import re
import stat
import tempfile
from collections.abc import Callable, Iterator
from contextlib import suppress
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path
from typing import Final

VARIABLE: Final = "ISRCHECK_CACHE"
LARGEST: Final = 512 << 20
"""The most bytes that are kept. The least recently used files are removed first."""
HASH: Final = hashlib.sha256
SIZE: Final = HASH().digest_size
NAMES: Final = re.compile(rf"[0-9a-f]{{{2 * SIZE}}}|\.[a-z0-9_]{{8}}\.part")
"""Matches the names of files with objects, and of temporary files. An object is first written to a temporary file."""


def objects() -> Folder | None:
    """The folder of compiled objects, or None if objects are not kept."""
    named = os.environ.get(VARIABLE)
    if named == "" or not hasattr(os, "getuid"):
        return None
    if named is not None:
        return Folder(Path(named))
    from platformdirs import user_cache_path

    return Folder(user_cache_path("isrcheck") / "objects")


def version_of(package: str) -> str:
    """A text that changes when another version of a package is installed. Does not import the package."""
    found = find_spec(package)
    if found is None or found.origin is None:
        return package
    file = Path(found.origin)
    installed = sorted(path.name for path in file.parents[1].glob(f"{package}-*.dist-info"))
    return f"{package} {installed} {file.stat().st_mtime_ns} {file.stat().st_size}"


@dataclass(frozen=True)
class Folder:
    """A folder with a file for each object. The name of the file is the hash of the object's key.

    The file begins with a hash over the key and the object. The hash shows whether the file was changed. Several
    processes may use the folder at the same time, because a file appears whole or not at all. `get`, `put` and `remove`
    raise no OSError. An object that cannot be stored is not kept, and an object that cannot be read counts as missing.
    After each `put`, the least recently used files are removed until all files together have at most `largest` bytes.
    Files whose names do not match `NAMES` are neither counted nor removed.
    """

    path: Path
    largest: int = LARGEST

    def get(self, key: str) -> bytes | None:
        """The object of a key, or None if the folder has no trustworthy file for the key."""
        path = self._file(key)
        try:
            if not _is_own(os.lstat(self.path), stat.S_ISDIR):
                return None
            with open(os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_CLOEXEC), "rb") as file:
                if not _is_own(os.fstat(file.fileno()), stat.S_ISREG):
                    return None
                content = file.read()
        except OSError:
            return None
        with suppress(OSError):  # the folder may be read-only
            os.utime(path)
        if content[:SIZE] != _seal(key, content[SIZE:]):
            with suppress(OSError):
                path.unlink()
            return None
        return content[SIZE:]

    def put(self, key: str, data: bytes) -> None:
        """Stores the object of a key, if possible."""
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

    def remove(self, key: str) -> None:
        """Removes the object of a key, if there is one and if this is possible."""
        with suppress(OSError):
            self._file(key).unlink()

    def files(self) -> list[tuple[Path, os.stat_result]]:
        """The files of kept objects and temporary files, the least recently used first."""
        return sorted(self._files(), key=lambda pair: (pair[1].st_mtime_ns, pair[0].name))

    def clear(self) -> int:
        """Removes all objects and temporary files. Returns how many files there were."""
        found = self.files()
        for path, _ in found:
            path.unlink(missing_ok=True)
        return len(found)

    def _file(self, key: str) -> Path:
        return self.path / HASH(key.encode()).hexdigest()

    def _files(self) -> Iterator[tuple[Path, os.stat_result]]:
        if not self.path.is_dir():
            return
        for path in filter(_is_named, self.path.iterdir()):
            with suppress(FileNotFoundError):  # another process may remove the file at the same time
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


def _is_named(path: Path) -> bool:
    return NAMES.fullmatch(path.name) is not None


def _seal(key: str, data: bytes) -> bytes:
    return HASH(HASH(key.encode()).digest() + data).digest()


def is_own_folder(path: Path) -> bool:
    """Whether a folder exists and belongs to the user, and nobody else may write to the folder."""
    try:
        return _is_own(os.lstat(path), stat.S_ISDIR)
    except OSError:
        return False


def _is_own(about: os.stat_result, kind: Callable[[int], bool]) -> bool:
    """Whether a path is of the wanted kind and belongs to the user, and nobody else may write to the path."""
    return kind(about.st_mode) and about.st_uid == os.getuid() and not about.st_mode & 0o022
