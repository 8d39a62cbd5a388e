"""Keeps the outcomes of a sweep in a file, one line for each check, so that a later sweep need not repeat the checks.

A line is JSON: the check, a hash of its sources (`sources`), and its outcome. A check is repeated if it had no verdict,
or if the code of isrcheck, the model's file or a Python file beside that file has changed. Only one sweep at a time
writes to a file. If the last line is incomplete because a sweep was killed, the line is removed.
"""

from __future__ import annotations

import fcntl
import hashlib
import json
from functools import cache
from pathlib import Path
from typing import Any, Final

from isrcheck.checker.results.errors import DatasetRefused

BEGIN: Final = b'{"cell": '
OTHER: Final = "{} does not contain the outcomes of a sweep; choose another file; nothing was changed"


class ResultsStore:
    """A file of outcomes, open for writing. If there is no file, a new file is made.

    Raises `DatasetRefused` if the file has other data, or if another sweep uses the file. Raises OSError if the file
    cannot be opened.
    """

    def __init__(self, path: str) -> None:
        self._file = open(path, "a+b")  # noqa: SIM115 - it stays open, and locked, as long as the sweep runs
        try:
            self._outcomes = self._read(path)
        except BaseException:
            self._file.close()
            raise

    def _read(self, path: str) -> dict[str, dict[str, Any]]:
        """Locks the file, and returns its outcomes by the `_key` of each check. Removes an incomplete last line."""
        try:
            fcntl.flock(self._file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            raise DatasetRefused(
                f"another sweep is writing to {path}; wait until it ends, or choose another file"
            ) from None
        self._file.seek(0)
        content = self._file.read()
        whole = content[: content.rfind(b"\n") + 1]
        try:
            found = dict(map(_read, whole.splitlines()))
            if not content.startswith(BEGIN[: len(content)]):
                raise ValueError
        except (ValueError, KeyError, TypeError, AttributeError):
            raise DatasetRefused(OTHER.format(path)) from None
        if whole != content:
            self._file.truncate(len(whole))
        return found

    def outcome(self, cell: dict[str, Any]) -> dict[str, Any] | None:
        """The outcome of a check, or None if the file has no outcome with a verdict for this check."""
        found = self._outcomes.get(_key(cell, sources(cell["model"])))
        return None if found is None or found["verdict"] is None else found

    def add(self, cell: dict[str, Any], outcome: dict[str, Any]) -> None:
        line = {"cell": cell, "sources": sources(cell["model"]), "outcome": outcome}
        self._file.write(json.dumps(line).encode() + b"\n")
        self._file.flush()

    def close(self) -> None:
        self._file.close()


def _read(line: bytes) -> tuple[str, dict[str, Any]]:
    data = json.loads(line)
    outcome = data["outcome"]
    if not {"verdict", "exit_code", "reason", "distinct", "depth", "lengths", "seconds"} <= outcome.keys():
        raise ValueError("no outcome")
    return _key(data["cell"], data["sources"]), outcome


def _key(cell: dict[str, Any], made_of: str) -> str:
    # A check that was read from the file has lists where a new check has tuples. Both must have the same key.
    return json.dumps([json.loads(json.dumps(cell)), made_of], sort_keys=True)


@cache
def sources(model: str) -> str:
    """The SHA-256 of a check's sources: this project's code and, for a user's model, the Python files in its folder."""
    place = Path(model.partition(":")[0])
    files = list(_own())
    if place.suffix == ".py":
        files += sorted(place.absolute().parent.glob("*.py"))
    digest = hashlib.sha256()
    for file in files:
        content = file.read_bytes()
        digest.update(f"{file.name} {len(content)}\n".encode() + content)
    return digest.hexdigest()


@cache
def _own() -> tuple[Path, ...]:
    """The Python files of the language, the models, the invariants and the checker."""
    root = Path(__file__).parents[3]
    return tuple(sorted(file for name in ("model", "invariants", "checker") for file in (root / name).rglob("*.py")))
