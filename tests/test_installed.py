"""The wheel installs one package, `isrcheck`, which also works beside packages with the names of its folders."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import sysconfig
import venv
from pathlib import Path

import pytest

import isrcheck
import isrcheck.model.language
from tests.cli.running import counter
from tests.scenarios.shipped import FOLDERS

ROOT = Path(__file__).parent.parent
SHIPPED = ("model", "invariants", "checker", "counterexamples")
OWN = """\
from isrcheck import Model, action, broker, number, setting


class Mine(Model):
    \"\"\"Counts.\"\"\"

    replicas = setting(2, at_least=1, at_most=3, counts=broker, meaning="how many there are")

    def variables(self):
        return {"count": number(0, 3)}

    @action(b=broker, actor="b")
    def counts(self, s, b):
        \"\"\"Counts one up.\"\"\"
        s.require(s.count < 3)
        s.count = s.count + 1
"""
TESTS = """\
import checker, invariants, model  # the project's own
from isrcheck.testing import assert_holds, assert_violated

TINY = {"replicas": 2, "log_size": 1, "max_records": 1, "max_leader_epoch": 0}


def test_own_packages():
    assert (model.OURS, invariants.OURS, checker.OURS) == (False, False, False)


def test_holds():
    assert_holds("kip-101", TINY)


def test_is_violated():
    assert_violated("counter.py", {"least": 2}, length=3)
