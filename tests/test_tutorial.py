"""The tutorial, followed literally in an empty folder."""

from __future__ import annotations

import re
import shlex
from pathlib import Path

import pytest

from tests.cli.running import run

ROOT = Path(__file__).parent.parent
TEXT = (ROOT / "docs/tutorials/variant.md").read_text()
PART = re.compile(r"^<!-- write: (\S+) -->\n```\w+\n(.*?)^```|^```console\n(.*?)^```", re.S | re.M)


def is_shown(line: str, output: list[str]) -> list[str]:
    """The output after a line that is shown. `[...]` at the end of this line stands for its rest."""
    start, rest, _ = line.partition("[...]")
    for n, found in enumerate(output):
        if found == line or (rest and start and found.startswith(start)):
            return output[n + 1 :]
    raise AssertionError(f"{line!r} is not in the output, or not in this place: {output}")


def follow(console: str) -> int:
    """Runs each command of a block, and asserts that the shown lines occur. Returns the number of commands."""
    commands = re.split(r"^\$ ", console, flags=re.M)[1:]
    for part in commands:
        command, *lines = part.splitlines()
        program, *words = shlex.split(command)
        assert program == "isrcheck"
        output = run(*words).out.splitlines()
        for line in lines:
            if line.strip() not in ("", "[...]"):
                output = is_shown(line, output)
    return len(commands)


@pytest.mark.exhaustive
def test_the_tutorial_does_what_it_says(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    count = 0
    for path, content, console in PART.findall(TEXT):
        if path:
            Path(path).write_text(content)
        else:
            count += follow(console)
    assert count == 10
