"""The parts of the Python interface without tests elsewhere: proofs and replays, with the command line's answers."""

from __future__ import annotations

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
        ({"k": 0}, "k=0 proves nothing; induction needs one state or more: k=1"),
        ({"k": 1, "unbounded": True}, "k asks for plain induction, without lemmas; take proof and unbounded away"),
        ({"unbounded": True}, "no proof of kip-101 ships for these invariants; name one: proof=..."),
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
    with pytest.raises(isrcheck.DamagedFile, match="it has no trace of strange; known: "):
        isrcheck.replay(recorded, invariant="strange")
    with pytest.raises(isrcheck.UnknownName, match="model kip-101 has no setting 'replica'"):
        isrcheck.replay(recorded, settings={"replica": 2})


@pytest.mark.parametrize(
    ("asked", "message"),
    [
        ({"invariants": "weak-isr"}, "invariants are a list of names: ['weak-isr']"),
        ({"settings": ["replicas"]}, "settings are values by their names, such as {'replicas': 2}, not ['replicas']"),
        ({"workers": "2"}, "'2' workers do no work; take a whole number, one or more"),
        ({"limits": 100}, "limits are isrcheck.Limits(states=..., seconds=..., memory=...), not 100"),
        (
            {"model": int},
            "a model is a name, a file, a class of isrcheck.Model or an instance of one, not <class 'int'>",
        ),
        ({"model": None}, "a model is a name, a file, a class of isrcheck.Model or an instance of one, not None"),
    ],
)
def test_what_is_no_question_is_said_in_one_line(asked: dict[str, object], message: str) -> None:
    with pytest.raises(isrcheck.UnknownName) as refused:
        isrcheck.check(**{"model": "kip-101", "settings": TINY, **asked})  # type: ignore[arg-type]
    assert str(refused.value) == message


def test_a_limit_is_a_number() -> None:
    with pytest.raises(isrcheck.UnknownName, match="limits: states is a number, not -1; None is no limit"):
        isrcheck.Limits(states=-1)
