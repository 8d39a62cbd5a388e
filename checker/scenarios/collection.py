"""Finds scenarios in named folders, in `counterexamples` of the current directory, or among the shipped scenarios.

Compares a scenario's outcome with the author's expectation, and checks that the scenario fits its controls.
"""

from __future__ import annotations

import glob
import os
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any, Final

import isrcheck.model
from isrcheck.checker.results.text_layout import plural
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
        raise DamagedScenario(f"{text} is not a scenario: it has no {FILE}")
    roots = [root for root in (OWN, shipped()) if root.is_dir()]
    known = {folder.name for root in roots for folder in _scenarios_in(root)}
    raise UnknownName(f"there is no scenario {text!r}; {nearest(text, known)}; or use a folder")


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
        raise DamagedScenario(f"{root} is not a folder of scenarios; it must contain <name>/{FILE}")
    inside = _scenarios_in(root)
    if not inside:
        raise DamagedScenario(f"there is no scenario in {root}; create {root}/<name>/{FILE}")
    yield from ((child, root) for child in inside)


def unmet(scenario: Scenario, summary: dict[str, Any]) -> list[str]:
    """Messages about the verdict and the lengths of traces, where a check's summary differs from `scenario.toml`."""
    lines = []
    if summary["verdict"] != scenario.expect:
        lines.append(f"verdict: {summary['verdict']}, expected {scenario.expect}")
    found = {name: f["length"] for name, f in _all(summary).items() if "length" in f}
    if found and not scenario.lengths and scenario.expect == "violated":
        lengths = ", ".join(f"{name} = {length}" for name, length in sorted(found.items()))
        return [*lines, f"no lengths are expected; add [lengths] to {FILE}, followed by {lengths}"]
    for name in sorted(found.keys() | scenario.lengths.keys()):
        if found.get(name) != scenario.lengths.get(name):
            lines.append(f"{name}: {_words(summary, name)}, expected {_expected(scenario, name)}")
    return lines


def _all(summary: dict[str, Any]) -> dict[str, Any]:
    """The results of invariants, properties and deadlock in a summary, by name."""
    return {**summary["invariants"], **summary.get("liveness", {})}


def _words(summary: dict[str, Any], name: str) -> str:
    outcome = _all(summary).get(name)
    if outcome is None:
        return "not checked"
    return f"violated in {plural(outcome['length'], 'state')}" if "length" in outcome else str(outcome["verdict"])


def _expected(scenario: Scenario, name: str) -> str:
    return f"violated in {scenario.lengths[name]}" if name in scenario.lengths else "no violation"


def unpaired(scenario: Scenario) -> list[str]:
    """Messages that say why a scenario and its controls are not pairs.

    In a pair, one scenario is expected to be violated and one to hold, and each names the other as its control. The two
    differ only in the model, only in settings, or only in fairness, and this difference explains the different
    verdicts. Both check the same invariants and properties, and the search for deadlocks is on in both or off in both.
    """
    return [line for name in scenario.fixed_versions for line in _unpaired(scenario, name)]


def _unpaired(scenario: Scenario, name: str) -> list[str]:
    try:
        other = read(beside(scenario, name))
    except DamagedScenario:
        return [f"control {name}: there is no such scenario next to this one, or its {FILE} is damaged"]
    lines = []
    if scenario.name not in other.fixed_versions:
        lines.append(f"control {name}: it does not name {scenario.name} as its control")
    if scenario.expect == other.expect:
        lines.append(f"control {name}: both expect {scenario.expect}")
    parts = [{"model": _model(x), "settings": x.settings, "fairness": x.fairness} for x in (scenario, other)]
    differing = [part for part in parts[0] if parts[0][part] != parts[1][part]]
    if len(differing) != 1:
        what = f"{' and '.join(differing)} differ" if differing else "model, settings and fairness are the same"
        lines.append(f"control {name}: {what}; a pair differs in exactly one of model, settings and fairness")
    if any(getattr(scenario, x) != getattr(other, x) for x in ("invariants", "liveness", "deadlock")):
        lines.append(f"control {name}: it checks different invariants")
    return lines


def beside(scenario: Scenario, name: str) -> Path:
    """The folder of the scenario `name`. A folder beside `scenario` takes precedence.

    Looks in the parent of the scenario's folder and in the subfolders of this parent. Then looks in the grandparent and
    its subfolders, because scenarios may be in groups (folders beside each other). If no scenario has this name, the
    result is the folder that it would have beside `scenario`.
    """
    group = scenario.folder.resolve().parent
    return called(name, group) or called(name, group.parent) or group / name


def _model(scenario: Scenario) -> str:
    """The scenario's model, in a form that does not depend on the scenario's folder."""
    file = scenario.file
    return scenario.model if file is None else f"{file.resolve()}:{scenario.model.partition(':')[2]}"
