"""A *scenario*: a folder with a hand-written file `scenario.toml`, which says what to check and what is expected.

`scenario.toml` is only data. It can name only a shipped model, or a model's file inside the folder that the user gave.
"""

from __future__ import annotations

import tomllib
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final

from isrcheck.model.language.errors import ModelError, nearest
from isrcheck.model.language.fairness import Fairness

FILE: Final = "scenario.toml"
DEADLOCK: Final = "deadlock"
"""The key in `[lengths]` for the trace to a deadlock, a state without a successor."""


class DamagedScenario(ModelError):
    """A `scenario.toml` has a mistake, or a folder has no `scenario.toml`. The message is one line."""


@dataclass(frozen=True)
class Scenario:
    """A check with its expected outcome and its story. `liveness` names properties to check with the invariants.

    `folder` is the scenario's folder. `root` is the folder that the user named (by default `folder`), and the model's
    file must be inside `root`. `lengths` maps each violated invariant or property (and `deadlock`) to the number of
    states of its shortest trace. `fixed_versions` are the names of scenarios that differ from this one by a fix. The
    controls of a violated scenario have the fix, and the controls of a scenario that holds lack the fix. `seen_to_hold`
    has larger bounds than `settings`. A check with these bounds found no violation either.
    """

    folder: Path
    root: Path
    title: str
    model: str
    settings: dict[str, Any]
    invariants: tuple[str, ...] | None
    deadlock: bool
    keep_going: bool
    expect: str
    lengths: dict[str, int]
    source: tuple[str, ...]
    story: str
    fixed_versions: tuple[str, ...]
    note: str | None
    seen_to_hold: dict[str, Any]
    liveness: tuple[str, ...] = ()
    fairness: Fairness = field(default_factory=Fairness)

    @property
    def name(self) -> str:
        return name_of(self.folder)

    @property
    def file(self) -> Path | None:
        """The file of the model, or None for a shipped model."""
        path = self.model.partition(":")[0]
        return self.folder / path if path.endswith(".py") else None

    def is_about(self, model: str) -> bool:
        """Whether `model` is the scenario's model. `model` is a shipped model's name, `FILE.py` or `FILE.py:CLASS`."""
        if self.file is None:
            return self.model == model
        path, _, cls = model.partition(":")
        return (self.file.resolve(), self.model.partition(":")[2]) == (Path(path).resolve(), cls)

    def specification(self) -> str:
        """The model as an argument for `isrcheck.check`.

        Raises `DamagedScenario` if the model's file is missing or outside `root`.
        """
        file = self.file
        if file is None:
            return self.model
        if not file.resolve().is_relative_to(self.root.resolve()):
            raise DamagedScenario(
                f"{self.folder / FILE}: model {self.model!r} is outside {self.root}, the given folder, "
                "and code is loaded only from there; move the file there, or give a folder that contains "
                "both"
            )
        if not file.is_file():
            raise DamagedScenario(f"{self.folder / FILE}: there is no file {self.model.partition(':')[0]}")
        return str(self.folder / self.model)


def name_of(folder: Path) -> str:
    """The name of a scenario, which is the name of its folder."""
    return folder.resolve().name


def read(folder: Path, root: Path | None = None) -> Scenario:
    """The scenario in a folder.

    Raises `DamagedScenario` if the file is missing or has a mistake, and OSError if it cannot be read.
    """
    path = folder / FILE
    if not path.is_file():
        raise DamagedScenario(f"{folder} is not a scenario: it has no {FILE}")
    try:
        data = tomllib.loads(path.read_bytes().decode("utf-8"))
    except tomllib.TOMLDecodeError as error:
        raise DamagedScenario(f"{path}: not TOML: {error}") from None
    except UnicodeDecodeError:
        raise DamagedScenario(f"{path}: not UTF-8 text") from None
    except RecursionError:
        raise DamagedScenario(f"{path}: nested too deeply") from None
    _check_keys(path, data)
    _check_lengths(path, data)
    return Scenario(
        folder=folder,
        root=folder if root is None else root,
        title=data["title"],
        model=data["model"],
        settings=data.get("settings", {}),
        invariants=None if "invariants" not in data else tuple(data["invariants"]),
        deadlock=data.get("deadlock", False),
        keep_going=data.get("keep_going", False),
        expect=data["expect"],
        lengths=data.get("lengths", {}),
        source=tuple(data["source"]),
        story=" ".join(data["story"].split()),
        fixed_versions=_texts(data.get("control", [])),
        note=data.get("note"),
        seen_to_hold=data.get("seen_to_hold", {}),
        liveness=tuple(data.get("liveness", [])),
        fairness=Fairness.from_json({"default": "weak", **data.get("fairness", {})}),
    )


# --- what may stand in a file ---------------------------------------------------------------------------------------


