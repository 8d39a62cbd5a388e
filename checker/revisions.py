"""A model's file as it was at a revision in git: read with `git show`, and run because the user named it."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from types import ModuleType

from isrcheck.checker.library import LoadedModel, load_model_class
from isrcheck.model.language.errors import UnknownName


def load_at(spec: str, revision: str, folder: Path) -> LoadedModel:
    """The model of `file.py` or `file.py:Class` as it was; its file and those beside it are put into an empty folder.

    What it imports from elsewhere is that of today. Raises `UnknownName` for what git does not have, OSError where
    there is no git.
    """
    path, _, wanted = spec.partition(":")
    file = Path(path)
    if file.suffix != ".py":
        raise UnknownName(f"{spec!r} is no file: a revision is one of a file in git, such as my_design.py")
    if not file.resolve().parent.is_dir():
        raise UnknownName(f"{file.parent} is no folder; name a file whose folder is there")
    commit = _commit(file, revision)
    names = _git(file, ["ls-tree", "-z", "--name-only", commit]).decode().split("\0")
    if file.name not in names:
        raise UnknownName(f"{file} is not in revision {revision}; name a file that it has")
    for name in names:
        if name.endswith(".py"):
            (folder / name).write_bytes(_git(file, ["show", f"{commit}:./{name}"]))
    with _without_modules_of(file.resolve().parent, folder):
        return load_model_class(f"{folder / file.name}{wanted and ':' + wanted}")


def _commit(file: Path, revision: str) -> str:
    # What begins with a dash would be an option of git.
    found = (
        b"" if revision.startswith("-") else _git(file, ["rev-parse", "--verify", "--quiet", f"{revision}^{{commit}}"])
    )
    if not found:
        raise UnknownName(f"git has no revision {revision!r} of the folder of {file}; git log lists what there is")
    return found.decode().strip()


def _git(file: Path, arguments: list[str]) -> bytes:
    """What git answers about the folder of a file; nothing where it refuses."""
    command = ["git", "-C", str(file.resolve().parent), *arguments]
    return subprocess.run(command, capture_output=True, check=False).stdout


@contextmanager
def _without_modules_of(folder: Path, other: Path) -> Iterator[None]:
    """Files beside a model are imported by their bare names: neither version may find those of the other."""
    kept = _taken_away(folder)
    try:
        yield
    finally:
        _taken_away(other)
        sys.modules.update(kept)


def _taken_away(folder: Path) -> dict[str, ModuleType]:
    """The modules of files right in a folder that are imported under their bare names, taken from `sys.modules`."""
    here = {
        name: module
        for name, module in list(sys.modules.items())
        if "." not in name and Path(getattr(module, "__file__", None) or "/").resolve().parent == folder.resolve()
    }
    for name in here:
        del sys.modules[name]
    return here
