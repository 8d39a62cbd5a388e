"""`isrcheck.testing` and the plugin in a user's tests, which pytest runs in a separate process."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path
from xml.etree import ElementTree

import pytest

from isrcheck import Limits
from isrcheck.testing import NotAsAsserted, assert_as_recorded, assert_holds, assert_violated, scenarios
from tests.cli.running import counter
from tests.scenarios.shipped import FOLDERS

ROOT = Path(__file__).parent.parent.parent
TWO = {"replicas": 2}


def test_what_holds_is_given_back() -> None:
    assert assert_holds("kip-320", TWO, ["weak-isr"]).verdict == "holds"


def test_a_violation_fails_with_the_counterexample_in_its_message() -> None:
    with pytest.raises(NotAsAsserted) as caught:
        assert_holds("kip-101", TWO, ["weak-isr"])
    lines = str(caught.value).splitlines()
    assert lines[0] == "VIOLATED  kip-101: weak-isr in 12 states"
    assert "Counterexample: weak-isr" in lines
    assert caught.value.result.exit_code == 12


def test_an_unfinished_search_holds_nothing() -> None:
    with pytest.raises(NotAsAsserted, match="INCOMPLETE  kip-320: more than 10 states"):
        assert_holds("kip-320", TWO, limits=Limits(states=10))


def test_a_violation_may_be_what_is_expected() -> None:
    assert_violated("kip-101", TWO, ["strong-isr", "weak-isr"], length=12)
    with pytest.raises(NotAsAsserted, match=r"the shortest trace has 12 states; 11 were expected"):
        assert_violated("kip-101", TWO, ["weak-isr"], length=11)
    with pytest.raises(NotAsAsserted, match=r"leader-in-isr-or-none was expected to be violated"):
        assert_violated("kip-101", TWO, ["weak-isr", "leader-in-isr-or-none"])
    with pytest.raises(NotAsAsserted, match=r"deadlock was expected to be violated"):
        assert_violated("kip-101", {**TWO, "max_leader_epoch": 0}, [], deadlock=True, limits=Limits(states=1))


@pytest.mark.parametrize("scenario", scenarios(FOLDERS["kip-101"]), ids=lambda s: s.name)
def test_a_scenario_is_a_parameter(scenario: object) -> None:
    assert_as_recorded(scenario)  # type: ignore[arg-type]


TESTS = """\
from isrcheck.testing import assert_holds


def test_small():
    assert_holds("counter.py", {"least": 2})


def test_top():
    assert_holds("counter.py", {"least": 9})
"""


def pytest_of(folder: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    """Runs a separate pytest with the plugin in a folder."""
    command = [sys.executable, "-m", "pytest", "-p", "isrcheck.pytest_plugin", "-p", "no:cacheprovider", *arguments]
    environment = {**os.environ, "PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1"}
    return subprocess.run(command, cwd=folder, env=environment, capture_output=True, text=True, check=False)


def test_a_failing_test_shows_the_trace_and_names_it_in_pytests_own_report(tmp_path: Path) -> None:
    counter(tmp_path)
    (tmp_path / "pytest.ini").write_text("[pytest]\n")
    (tmp_path / "test_counter.py").write_text(TESTS)
    outcome = pytest_of(tmp_path, "--junit-xml", "out.xml")
    assert outcome.returncode == 1
    assert "1 failed, 1 passed" in outcome.stdout
    assert "Counterexample: is-small" in outcome.stdout
    assert "checker/analysis/check.py" not in outcome.stdout, "the report shows the test, not the checker"
    properties = {p.attrib["name"]: p.attrib["value"] for p in ElementTree.parse(tmp_path / "out.xml").iter("property")}
    assert properties == {
        "isrcheck.model": "counter",
        "isrcheck.verdict": "violated",
        "isrcheck.length.is-small": "3",
    }


FOREIGN = """\
class Report:
    findings = ["not a dictionary"]


class Failed(Exception):
    result = Report()


class Pending(Exception):
    @property
    def result(self):
        raise RuntimeError("there is none yet")


def test_failed():
    raise Failed


def test_pending():
    raise Pending
"""


@pytest.mark.exhaustive
def test_exceptions_of_other_projects_that_have_a_result_are_left_alone(tmp_path: Path) -> None:
    (tmp_path / "pytest.ini").write_text("[pytest]\n")
    (tmp_path / "test_foreign.py").write_text(FOREIGN)
    outcome = pytest_of(tmp_path)
    assert (outcome.returncode, "2 failed" in outcome.stdout) == (1, True), outcome.stdout + outcome.stderr
    (tmp_path / "test_foreign.py").write_text(f"import isrcheck.testing\n\n\n{FOREIGN}")
    outcome = pytest_of(tmp_path)
    assert (outcome.returncode, "2 failed" in outcome.stdout) == (1, True), outcome.stdout + outcome.stderr


def test_scenarios_are_tests_where_they_are_asked_for(tmp_path: Path) -> None:
    shutil.copytree(FOLDERS["kip-101"], tmp_path / "kip-101")
    shutil.copytree(FOLDERS["kip-101-fixed-by-kip-279"], tmp_path / "kip-101-fixed-by-kip-279")
    (tmp_path / "pytest.ini").write_text("[pytest]\n")
    assert pytest_of(tmp_path).returncode == 5  # no tests
    outcome = pytest_of(tmp_path, "--isrcheck-scenarios")
    assert "2 passed" in outcome.stdout, outcome.stdout
    toml = tmp_path / "kip-101" / "scenario.toml"
    toml.write_text(toml.read_text().replace("weak-isr = 12", "weak-isr = 11"))
    outcome = pytest_of(tmp_path, "--isrcheck-scenarios")
    assert "1 failed, 1 passed" in outcome.stdout
    assert "weak-isr: violated in 12 states, expected violated in 11" in outcome.stdout
