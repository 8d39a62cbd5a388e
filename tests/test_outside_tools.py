"""A test that needs another project's tool is skipped with the reason, or fails if CI requires the tool."""

from __future__ import annotations

import shutil
import subprocess
import sys
from pathlib import Path

import pytest

CASE = """
import pytest

@pytest.mark.needs("no-such-tool")
def test_of_the_tool():
    pass

@pytest.mark.needs("git")
def test_of_a_tool_that_is_there():
    pass
"""


def run(folder: Path, required: str) -> str:
    (folder / "test_tool.py").write_text(CASE)
    (folder / "pytest.ini").write_text("[pytest]\nmarkers = needs(tool): an outside tool\naddopts = -ra\n")
    shutil.copy(Path(__file__).parent / "conftest.py", folder)
    command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", str(folder)]
    environment = {"PATH": "/usr/bin:/bin", "ISRCHECK_REQUIRE": required}
    return subprocess.run(command, capture_output=True, text=True, cwd=folder, env=environment, check=False).stdout


@pytest.mark.exhaustive
def test_an_absent_tool_skips_its_tests_with_the_reason(tmp_path: Path) -> None:
    out = run(tmp_path, required="")
    assert "no-such-tool is not installed" in out
    assert "1 passed, 1 skipped" in out


@pytest.mark.exhaustive
def test_an_absent_tool_that_is_required_fails_its_tests(tmp_path: Path) -> None:
    out = run(tmp_path, required="git,no-such-tool")
    assert "no-such-tool is required (ISRCHECK_REQUIRE) and not installed" in out
    assert "1 passed" in out
    assert "1 error" in out or "1 failed" in out
