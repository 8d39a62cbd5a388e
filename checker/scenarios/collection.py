"""Finds scenarios in named folders, in `counterexamples` of the current directory, or among the shipped scenarios."""

from __future__ import annotations

import glob
import os
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import Final

import isrcheck.model
from isrcheck.checker.scenarios.scenario import FILE, DamagedScenario, Scenario, name_of, read
from isrcheck.model.language.errors import UnknownName, nearest

OWN: Final = Path("counterexamples")
"""The folder of a project's own scenarios, relative to the current directory."""


def shipped() -> Path:
    """The folder of the shipped scenarios. It is beside the folder of the models, as in the repository."""
    return Path(isrcheck.model.__file__).resolve().parent.parent / "counterexamples"


def default() -> Path:
    """The folder that is used if the user names none: the project's own scenarios, or else the shipped ones."""
    return OWN if OWN.is_dir() else shipped()


def folders(paths: tuple[str, ...]) -> list[tuple[Path, Path]]:
    """Pairs of a scenario's folder and the folder in `paths` that is or contains it. Sorted by the scenario's name.

    A path is a scenario's folder, or a folder that has the folders of scenarios directly inside or in subfolders
    (*groups*). A path to a `scenario.toml` counts as its folder. If `paths` is empty, the only path is `default()`.
    Raises `DamagedScenario` for a path without scenarios.
    """
    found: dict[Path, tuple[Path, Path]] = {}
    for root in [Path(path) for path in paths] or [default()]:
        for folder, within in _below(root):
            found.setdefault(folder.resolve(), (folder, within))
    return sorted(found.values(), key=lambda pair: (name_of(pair[0]), str(pair[0])))


def one(text: str) -> Scenario:
    """The scenario with this name or path. A project's own scenario takes precedence over a shipped one."""
    path, is_name = Path(text), os.sep not in text
    if is_name and (folder := called(text, OWN)) is not None:
        return read(folder, OWN)
    if (path / FILE).is_file():
        return read(path)
    if path.name == FILE and path.is_file():
        return read(path.parent)
    if is_name and (folder := called(text, shipped())) is not None:
        return read(folder, shipped())
    if not is_name or path.is_dir():
        raise DamagedScenario(f"{text} is no scenario: there is no {FILE} in it")
    roots = [root for root in (OWN, shipped()) if root.is_dir()]
    known = {folder.name for root in roots for folder in _scenarios_in(root)}
    raise UnknownName(f"there is no scenario {text!r}; {nearest(text, known)}; or name a folder")


def called(name: str, root: Path) -> Path | None:
    """The folder of the scenario with this name, in `root` or in a subfolder of `root`, or None if there is none."""
    found = [root / name, *sorted(root.glob(f"*/{glob.escape(name)}"))]
    return next((folder for folder in found if (folder / FILE).is_file()), None)


def group_of(model: str) -> Path:
    """The folder for a new scenario of a model.

    Of `OWN` and its subfolders (groups), this is the folder with the most scenarios of the model. If `OWN` has no
    scenario of the model, the result is `OWN` for a model in a file, or `OWN / model` for a shipped model.
    """
    beside = []
    for folder in _scenarios_in(OWN):
        with suppress(DamagedScenario, OSError):
            beside += [folder.parent] if read(folder, OWN).is_about(model) else []
    return max(beside, key=beside.count, default=OWN if model.partition(":")[0].endswith(".py") else OWN / model)


def _scenarios_in(root: Path) -> list[Path]:
    """The folders of scenarios in a folder and in its groups."""
    return sorted(path.parent for pattern in (f"*/{FILE}", f"*/*/{FILE}") for path in root.glob(pattern))


def _below(root: Path) -> Iterator[tuple[Path, Path]]:
    if root.name == FILE and root.is_file():
        root = root.parent
    if (root / FILE).is_file():
        yield root, root
        return
    if not root.is_dir():
        raise DamagedScenario(f"{root} is no folder of scenarios; name one that has <name>/{FILE}")
    inside = _scenarios_in(root)
    if not inside:
        raise DamagedScenario(f"there is no scenario in {root}; write {root}/<name>/{FILE}")
    yield from ((child, root) for child in inside)
