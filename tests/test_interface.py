"""The parts of the Python interface without tests elsewhere: proofs and replays, with the command line's answers."""

from __future__ import annotations

import re
import tomllib
from pathlib import Path

import pytest

import isrcheck
from isrcheck.checker.registry.loader import load_model_class
from tests.cli.running import counter, run
from tests.scenarios.shipped import FOLDERS

ROOT = Path(__file__).parent.parent
TINY = {"replicas": 2, "log_size": 1, "max_records": 1, "max_leader_epoch": 0}


@pytest.mark.exhaustive
def test_a_proof_by_name_is_that_of_the_command_line(tmp_path: Path) -> None:
    found = isrcheck.prove("kip-320", {"replicas": 2, "log_size": 2, "max_records": 2, "max_leader_epoch": 1})
    asked = [x for name in ("replicas=2", "log_size=2", "max_records=2", "max_leader_epoch=1") for x in ("-s", name)]
    assert (found.verdict, found.by) == ("proved", "lemmas")
    assert run("prove", "kip-320", *asked, "--quiet").out.startswith("PROVED")


def test_a_proof_of_a_class_is_an_induction(tmp_path: Path) -> None:
    cls = load_model_class(str(counter(tmp_path))).cls
    assert isrcheck.prove(cls, {"least": 9}, k=1).verdict == "proved"
    found = isrcheck.prove(cls(least=2), k=4)
    assert (found.verdict, found.exit_code) == ("violated", 12)


@pytest.mark.parametrize(
    ("asked", "message"),
    [
        ({"k": 0}, "k=0 is too small; the smallest value is k=1"),
        ({"k": 1, "unbounded": True}, "k means plain induction, without lemmas; remove proof and unbounded"),
        ({"unbounded": True}, "there is no shipped proof of kip-101 for these invariants; choose one: proof=..."),
    ],
)
def test_what_a_proof_cannot_be_asked(asked: dict[str, object], message: str) -> None:
    with pytest.raises(isrcheck.UnknownName) as refused:
        isrcheck.prove("kip-101", TINY, **asked)  # type: ignore[arg-type]
    assert str(refused.value) == message


def test_a_recorded_trace_is_replayed(tmp_path: Path) -> None:
    recorded = FOLDERS["kip-101"] / "trace.itf.json"
    (found,) = isrcheck.replay(recorded)
    assert (found.outcome.valid, found.confirmed) == (True, True)
    # The design that mends it refuses a step of that trace.
    (refused,) = isrcheck.replay(recorded, "kip-279")
    assert not refused.outcome.valid
    with pytest.raises(isrcheck.DamagedFile, match="it contains no trace of strange; known: "):
        isrcheck.replay(recorded, invariant="strange")
    with pytest.raises(isrcheck.UnknownName, match="model kip-101 has no setting 'replica'"):
        isrcheck.replay(recorded, settings={"replica": 2})


@pytest.mark.parametrize(
    ("asked", "message"),
    [
        ({"invariants": "weak-isr"}, "invariants must be a list of names: ['weak-isr']"),
        (
            {"settings": ["replicas"]},
            "settings must be a dict of names and values, such as {'replicas': 2}, not ['replicas']",
        ),
        ({"workers": "2"}, "workers must be an integer of at least 1, not '2'"),
        ({"limits": 100}, "limits must be isrcheck.Limits(states=..., seconds=..., memory=...), not 100"),
        (
            {"model": int},
            "a model must be a name, a file, a subclass of isrcheck.Model or an instance of one, not <class 'int'>",
        ),
        (
            {"model": None},
            "a model must be a name, a file, a subclass of isrcheck.Model or an instance of one, not None",
        ),
    ],
)
def test_what_is_no_question_is_said_in_one_line(asked: dict[str, object], message: str) -> None:
    with pytest.raises(isrcheck.UnknownName) as refused:
        isrcheck.check(**{"model": "kip-101", "settings": TINY, **asked})  # type: ignore[arg-type]
    assert str(refused.value) == message


def test_a_limit_is_a_number() -> None:
    with pytest.raises(isrcheck.UnknownName, match="limits: states must be a number or None, not -1"):
        isrcheck.Limits(states=-1)


def test_the_version_is_the_newest_in_the_changelog() -> None:
    newest = re.search(r"^## (\d+\.\d+\.\d+) - ", (ROOT / "CHANGELOG.md").read_text(), re.MULTILINE)
    assert newest is not None
    assert isrcheck.__version__ == newest.group(1)
    package = tomllib.loads((ROOT / "pyproject.toml").read_text())
    assert package["project"]["dynamic"] == ["version"]
    assert package["tool"]["setuptools"]["dynamic"]["version"] == {"attr": "isrcheck.__version__"}
