"""The place of a file for people and tools: its path in its repository, wherever that is on this machine."""

from __future__ import annotations

from functools import cache
from pathlib import Path

ROOTS = (".git", "pyproject.toml")
"""Names that mark the topmost folder of a repository. The first folder found upwards counts."""


@cache
def repository_path(file: str) -> str:
    """A file relative to its repository, with slashes; only its name if it is in none.

    >>> repository_path(__file__)
    'checker/wording/source.py'
    """
    path = Path(file).resolve()
    for mark in ROOTS:
        for folder in path.parents:
            if (folder / mark).exists():
                return path.relative_to(folder).as_posix()
    packages = [folder for folder in path.parents if (folder / "__init__.py").exists()]
    return path.relative_to(packages[-1].parent).as_posix() if packages else path.name
