"""No command overwrites a file that it reads, or that people write; only an earlier output is replaced."""

from __future__ import annotations

import errno
import json
import os
import shutil
from pathlib import Path
from typing import Any

import click
import pytest

from isrcheck.checker.cli import main
from isrcheck.checker.cli.output_files import WRITTEN, require_new_folder, require_writable
from isrcheck.checker.report.outputs import OUTPUTS
from isrcheck.checker.results.errors import CommandError
from tests.cli.running import counter, run


def commands() -> list[tuple[str, click.Command]]:
    """Every command, and every command of a group of commands."""
    found: list[tuple[str, click.Command]] = []
    pending: list[tuple[str, click.Command]] = [("", main)]
    while pending:
        name, command = pending.pop()
        if isinstance(command, click.Group):
            context = click.Context(command)
            inner = [(each, command.get_command(context, each)) for each in command.list_commands(context)]
            pending += [(f"{name} {each}".strip(), of) for each, of in inner if of is not None]
        found.append((name, command))
    return sorted(found, key=lambda pair: pair[0])


READERS = [
    (name, option.opts[0], read.name or "")
    for name, command in commands()
    for option in command.params
    if isinstance(option, click.Option) and option.name in WRITTEN
    for read in command.params
    if read.name not in WRITTEN and isinstance(read.type, click.types.StringParamType) and not read.multiple
]
"""Every option of every command that names a file to write, with every parameter that may name a file to read."""


@pytest.mark.parametrize(("name", "option", "read"), READERS)
def test_no_output_replaces_a_file_that_the_command_line_names_elsewhere(
    name: str, option: str, read: str, tmp_path: Path
) -> None:
    path = tmp_path / "mine"
    path.write_text("written by hand\n")
    command = dict(commands())[name]
    context = click.Context(command)
    parameter = next(each for each in command.params if each.name == read)
    for value in (str(path), f"{path}:Class", (str(path),), str(tmp_path / "." / "mine")):
        context.params = {read: value, option.removeprefix("--"): str(path)}
        with context, pytest.raises(click.UsageError) as refused:
            require_writable(str(path))
        assert str(path) in refused.value.message
        assert (parameter.opts[-1] if isinstance(parameter, click.Option) else "") in refused.value.message
    assert path.read_text() == "written by hand\n"


def test_every_output_is_known_as_one() -> None:
    assert {each.name for each in OUTPUTS if each.is_file} <= WRITTEN
    writing = {
        option.name
        for _, command in commands()
        for option in command.params
        if isinstance(option, click.Option) and (option.help or "").startswith("Write") and option.metavar == "FILE"
    }
    assert writing - {"around"} <= WRITTEN  # --around names a trace, "Write only states on or near a trace"


def test_the_model_that_is_checked_is_not_replaced(tmp_path: Path) -> None:
    model = counter(tmp_path)
    before = model.read_text()
    link = tmp_path / "link.json"
    link.symlink_to(model)
    hard = tmp_path / "hard.json"
    os.link(model, hard)
    for path in (model, link, hard):
        for spec in (str(model), f"{model}:Counter"):
            refused = run("check", spec, "--json", path, "--quiet")
            assert (refused.code, refused.out) == (2, "")
            assert f"{path} is also the file of MODEL; name another file to write" in refused.err
    assert model.read_text() == before


@pytest.mark.parametrize("name", ["words.py", "scenario.toml"])
def test_no_source_is_replaced(tmp_path: Path, name: str) -> None:
    path = tmp_path / name
    path.write_text("mine = 1\n")
    refused = run("check", counter(tmp_path), "--json", path, "--quiet")
    assert (refused.code, refused.out) == (153, "")
    assert refused.err == f"isrcheck: {path} already exists and was not written by isrcheck; choose another file\n"
    assert path.read_text() == "mine = 1\n"


def test_an_earlier_output_is_replaced(tmp_path: Path) -> None:
    path = tmp_path / "r.json"
    path.write_text("{}")
    assert run("check", counter(tmp_path), "--json", path, "--quiet").code == 0
    assert json.loads(path.read_text())["verdict"] == "holds"


def test_a_recorded_trace_is_not_replaced_by_its_page(tmp_path: Path) -> None:
    path = tmp_path / "t"
    assert run("check", counter(tmp_path), "-s", "least=2", "--json", path, "--quiet").code == 12
    before = path.read_text()
    refused = run("replay", path, "--html", path)
    assert (refused.code, f"{path} is also the file of FILE" in refused.err) == (2, True)
    assert path.read_text() == before


def test_a_configuration_that_people_wrote_is_not_replaced(tmp_path: Path) -> None:
    module, beside = tmp_path / "counter.tla", tmp_path / "counter.cfg"
    words = ("export", counter(tmp_path), "--to", "tla", "--output", module)
    assert run(*words).code == 0
    written = beside.read_text()
    assert run(*words, "-s", "top=4").code == 0
    beside.write_text(written + "INVARIANT Mine\n")
    before = module.read_text()
    refused = run(*words)
    assert (refused.code, refused.err.count("\n")) == (153, 1)
    assert f"{beside} is there already, and is no output of isrcheck" in refused.err
    assert (beside.read_text(), module.read_text()) == (written + "INVARIANT Mine\n", before)


def test_tables_are_written_into_a_new_folder_only(tmp_path: Path) -> None:
    require_new_folder(str(tmp_path / "new"))
    (tmp_path / "empty").mkdir()
    require_new_folder(str(tmp_path / "empty"))
    (tmp_path / "letter.txt").write_text("mine")
    for path in (tmp_path, tmp_path / "letter.txt"):
        with pytest.raises(CommandError, match="it already exists; choose a new folder") as refused:
            require_new_folder(str(path))
        assert refused.value.code == 153
        assert run("analyze", tmp_path / "no-dataset", "--decode", path).err == f"isrcheck: {refused.value.message}\n"


def test_an_update_on_a_full_disk_leaves_the_recorded_files(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    folder = tmp_path / "small"
    words = ("--model", counter(tmp_path), "-s", "least=2", "--invariant", "is-small", "--in", tmp_path)
    assert run("scenarios", "new", "small", *words).code == 0
    trace = folder / "trace.txt"
    trace.write_text("as it was\n")
    kept = {path.name: path.read_bytes() for path in folder.iterdir()}

    def full(*arguments: Any, **more: Any) -> None:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    monkeypatch.setattr("isrcheck.checker.cli.output_files._replace", full)
    refused = run("regress", tmp_path, "--update")
    assert refused.code == 153
    assert f"cannot write {trace}: No space left on device" in refused.out
    assert {path.name: path.read_bytes() for path in folder.iterdir()} == kept
    monkeypatch.undo()
    assert "rewritten: trace.txt" in run("regress", tmp_path, "--update").out
    shutil.rmtree(folder)
