"""Where scenarios are: in folders that the user names, in `counterexamples` of the current directory, or shipped."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path
from typing import Final

import isrcheck.model
from isrcheck.checker.scenarios.scenario import FILE, DamagedScenario, Scenario, name_of, read
from isrcheck.model.language.errors import UnknownName, nearest

OWN: Final = Path("counterexamples")
"""Where a project has its own, seen from the directory in which it is checked."""


def shipped() -> Path:
    """The folder of the scenarios that come with this package; beside that of the models, as in the repository."""
    return Path(isrcheck.model.__file__).resolve().parent.parent / "counterexamples"


def default() -> Path:
    """What is meant where no folder is named: a project's own scenarios, or the shipped ones where it has none."""
    return OWN if OWN.is_dir() else shipped()


def folders(paths: tuple[str, ...]) -> list[tuple[Path, Path]]:
    """Each scenario's folder with the folder that was named for it, by name; without paths those of the default.

    A path is a scenario's folder (or its `scenario.toml`), or a folder that has such folders.
    """
    found: dict[Path, tuple[Path, Path]] = {}
    for root in [Path(path) for path in paths] or [default()]:
        for folder, within in _below(root):
            found.setdefault(folder.resolve(), (folder, within))
    return sorted(found.values(), key=lambda pair: (name_of(pair[0]), str(pair[0])))


def one(text: str) -> Scenario:
    """The scenario that a name stands for, or a path; a project's own comes before a shipped one."""
    path, is_name = Path(text), os.sep not in text
    if is_name and (OWN / text / FILE).is_file():
        return read(OWN / text, OWN)
    if (path / FILE).is_file():
        return read(path)
    if path.name == FILE and path.is_file():
        return read(path.parent)
    if is_name and (shipped() / text / FILE).is_file():
        return read(shipped() / text, shipped())
    if not is_name or path.is_dir():
        raise DamagedScenario(f"{text} is no scenario: there is no {FILE} in it")
    roots = [root for root in (OWN, shipped()) if root.is_dir()]
    known = {child.name for root in roots for child in root.iterdir() if (child / FILE).is_file()}
    raise UnknownName(f"there is no scenario {text!r}; {nearest(text, known)}; or name a folder")


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
