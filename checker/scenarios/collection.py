"""Where scenarios are: in the folders that the user names, or in `counterexamples` of the current directory."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path
from typing import Final

from checker.scenarios.scenario import FILE, DamagedScenario, Scenario, name_of, read
from model.language.errors import UnknownName, nearest

DEFAULT: Final = "counterexamples"


def folders(paths: tuple[str, ...]) -> list[tuple[Path, Path]]:
    """Each scenario's folder with the folder that was named for it, by name; without paths those of the default.

    A path is a scenario's folder (or its `scenario.toml`), or a folder that has such folders.
    """
    named = [Path(path) for path in paths] or [_default()]
    found: dict[Path, tuple[Path, Path]] = {}
    for root in named:
        for folder, within in _below(root):
            found.setdefault(folder.resolve(), (folder, within))
    return sorted(found.values(), key=lambda pair: (name_of(pair[0]), str(pair[0])))


def one(text: str) -> Scenario:
    """The scenario that a name in the default folder, or a path, stands for."""
    path = Path(text)
    if os.sep not in text and (Path(DEFAULT) / text / FILE).is_file():
        return read(Path(DEFAULT) / text, Path(DEFAULT))
    if (path / FILE).is_file():
        return read(path)
    if path.name == FILE and path.is_file():
        return read(path.parent)
    if os.sep in text or path.is_dir():
        raise DamagedScenario(f"{text} is no scenario: there is no {FILE} in it")
    known = [name_of(folder) for folder, _ in _below(_default())]
    raise UnknownName(f"there is no scenario {text!r} in {DEFAULT}; {nearest(text, known)}; or name a folder")


def _default() -> Path:
    root = Path(DEFAULT)
    if not root.is_dir():
        raise UnknownName(
            f"there is no folder {DEFAULT} here; go to a checkout of the project, or name a folder of scenarios"
        )
    return root


def _below(root: Path) -> Iterator[tuple[Path, Path]]:
    if root.name == FILE and root.is_file():
        root = root.parent
    if (root / FILE).is_file():
        yield root, root
        return
    if not root.is_dir():
        raise DamagedScenario(f"{root} is no folder of scenarios; name one that has <name>/{FILE}")
    inside = [child for child in root.iterdir() if (child / FILE).is_file()]
    if not inside:
        raise DamagedScenario(f"there is no scenario in {root}; write {root}/<name>/{FILE}")
    yield from ((child, root) for child in inside)
