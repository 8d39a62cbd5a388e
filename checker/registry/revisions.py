"""Loads a model's file as it was at a revision in git. Loading runs the file's code, as for every model's file."""

from __future__ import annotations

import ast
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from types import ModuleType

from isrcheck.checker.registry.loader import LoadedModel, load_model_class
from isrcheck.model.language.errors import ModelError, UnknownName


def load_at(spec: str, revision: str, folder: Path) -> LoadedModel:
    """The model of `file.py` or `file.py:Class` at a revision.

    The model's file and the Python files beside it are written to `folder`, which must be empty. Packages beside the
    file, and modules from elsewhere, are imported as they are now, not as they were at the revision. Raises
    `UnknownName` if `spec` names no `.py` file, or if git does not have the file or the revision. Raises OSError if git
    is not installed. Raises `ModelError` for a mistake in the files, or if a function imports a file beside the model.
    """
    path, _, wanted = spec.partition(":")
    file = Path(path)
    if file.suffix != ".py":
        raise UnknownName(f"{spec!r} is not a file; revisions apply to files in git, such as my_design.py")
    if not file.resolve().parent.is_dir():
        raise UnknownName(f"{file.parent} is not a folder; choose a file in an existing folder")
    commit = _commit(file, revision)
    for name in _git(file, ["ls-tree", "-z", "--name-only", commit]).decode().split("\0"):
        text = _content(file, commit, name) if name.endswith(".py") else None
        if text is not None:
            (folder / name).write_bytes(text)
    if not (folder / file.name).exists():
        raise UnknownName(f"{file} does not exist in revision {revision}; choose a file that does")
    _link_packages(file.resolve().parent, folder)
    with _without_modules_of(file.resolve().parent, folder):
        loaded = load_model_class(f"{folder / file.name}{wanted and ':' + wanted}")
        _refuse_imports_of_functions(folder / file.name)
        return loaded


def _commit(file: Path, revision: str) -> str:
    # A name that begins with a dash would be an option of git.
    found = (
        b"" if revision.startswith("-") else _git(file, ["rev-parse", "--verify", "--quiet", f"{revision}^{{commit}}"])
    )
    if not found:
        raise UnknownName(f"the repository of {file} has no revision {revision!r}; git log lists the revisions")
    return found.decode().strip()


def _content(file: Path, commit: str, name: str) -> bytes | None:
    """The content of the file `name` beside `file` at the commit, or None if there is no such file. Follows links."""
    output = _git(file, ["cat-file", "--batch", "--follow-symlinks"], f"{commit}:./{name}\n".encode())
    # Git prints `<object> blob <size>`, the content and a newline. For folders and broken links it prints other words.
    header, _, content = output.partition(b"\n")
    return content[:-1] if header.split()[1:2] == [b"blob"] else None


def _link_packages(today: Path, folder: Path) -> None:
    """Links the packages of the folder `today` into `folder`, unless `folder` has a Python file of the same name."""
    for found in today.iterdir():
        is_package = found.is_dir() and found.name.isidentifier() and found.name != "__pycache__"
        if is_package and not (folder / f"{found.name}.py").exists():
            (folder / found.name).symlink_to(found)


def _git(file: Path, arguments: list[str], given: bytes = b"") -> bytes:
    """Runs git in the folder of `file`, with the input `given`. The output is empty if git refuses the command."""
    command = ["git", "-C", str(file.resolve().parent), *arguments]
    return subprocess.run(command, input=given, capture_output=True, check=False).stdout


@contextmanager
def _without_modules_of(folder: Path, other: Path) -> Iterator[None]:
    """Takes the modules of `folder` out of `sys.modules`. On exit, restores them and removes the modules of `other`.

    Files beside a model are imported without a package, so two versions of a file have one name in `sys.modules`.
    """
    kept = _taken_away(folder)
    try:
        yield
    finally:
        _taken_away(other)
        sys.modules.update(kept)


def _taken_away(folder: Path) -> dict[str, ModuleType]:
    """Removes from `sys.modules` the modules whose files are directly in a folder. Returns these modules by name."""
    here = {
        name: module
        for name, module in list(sys.modules.items())
        if "." not in name and Path(getattr(module, "__file__", None) or "/").resolve().parent == folder.resolve()
    }
    for name in here:
        del sys.modules[name]
    return here


def _refuse_imports_of_functions(file: Path) -> None:
    """Raises `ModelError` if a function in a model's file imports a file from the model's folder.

    The model's file may import other files from this folder. Their functions are checked, too. An import inside a
    function would run only after the loading, and would then find the present version of the file, or no file.
    """
    trees, pending = {}, [file]
    while pending:
        here = pending.pop()
        if here not in trees:
            trees[here] = ast.parse(here.read_bytes())
            pending += [found for node in ast.walk(trees[here]) for found in _imported(node, here)]
    for here, tree in trees.items():
        functions = (x for x in ast.walk(tree) if isinstance(x, (ast.FunctionDef, ast.AsyncFunctionDef)))
        for node in (x for function in functions for x in ast.walk(function)):
            for found in _imported(node, here):
                what = f"{found.stem} is imported inside a function, which would not load the file of the revision"
                raise ModelError(f"{here.name}:{getattr(node, 'lineno', 0)}: {what}; import it at the top of the file")


def _imported(node: ast.AST, file: Path) -> list[Path]:
    """The files beside `file` that a statement of `file` imports."""
    names = [x.name for x in node.names] if isinstance(node, ast.Import) else []
    if isinstance(node, ast.ImportFrom):
        names = [node.module or ""]
    files = [file.with_name(f"{name.partition('.')[0]}.py") for name in names]
    return [found for found in files if found.exists()]
