"""Files that a command writes: tested before the work, written whole at the end or not at all."""

from __future__ import annotations

import json
import os
import tempfile
from pathlib import Path
from typing import Any, Final

import click

from isrcheck.checker.failures import Failure, os_words
from isrcheck.checker.results import Exit

STDOUT: Final = "-"


def require_writable(path: str | None) -> None:
    """Raises `Failure` (153) if the file cannot be written; nothing of it is changed."""
    if path is None or path == STDOUT:
        return
    target = Path(os.path.realpath(path))
    try:
        if target.is_dir():
            raise IsADirectoryError(None, "it is a directory")
        if target.exists() and not os.access(target, os.W_OK):
            raise PermissionError(None, "permission denied")
        if _in_place(target):
            return
        handle, name = tempfile.mkstemp(dir=target.parent, prefix=f".{target.name[:64]}.")
        os.close(handle)
        os.unlink(name)
    except OSError as error:
        raise _unwritable(path, error) from None


def plot_file(text: str) -> str:
    """The name of a file for plots, which are SVG: another ending would lie."""
    ending = Path(text).suffix.lower()
    if ending not in ("", ".svg"):
        raise click.BadParameter(f"plots are written as SVG, not {ending[1:].upper()}; name a file that ends in .svg")
    return text


def require_different(paths: dict[str, str | None]) -> None:
    """Raises a usage error if two options name the same file."""
    named: dict[str, str] = {}
    for option, path in paths.items():
        if path is not None and path in named:
            raise click.UsageError(f"{named[path]} and {option} name the same file")
        if path is not None:
            named[path] = option


def write_json(path: str, data: Any) -> None:
    """Writes JSON as `write_text` does."""
    write_text(path, json.dumps(data, indent=1) + "\n")


def write_text(path: str, text: str) -> None:
    """Writes a file by renaming a whole one, or to standard output (`-`); `Failure` (153) if it cannot."""
    if path == STDOUT:
        click.echo(text, nl=False)
        return
    target = Path(os.path.realpath(path))
    try:
        if _in_place(target):
            target.write_text(text, encoding="utf-8")
        else:
            _replace(target, text)
    except OSError as error:
        raise _unwritable(path, error) from None


def _in_place(target: Path) -> bool:
    """Devices and pipes are written as they are; a rename would replace them."""
    return target.exists() and not target.is_file()


def _replace(target: Path, text: str) -> None:
    handle, name = tempfile.mkstemp(dir=target.parent, prefix=f".{target.name[:64]}.")
    try:
        with open(handle, "w", encoding="utf-8") as file:
            file.write(text)
        os.chmod(name, _mode(target))
        os.replace(name, target)
    except BaseException:
        os.unlink(name)
        raise


def _mode(target: Path) -> int:
    """The permissions of the file that is replaced, or those of a new one."""
    if target.exists():
        return target.stat().st_mode & 0o777
    mask = os.umask(0)
    os.umask(mask)
    return 0o666 & ~mask


def _unwritable(path: str, error: OSError) -> Failure:
    what = os_words(OSError(error.errno, error.strerror))
    return Failure(f"cannot write {path}: {what}; name a file in a folder that you can write", Exit.OUTPUT)
