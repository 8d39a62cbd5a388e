"""The completions after Tab, requested in the way of click's own shell scripts."""

from __future__ import annotations

import pytest
from click.shell_completion import ShellComplete

from isrcheck.checker.cli import main


def offered(*words: str) -> list[str]:
    """The completions of the last word."""
    asked = ShellComplete(main, {}, "isrcheck", "_ISRCHECK_COMPLETE")
    return [item.value for item in asked.get_completions([*words[:-1]], words[-1])]


@pytest.mark.parametrize("command", ["check", "explore", "simulate", "models"])
def test_models_are_offered(command: str) -> None:
    assert offered(command, "kip-3") == ["kip-320", "kip-320-first-try"]


def test_a_file_is_the_shells_to_complete() -> None:
    asked = ShellComplete(main, {}, "isrcheck", "_ISRCHECK_COMPLETE").get_completions(["check"], "my_m")
    assert [(item.type, item.value) for item in asked] == [("file", "my_m")]


def test_settings_are_offered_with_their_values() -> None:
    assert offered("check", "v3", "-s", "isr_w") == ["isr_write="]
    assert offered("check", "v3", "-s", "isr_write=c") == ["isr_write=conditional"]
    assert offered("check", "v3", "-s", "unclean=") == ["unclean=true", "unclean=false"]
    assert offered("check", "v3", "-s", "replicas=") == []
    assert offered("check", "v3", "-s", "none=") == []
    assert offered("check", "my_model.py", "-s", "") == []


def test_scenarios_and_invariants_are_offered() -> None:
    assert offered("simulate", "--scenario", "v1-split") == [
        "v1-split-brain",
        "v1-split-brain-fixed-by-conditional-writes",
    ]
    assert offered("check", "kip-320", "--invariant", "w") == ["weak-isr"]
    assert offered("check", "--invariant", "w") == []
