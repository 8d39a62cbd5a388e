"""The help of the command line: few commands, in groups, and old names that lead to new ones."""

from __future__ import annotations

import re

import pytest
from click.testing import CliRunner

from isrcheck.checker.cli import COMMANDS, main
from isrcheck.checker.cli.help import GROUPS, RENAMED
from tests.cli.running import run


def test_the_help_has_every_command_once_in_its_group() -> None:
    shown = run("--help").out
    assert re.findall(r"^  ([a-z][a-z-]+)(?:  |$)", shown, re.M) == list(COMMANDS)
    assert len(COMMANDS) <= 17
    assert [line[:-1] for line in shown.splitlines() if re.match(r"[A-Z].*:$", line)] == [
        "Get started", *GROUPS, "Options",
    ]  # fmt: skip


@pytest.mark.parametrize("name", RENAMED)
def test_an_old_name_leads_to_the_new_one(name: str) -> None:
    outcome = run(name, "some", "--words")
    assert (outcome.code, outcome.out) == (2, "")
    assert outcome.err == f"isrcheck: isrcheck {name} is now isrcheck {RENAMED[name]}\n"
    assert name not in COMMANDS


@pytest.mark.parametrize("name", RENAMED)
def test_a_new_name_is_a_command_with_its_options(name: str) -> None:
    """The words of the message: a command or an option, and the options that follow it."""
    for words in RENAMED[name].replace("(datasets)", "").replace("(models)", "").split(" or isrcheck "):
        commands = [word for word in words.split() if word.islower() and not word.startswith("-")]
        shown = CliRunner().invoke(main, [*(x for x in commands if x != "dot"), "--help"]).output
        for option in (word for word in words.split() if word.startswith("--")):
            assert f" {option} " in shown


def test_the_options_of_check_are_under_headings() -> None:
    shown = run("check", "--help").out
    headings = [line[:-1] for line in shown.splitlines() if re.match(r"[A-Z].*:$", line)]
    assert headings == [
        "What to check", "Liveness", "Search", "Bounds and limits", "Report", "Output", "Large spaces", "Spark",
        "Options",
    ]  # fmt: skip
    assert re.search(r"^Options:\n  -h, --help", shown, re.M)


@pytest.mark.parametrize("name", COMMANDS)
def test_every_command_has_help_of_eighty_columns(name: str) -> None:
    lines = run(name, "--help").out.splitlines()
    assert lines[0].startswith(f"Usage: isrcheck {name} ")
    assert max(map(len, lines)) <= 80


def test_the_list_of_scenarios_has_a_hundred_columns() -> None:
    lines = run("scenarios", "--shipped").out.splitlines()
    assert max(map(len, lines)) <= 100
    assert "kip-101  " in "\n".join(lines)
