"""The file of a sweep: TOML with one or more tables `[[matrix]]`. Each table gives all combinations of its values.

[[matrix]]
models = ["kip-101", "kip-320"]
settings = {replicas = 2, log_size = [1, 2]}      # a list is several values
invariants = ["weak-isr", "strong-isr"]           # each is checked alone; if omitted: the default ones, together
deadlock = false
keep_going = false
max_states = 1000000
max_seconds = 60
max_memory = "1GiB"
"""

from __future__ import annotations

import itertools
import tomllib
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from isrcheck.model.language.errors import UnknownName, nearest

LARGEST: Final = 100_000
"""The most cells of a sweep. A file with more cells is refused as a mistake."""


@dataclass(frozen=True)
class Cell:
    """One check of a sweep. `max_memory` is in bytes."""

    model: str
    settings: dict[str, Any]
    invariants: tuple[str, ...] | None
    deadlock: bool = False
    keep_going: bool = False
    max_states: int | None = None
    max_seconds: float | None = None
    max_memory: int | None = None

    @property
    def title(self) -> str:
        settings = ", ".join(f"{n}={str(v).lower() if isinstance(v, bool) else v}" for n, v in self.settings.items())
        return f"{self.model}({settings})"


def _is_count(value: Any) -> bool:
    return isinstance(value, int) and not isinstance(value, bool) and value > 0


def _are_names(value: Any) -> bool:
    return isinstance(value, list) and bool(value) and all(isinstance(x, str) and x for x in value)


def _are_settings(value: Any) -> bool:
    return isinstance(value, dict) and all(
        isinstance(x, int | str) for v in value.values() for x in (v if isinstance(v, list) else [v])
    )


KEYS: Final = {
    "models": (_are_names, "a non-empty list of models"),
    "settings": (_are_settings, "a table of values, or of lists of values"),
    "invariants": (_are_names, "a non-empty list of names"),
    "deadlock": (lambda x: isinstance(x, bool), "true or false"),
    "keep_going": (lambda x: isinstance(x, bool), "true or false"),
    "max_states": (_is_count, "a number above 0"),
    "max_seconds": (lambda x: _is_count(x) or (isinstance(x, float) and 0 < x < 1e9), "a number above 0"),
    "max_memory": (lambda x: _is_count(x) or isinstance(x, str), 'a size such as "512MB"'),
}


def read(path: Path, size_of: Any) -> list[Cell]:
    """The cells of a sweep's file, in order. `size_of` turns a size that is given as text into a number of bytes.

    Raises `UnknownName` if the file is not a valid sweep, OSError if the file cannot be read.
    """
    try:
        data = tomllib.loads(path.read_bytes().decode("utf-8"))
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise UnknownName(f"{path} is not TOML: {' '.join(str(error).split())}") from None
    tables = data.pop("matrix", None)
    if data or not isinstance(tables, list) or not tables or not all(isinstance(t, dict) for t in tables):
        raise UnknownName(f"{path} is not a sweep: write one or more [[matrix]] tables, and nothing else")
    cells = list(itertools.islice((cell for t in tables for cell in _cells(path, t, size_of)), LARGEST + 1))
    if len(cells) > LARGEST:
        raise UnknownName(f"{path} has more than {LARGEST:,} checks; remove some values")
    return cells


def _cells(path: Path, table: dict[str, Any], size_of: Any) -> Iterator[Cell]:
    for key, value in table.items():
        if key not in KEYS:
            raise UnknownName(f"{path}: there is no key {key!r}; {nearest(key, KEYS)}")
        fits, words = KEYS[key]
        if not fits(value):
            raise UnknownName(f"{path}: {key} is {value!r:.60}; write {words}")
    if "models" not in table:
        raise UnknownName(f"{path}: models is missing; write {KEYS['models'][1]}")
    limit = table.get("max_memory")
    rest = {key: table[key] for key in ("deadlock", "keep_going", "max_states", "max_seconds") if key in table}
    settings = {name: v if isinstance(v, list) else [v] for name, v in table.get("settings", {}).items()}
    invariants = [(name,) for name in table["invariants"]] if "invariants" in table else [None]
    for model in table["models"]:
        for values in itertools.product(*settings.values()):
            for names in invariants:
                memory = size_of(limit) if isinstance(limit, str) else limit
                yield Cell(model, dict(zip(settings, values, strict=True)), names, max_memory=memory, **rest)
