"""Begins a new scenario: creates its folder with all derived files. The author then writes the story."""

from __future__ import annotations

import json
import os
import shutil
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Final

from isrcheck.checker.results.errors import CommandError
from isrcheck.checker.results.result import Exit
from isrcheck.checker.scenarios.derived_files import derive
from isrcheck.checker.scenarios.scenario import FILE, Scenario, read

TO_WRITE: Final = "To be written"


def begin(folder: Path, model: str, asked: Mapping[str, Any], settings: Mapping[str, Any]) -> Scenario:
    """Writes a scenario of `model` (a name or file, as for `isrcheck check`) into a new folder. Returns the scenario.

    `asked` has further keys of `scenario.toml`: invariants, deadlock, keep_going. Raises `CommandError` if the folder
    exists already, or if the search does not finish. Also raises the errors of `derive`. After an error, the new folder
    is removed.
    """
    if folder.exists() or folder.is_symlink():
        root = _root_of(folder, _seen_from(folder, model))
        raise CommandError(
            f"{folder} already exists; choose another name, or run: isrcheck regress {root}", Exit.OUTPUT
        )
    folder.mkdir(parents=True)
    try:
        data = {"model": _seen_from(folder, model), **asked}
        (folder / FILE).write_text(_text(data, settings, "holds", {}), encoding="utf-8")
        derived = derive(read(folder, _root_of(folder, data["model"])))
        if derived.unfinished is not None:
            raise CommandError(f"{folder.name}: {derived.unfinished[0]}; nothing was written", derived.unfinished[1])
        found = {name: f["length"] for name, f in derived.summary["invariants"].items() if "length" in f}
        text = _text(data, settings, "violated" if found else "holds", found)
        for name, content in {FILE: text, **derived.files}.items():
            (folder / name).write_text(content, encoding="utf-8")
        return read(folder, _root_of(folder, data["model"]))
    except BaseException:
        shutil.rmtree(folder)
        raise


def _seen_from(folder: Path, model: str) -> str:
    """The text for `model` in `scenario.toml`. A file gets a path relative to `folder`, and a name stays as it is."""
    file, colon, cls = model.partition(":")
    if not file.endswith(".py"):
        return model
    return Path(os.path.relpath(Path(file).resolve(), folder.resolve())).as_posix() + colon + cls


def _root_of(folder: Path, model: str) -> Path:
    """The innermost folder that contains the scenario and its model's file.

    For a shipped model, it is the scenario's folder.
    """
    ups = Path(model.partition(":")[0]).parts.count("..") if model.partition(":")[0].endswith(".py") else 0
    return Path(os.path.normpath(folder / Path(*[".."] * ups))) if ups else folder


def _text(data: Mapping[str, Any], settings: Mapping[str, Any], expect: str, lengths: Mapping[str, int]) -> str:
    """The text of a `scenario.toml`. Text, numbers, flags and lists are written as JSON, which is also valid TOML."""
    lines = [
        f'title = "{TO_WRITE}: what happens, in one line"',
        *(f"{key} = {json.dumps(value, ensure_ascii=False)}" for key, value in data.items() if value),
        f'expect = "{expect}"',
        "source = []",
        f'story = """\n{TO_WRITE}: in Kafka\'s terms, who does what, what is lost, and what would fix it.\n"""',
    ]
    for title, table in (("settings", settings), ("lengths", lengths)):
        if table:
            lines += ["", f"[{title}]", *(f"{key} = {json.dumps(value)}" for key, value in sorted(table.items()))]
    return "\n".join(lines) + "\n"
