"""Former names of the language and of the package are refused in one line that says the new name."""

from __future__ import annotations

from pathlib import Path

import pytest
from click.testing import CliRunner

import isrcheck
from isrcheck.checker.cli import main
from tests.language.test_mistakes_in_declarations import written

LANE = "def lane(self, actor, parameters): return actor"
FORMER: dict[str, tuple[dict[str, str], str]] = {
    "together": ({"BODY": "together = ()"}, "3: Mine.together is now called setting_constraints; rename it"),
    "lane": ({"BODY": LANE}, "3: Mine.lane is now called lifeline; rename it"),
    "told": (
        {"BODY": "def told_go(self, old, new): return 'it goes'"}, "5: told_go is now called describe_go; rename it",
    ),
    "perturbation": (
        {"ACTION": '@action(actor="clock", perturbation=True)'},
        "10: perturbation= is now called environment=; write environment=True",
    ),
    "clash": (
        {"BEFORE": "from isrcheck import clash"},
        "2: ImportError: isrcheck.clash is now called isrcheck.conflict; fix the model",
    ),
}  # fmt: skip
"""The change of the model, and the message after the file's name."""


@pytest.mark.parametrize("name", FORMER)
def test_a_former_name_in_a_model_is_refused(tmp_path: Path, name: str) -> None:
    changes, line = FORMER[name]
    done = CliRunner().invoke(main, ["check", str(written(tmp_path, changes)), "--quiet"])
    assert (done.exit_code, done.stdout) == (150, "")
    assert done.stderr == f"isrcheck: mine.py:{line}\n"


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("Finding", "InvariantResult"),
        ("PropertyFinding", "PropertyResult"),
        ("clash", "conflict"),
        ("idle", "inert"),
    ],
)
def test_a_former_name_of_the_package_is_refused(old: str, new: str) -> None:
    with pytest.raises(ImportError, match=rf"isrcheck\.{old} is now called isrcheck\.{new}"):
        getattr(isrcheck, old)


def test_a_former_name_of_a_result_is_refused() -> None:
    result = isrcheck.check("kip-320", {"replicas": 2, "log_size": 1, "max_records": 1, "max_leader_epoch": 1})
    with pytest.raises(AttributeError, match="no attribute 'findings'; it is now called `invariants`"):
        getattr(result, "findings")  # noqa: B009
    assert not hasattr(result, "nothing_of_this_name")