"""
API = """\
import sys
import isrcheck
assert not {m for m in sys.modules if m.startswith("isrcheck.")}, "nothing is imported before it is used"
print(isrcheck.check("kip-101", {"replicas": 2}).verdict)
"""


class Installed:
    """A virtual environment with the wheel. Dependencies come from the environment of these tests."""

    def __init__(self, folder: Path) -> None:
        sources, wheels = folder / "sources", folder / "wheels"
        for name in ("isrcheck", *SHIPPED):
            unwanted = shutil.ignore_patterns("__pycache__")
            shutil.copytree(ROOT / name, sources / name, symlinks=True, ignore=unwanted)
        for name in ("pyproject.toml", "README.md", "LICENSE"):
            shutil.copy(ROOT / name, sources)
        pip = [sys.executable, "-m", "pip", "--disable-pip-version-check", "-q"]
        asked = ["--no-deps", "--no-build-isolation", "-w", str(wheels), str(sources)]
        subprocess.run([*pip, "wheel", *asked], check=True)
        self.folder = folder / "environment"
        venv.create(self.folder, with_pip=False)
        (self.wheel,) = wheels.glob("isrcheck-*.whl")
        self.python = str(self.folder / "bin" / "python")
        subprocess.run([*pip, "--python", self.python, "install", "--no-deps", "--no-index", self.wheel], check=True)
        self.packages = Path(sysconfig.get_path("purelib", vars={"base": str(self.folder)}))
        (self.packages / "others.pth").write_text(sysconfig.get_path("purelib"))

    def run(self, cwd: Path, *words: object, code: int = 0) -> str:
        """The standard output of a command in this environment. Asserts its exit code."""
        command = [str(self.folder / "bin" / str(words[0])), *map(str, words[1:])]
        environment = {name: x for name, x in os.environ.items() if not name.startswith(("PYTHON", "PYTEST"))}
        done = subprocess.run(command, cwd=cwd, env=environment, capture_output=True, text=True, check=False)
        assert done.returncode == code, (words, done.stdout[-2000:], done.stderr[-2000:])
        return done.stdout + done.stderr


@pytest.fixture
def installed(tmp_path: Path) -> Installed:
    return Installed(tmp_path / "installed")


@pytest.mark.exhaustive
def test_a_wheel_in_an_empty_folder_and_beside_packages_of_the_same_names(installed: Installed, tmp_path: Path) -> None:
    (record,) = installed.packages.glob("isrcheck-*.dist-info/RECORD")
    places = {line.partition("/")[0] for line in record.read_text().splitlines()}
    assert places == {"isrcheck", record.parent.name, ".."}, "only the command lies outside, in bin"
    modules = {path.relative_to(ROOT) for name in SHIPPED for path in (ROOT / name).rglob("*.py")}
    assert not [path for path in modules if not (installed.packages / "isrcheck" / path).is_file()]

    for name in ("empty", "beside"):
        folder = tmp_path / name
        folder.mkdir()
        if name == "beside":
            for own in ("model", "invariants", "checker"):
                (folder / own).mkdir()
                (folder / own / "__init__.py").write_text("OURS = False\n")
        answers_as_documented(installed, folder)

    counter(tmp_path / "beside")
    (tmp_path / "beside" / "test_protocol.py").write_text(TESTS)
    said = installed.run(tmp_path / "beside", "python", "-m", "pytest", "-q", "-p", "isrcheck.pytest_plugin")
    assert "3 passed" in said


def answers_as_documented(installed: Installed, folder: Path) -> None:
    assert installed.run(folder, "isrcheck", "check", "kip-101", "-s", "replicas=2", "--quiet", code=12).startswith(
        "VIOLATED  kip-101: strong-isr in 12 states, weak-isr in 12 states\n"
    )
    shipped = {path.parent.name for path in ROOT.glob("counterexamples/**/scenario.toml")}
    assert {each["name"] for each in json.loads(installed.run(folder, "isrcheck", "scenarios", "--json"))} == shipped
    assert "as expected: violated" in installed.run(folder, "isrcheck", "check", "--scenario", "kip-101", code=12)
    refused = installed.run(folder, "isrcheck", "regress", "--update", code=2)
    assert "--update does not rewrite the scenarios that ship with isrcheck" in refused
    recorded = installed.packages / "isrcheck" / FOLDERS["kip-101"].relative_to(ROOT)
    assert "1 as recorded" in installed.run(folder, "isrcheck", "regress", recorded)
    assert "Why must a follower not truncate" in installed.run(folder, "isrcheck", "course", "lessons")
    assert installed.run(folder, "isrcheck", "course", "lessons", "7").startswith("# 7. Everybody in the ISR is dead.")
    (folder / "mine.py").write_text(OWN)
    assert "NOTHING ASKED" in installed.run(folder, "isrcheck", "check", "mine.py", "--quiet")
    assert installed.run(folder, "python", "-c", API) == "violated\n"


@pytest.mark.release
@pytest.mark.exhaustive
def test_every_shipped_scenario_is_as_recorded_from_a_wheel(installed: Installed, tmp_path: Path) -> None:
    count = len(list(ROOT.glob("counterexamples/**/scenario.toml")))
    assert f"{count} scenarios: {count} as recorded" in installed.run(tmp_path, "isrcheck", "regress")


def test_the_package_links_to_the_folders() -> None:
    assert {path.name: path.resolve() for path in (ROOT / "isrcheck").iterdir() if path.is_symlink()} == {
        name: ROOT / name for name in SHIPPED
    }


@pytest.mark.parametrize("name", isrcheck.__all__)
def test_a_public_name_leads_somewhere_and_says_what_it_is(name: str) -> None:
    value = getattr(isrcheck, name)
    assert name == "none" or value.__doc__, f"isrcheck.{name} has no docstring"


def test_the_public_interface_has_the_whole_language_and_types_for_all_of_it() -> None:
    assert set(isrcheck.model.language.__all__) <= set(isrcheck.__all__)
    assert len(set(isrcheck.__all__)) == len(isrcheck.__all__)
    text = (ROOT / "isrcheck" / "__init__.py").read_text()
    typed = text.partition("if TYPE_CHECKING:")[2].partition("__all__")[0]
    assert not [name for name in isrcheck.__all__ if f" {name}" not in typed.replace("\n", " ")]
    with pytest.raises(AttributeError, match="module 'isrcheck' has no attribute 'chekc'"):
        isrcheck.chekc  # type: ignore[attr-defined]  # noqa: B018
