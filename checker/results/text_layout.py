"""The lines of a report: columns, numbers with separators, sizes, and colours for a terminal.

The path of a file relative to its repository, for people and tools.

Text that XML allows, for JUnit reports, GraphML and SVG. Text in one line.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

if TYPE_CHECKING:
    pass

if TYPE_CHECKING:
    pass

INDENT: Final = "  "
STYLES: Final = {"good": "32", "bad": "31", "open": "33", "head": "1"}


@dataclass(frozen=True)
class Ink:
    """Marks words with colour, or leaves them plain for a file or a pipe."""

    colour: bool = False

    def __call__(self, style: str, words: str) -> str:
        return f"\x1b[{STYLES[style]}m{words}\x1b[0m" if self.colour else words


PLAIN: Final = Ink()


def columns(rows: Iterable[Sequence[str]], indent: str = INDENT, right: Sequence[int] = ()) -> list[str]:
    """Rows as lines with aligned columns. The last column is not padded. The columns in `right` are aligned right."""
    table = [tuple(row) for row in rows]
    widths = [
        max((len(row[i]) for row in table if i < len(row)), default=0) for i in range(max(map(len, table), default=0))
    ]
    return [indent + _row(row, widths, right).rstrip() for row in table]


def _row(row: Sequence[str], widths: list[int], right: Sequence[int]) -> str:
    cells = [x.rjust(widths[i]) if i in right else x.ljust(widths[i]) for i, x in enumerate(row)]
    return "  ".join(cells)


def number(value: int) -> str:
    return f"{value:,}"


def plural(count: int, word: str) -> str:
    """A count with its noun: `1 state`, `2 states`."""
    return f"{number(count)} {word}{'' if count == 1 else 's'}"


def size(count: float) -> str:
    """A number of bytes as text, in the largest binary unit that gives at least 1: `1.5 GiB`."""
    for unit in ("bytes", "KiB", "MiB", "GiB"):
        if count < 1024:
            return f"{count:.0f} {unit}" if unit == "bytes" else f"{count:.1f} {unit}"
        count /= 1024
    return f"{count:.1f} TiB"


def seconds(value: float) -> str:
    """A duration as text: `12.34 s`, or `1 h 5 min` from one hour on."""
    if value < 3600:
        return f"{value:.2f} s"
    return f"{value // 3600:.0f} h {value % 3600 // 60:.0f} min"


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
    'checker/results/text_layout.py'
    """
    path = Path(file).resolve()
    for mark in ROOTS:
        for folder in path.parents:
            if (folder / mark).exists():
                return path.relative_to(folder).as_posix()
    packages = [folder for folder in path.parents if (folder / "__init__.py").exists()]
    return path.relative_to(packages[-1].parent).as_posix() if packages else path.name


REFUSED: Final = re.compile("[^\t\n\r\x20-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")
"""Characters that XML 1.0 does not allow, not even escaped."""


def clean(text: str) -> str:
    """The text with U+FFFD in place of each character that XML 1.0 does not allow. The caller escapes markup."""
    return REFUSED.sub("\ufffd", text)


def content_text(content: Any) -> str:
    """The text of a file: the content of an output if it is text, and else the content as JSON."""
    return content if isinstance(content, str) else json.dumps(content, indent=1) + "\n"


def printable(text: str) -> str:
    r"""The text in one line. Each character that is not printable, such as a line break, is shown by its code.

    These are also the marks that turn the direction of text, lone surrogates, and blanks other than the usual one.

    >>> print(printable("a\x1b[2J\n::error::b\u202e"))
    a\x1b[2J\n::error::b\u202e
    """
    if text.isprintable():
        return text
    return "".join(each if each.isprintable() else each.encode("unicode_escape").decode() for each in text)


WIDEST: Final = 110
