"""Records the answers at the smallest settings: run `python -m tests.smallest.regenerate`, then read the difference."""

from __future__ import annotations

from pathlib import Path
from typing import Final

from isrcheck.checker.scenarios.derived_files import as_text
from tests.smallest.questions import QUESTIONS, answer

RECORDED: Final = Path(__file__).parent / "recorded.json"

if __name__ == "__main__":
    RECORDED.write_text(as_text({question: answer(question).data for question in QUESTIONS}))