def _is_line(value: Any) -> bool:
    return isinstance(value, str) and bool(value.strip()) and len(value.splitlines()) == 1


def _is_text(value: Any) -> bool:
    return isinstance(value, str) and bool(value.strip())


def _is_flag(value: Any) -> bool:
    return isinstance(value, bool)


def _are_lines(value: Any) -> bool:
    return isinstance(value, list) and all(map(_is_line, value))


def _are_some(value: Any) -> bool:
    return bool(value) and _are_lines(value)


def _are_names(value: Any) -> bool:
    return _is_line(value) or _are_some(value)


def _are_settings(value: Any) -> bool:
    return isinstance(value, dict) and all(type(x) in (int, bool, str) for x in value.values())


def _are_lengths(value: Any) -> bool:
    return isinstance(value, dict) and all(type(x) is int and x >= 1 for x in value.values())


def _is_fairness(value: Any) -> bool:
    try:
        Fairness.from_json({"default": "weak", **value})
    except (TypeError, ValueError):
        return False
    return set(value) <= {"default", "strong", "weak", "unfair"}


def _texts(value: str | list[str]) -> tuple[str, ...]:
    return (value,) if isinstance(value, str) else tuple(value)


@dataclass(frozen=True)
class _Key:
    """The rule for a key of `scenario.toml`: `fits` tests a value, and `words` describes the allowed values."""

    fits: Callable[[Any], bool]
    words: str
    required: bool = False


KEYS: Final = {
    "title": _Key(_is_line, "one line of text", True),
    "model": _Key(_is_line, 'the name of a model, or "file.py:Class"', True),
    "settings": _Key(_are_settings, "a table of numbers, booleans and strings"),
    "invariants": _Key(_are_some, "a non-empty list of names"),
    "liveness": _Key(_are_some, "a non-empty list of properties"),
    "fairness": _Key(_is_fairness, "a table of default (weak or strong) and of strong, weak, unfair: lists of actions"),
    "deadlock": _Key(_is_flag, "true or false"),
    "keep_going": _Key(_is_flag, "true or false"),
    "expect": _Key(lambda x: x in ("violated", "holds"), '"violated" or "holds"', True),
    "lengths": _Key(_are_lengths, "a table of invariants with numbers of states"),
    "source": _Key(_are_lines, 'a list such as ["KIP-101", "KAFKA-1211"]', True),
    "story": _Key(_is_text, "a paragraph of text", True),
    "control": _Key(_are_names, "the name of a scenario next to this one, or a list of names"),
    "note": _Key(_is_text, "text"),
    "seen_to_hold": _Key(_are_settings, "a table of bounds, wider than in settings"),
}


def _check_keys(path: Path, data: dict[str, Any]) -> None:
    for key, value in data.items():
        if key not in KEYS:
            raise DamagedScenario(f"{path}: there is no key {key!r}; {nearest(key, KEYS)}")
        if not KEYS[key].fits(value):
            raise DamagedScenario(f"{path}: {key} is {_shown(value)}; write {KEYS[key].words}")
    for key, rule in KEYS.items():
        if rule.required and key not in data:
            raise DamagedScenario(f"{path}: {key} is missing; write {rule.words}")


def _check_lengths(path: Path, data: dict[str, Any]) -> None:
    """Raises `DamagedScenario` if keys contradict each other, such as lengths of an invariant that is not checked.

    Missing lengths are no error here: `unmet` reports them.
    """
    lengths = data.get("lengths", {})
    if data["expect"] == "holds" and lengths:
        raise DamagedScenario(f'{path}: lengths cannot be combined with expect = "holds"; remove them')
    if data["expect"] == "violated" and "seen_to_hold" in data:
        raise DamagedScenario(f'{path}: seen_to_hold cannot be combined with expect = "violated"; remove it')
    if DEADLOCK in lengths and not data.get("deadlock", False):
        raise DamagedScenario(f"{path}: lengths has an entry for deadlock, which is not checked; add deadlock = true")
    if "fairness" in data and "liveness" not in data:
        raise DamagedScenario(f"{path}: fairness requires a property; name one in liveness")
    asked = data.get("invariants")
    if asked is not None:
        asked = [*asked, *data.get("liveness", [])]
    for name in lengths:
        if asked is not None and name not in (*asked, DEADLOCK):
            raise DamagedScenario(f"{path}: lengths has {name!r}, which is not checked; {nearest(name, asked)}")


def _shown(value: Any) -> str:
    text = repr(value)
    return text if len(text) <= 60 else text[:57] + "..."


COUNTS: Final = "expected.json"


TEXT: Final = "trace.txt"


ITF: Final = "trace.itf.json"


GENERATED: Final = (COUNTS, ITF, TEXT)
