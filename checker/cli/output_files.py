"""Writes each file of a command completely or not at all, and tests before the work starts whether this is possible.

A file replaces an earlier output of the same name, but nothing else. It never replaces a file that the command line
also names in another place, such as a model or a recording, nor any Python or TOML file.

Standard output, devices and pipes are written directly, so an error can leave a part of the text there.
"""

from __future__ import annotations

import os
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import click

from isrcheck.checker.cli.console import say_content, say_json
from isrcheck.checker.results.errors import CommandError, os_words
from isrcheck.checker.results.result import Exit
from isrcheck.checker.results.text_layout import content_text

if TYPE_CHECKING:
    from isrcheck.checker.results.drawing import Drawing

STDOUT: Final = "-"
SOURCES: Final = (".py", ".toml")
"""The endings of files that people write. No output replaces such a file."""
WRITTEN: Final = frozenset(
    ("html", "itf", "json", "junit", "markdown", "mermaid", "output", "plot", "sarif", "slides", "svg")
)
"""The parameters of commands that name a file to write."""


def require_writable(path: str | None) -> None:
    """Raises `CommandError` (153) if the file cannot be written. The file is not changed.

    Raises a usage error if the command line names the file in another place too.
    """
    if path is None or path == STDOUT:
        return
    target = Path(os.path.realpath(path))
    if target.is_file():
        _require_no_input(path, target)
    _require_no_source(path, target)
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


def _require_no_source(path: str, target: Path) -> None:
    if target.suffix in SOURCES and target.is_file():
        raise CommandError(f"{path} already exists and was not written by isrcheck; choose another file", Exit.OUTPUT)


def _require_no_input(path: str, target: Path) -> None:
    """Raises a usage error if a value of the command line that is no output names the file too.

    A value may name a class of the file, as in `my_model.py:MyModel`.
    """
    context = click.get_current_context(silent=True)
    if context is None:
        return
    for parameter in context.command.params:
        value = context.params.get(parameter.name or "")
        if value is None or parameter.name in WRITTEN:
            continue
        for text in value if isinstance(value, (tuple, list)) else (value,):
            if any(_same_file(name, target) for name in (str(text), str(text).partition(":")[0])):
                raise click.UsageError(f"{path} is also the file of {_called(parameter)}; name another file to write")


def _same_file(name: str, target: Path) -> bool:
    try:
        return name != "" and os.path.samefile(name, target)
    except (OSError, ValueError):
        return False


def _called(parameter: click.Parameter) -> str:
    return parameter.opts[-1] if isinstance(parameter, click.Option) else parameter.human_readable_name


def require_new_folder(path: str) -> None:
    """Raises `CommandError` (153) if a local path is there already, unless it is an empty folder."""
    folder = Path(path)
    try:
        if os.path.lexists(folder) and not (folder.is_dir() and not any(folder.iterdir())):
            raise CommandError(f"cannot write {path}: it already exists; choose a new folder", Exit.OUTPUT)
    except OSError as error:
        raise _unwritable(path, error) from None


def require_replaceable(path: str, written_here: Callable[[str], bool]) -> None:
    """Raises `CommandError` (153) if a file beside an output is there already, and was not written by isrcheck."""
    require_writable(path)
    target = Path(path)
    if target.is_file() and not written_here(target.read_text(encoding="utf-8", errors="replace")):
        raise CommandError(
            f"{path} is there already, and is no output of isrcheck; move it, or write into another folder", Exit.OUTPUT
        )


def svg_file(text: str) -> str:
    """The name of a file for a picture in SVG. The name must end in .svg, or have no ending."""
    return _named(text, ".svg")


def plot_file(text: str) -> str:
    """The name of a file for plots. It must end in .svg or .png, or have no ending (then the plots are in SVG)."""
    name = _named(text, ".svg", ".png")
    if name.lower().endswith(".png"):
        from isrcheck.checker.results.drawing import require_png

        require_png()
    return name


def _named(text: str, *endings: str) -> str:
    ending = Path(text).suffix.lower()
    if ending not in ("", *endings):
        kinds = " or ".join(known[1:].upper() for known in endings)
        raise click.BadParameter(
            f"plots can be written as {kinds}, not {ending[1:].upper()}; choose a file name ending in "
            f"{' or '.join(endings)}"
        )
    return text


def write_plot(path: str, drawing: Drawing) -> None:
    """Writes a plot completely or not at all: as PNG if the file's name ends in .png, and otherwise as SVG."""
    from isrcheck.checker.results.drawing import png, svg

    if Path(path).suffix.lower() == ".png":
        write_bytes(path, png(drawing))
    else:
        write_text(path, svg(drawing))


def require_different(paths: dict[str, str | None]) -> None:
    """Raises a usage error if two options name the same file."""
    named: dict[str, str] = {}
    for option, path in paths.items():
        if path is None:
            continue
        file = path if path == STDOUT else os.path.realpath(path)
        if file in named:
            raise click.UsageError(f"{named[file]} and {option} name the same file")
        named[file] = option


def write_content(path: str, content: Any) -> None:
    """Writes the content of an output: text, data that is written as JSON, or a drawing."""
    if isinstance(content, str):
        write_text(path, content)
    elif isinstance(content, dict):
        write_json(path, content)
    else:
        write_plot(path, content)


def write_json(path: str, data: Any) -> None:
    """Writes data as JSON, completely or not at all, or to standard output (`-`)."""
    if path == STDOUT:
        say_json(data)
    else:
        write_text(path, content_text(data))


def write_text(path: str, text: str) -> None:
    """Writes a text to a file, completely or not at all, or to standard output (`-`).

    Raises `CommandError` (153) if the file cannot be written.
    """
    if path == STDOUT:
        say_content(text)
    else:
        write_bytes(path, text.encode())


def write_bytes(path: str, content: bytes) -> None:
    """Writes a file completely or not at all. Raises `CommandError` (153) if it cannot be written."""
    target = Path(os.path.realpath(path))
    _require_no_source(path, target)
    try:
        if _in_place(target):
            target.write_bytes(content)
        else:
            _replace(target, content)
    except OSError as error:
        raise _unwritable(path, error) from None


def _in_place(target: Path) -> bool:
    """True for devices and pipes, which are written directly because a rename would replace them."""
    return target.exists() and not target.is_file()


def _replace(target: Path, content: bytes) -> None:
    handle, name = tempfile.mkstemp(dir=target.parent, prefix=f".{target.name[:64]}.")
    try:
        with open(handle, "wb") as file:
            file.write(content)
        os.chmod(name, _mode(target))
        os.replace(name, target)
    except BaseException:
        os.unlink(name)
        raise


def _mode(target: Path) -> int:
    """The permissions of the file that is replaced, or the permissions of a new file."""
    if target.exists():
        return target.stat().st_mode & 0o777
    mask = os.umask(0)
    os.umask(mask)
    return 0o666 & ~mask


def _unwritable(path: str, error: OSError) -> CommandError:
    what = os_words(OSError(error.errno, error.strerror))
    return CommandError(f"cannot write {path}: {what}; choose a file in a writable folder", Exit.OUTPUT)
