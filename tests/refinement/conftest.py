"""A file with counters for the tests of the command."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.refinement.clocks import FILE


@pytest.fixture
def clock(tmp_path: Path) -> Path:
    file = tmp_path / "clock.py"
    file.write_text(FILE)
    return file
