"""Renews the output that pages show: `python -m tests.regenerate_documents [PAGE ...]`.

A shown line that is no longer printed is replaced by the most similar printed line. The program prints each change.
Read the changes, because the text around an example may describe the old output.
"""

from __future__ import annotations

import shlex
import sys
from difflib import SequenceMatcher

from click.testing import CliRunner

from isrcheck.checker.cli import main
from tests.test_documents import EXAMPLES, ROOT


def regenerate(page: str, command: str, lines: list[str]) -> None:
    """Renews the lines of one example."""
    output = CliRunner().invoke(main, shlex.split(command)[1:]).output.splitlines()
    text = (ROOT / page).read_text()
    for line in lines:
        if line.strip() != "[...]" and line not in output:
            nearest = max(output, key=lambda printed: SequenceMatcher(None, line, printed).ratio(), default=line)
            print(f"{page}: {command}\n- {line}\n+ {nearest}")
            text = text.replace(f"{line}\n", f"{nearest}\n")
    (ROOT / page).write_text(text)


if __name__ == "__main__":
    if unknown := {*sys.argv[1:]} - {page for page, _, _ in EXAMPLES}:
        sys.exit(
            f"no examples in {', '.join(sorted(unknown))}; pages: {', '.join(sorted({x for x, _, _ in EXAMPLES}))}"
        )
    for page, command, lines in EXAMPLES:
        if not sys.argv[1:] or page in sys.argv[1:]:
            regenerate(page, command, lines)
