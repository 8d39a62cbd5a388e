"""The path of a file relative to its repository, for people and tools."""

from __future__ import annotations

from functools import cache
from pathlib import Path

ROOTS = (".git", "pyproject.toml")
"""Names that mark the root of a repository. The nearest parent folder with `.git` is the root or, if there is
none, the nearest parent folder with `pyproject.toml`.
"""


@cache
def repository_path(file: str) -> str:
    """A file's path relative to its repository, with slashes.

    Outside repositories, the path begins at the outermost package that contains the file. Without a package, the path
    is only the file's name.

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
