"""`isrcheck prove` and `verify-proof`: exit codes, one line for each mistake, JSON."""

from __future__ import annotations

import hashlib
import json
import os
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import psutil
import pytest
from jsonschema import Draft202012Validator

import isrcheck.checker
from isrcheck.checker.proofs import certificates, side_conditions
from isrcheck.checker.proofs.certificates import Question, written
from isrcheck.checker.report.proof_text import verdict_line
from tests.cli.running import Outcome, run
from tests.marks import EXHAUSTIVE, one_in

HERE = Path(__file__).parent
TOYS = str(HERE / "toys.py")
HILL = ["prove", f"{TOYS}:Hill", "--proof", f"{TOYS}:SoundHillProof", "--quiet"]
SMALL = ["-s", "replicas=2", "-s", "log_size=1", "-s", "max_records=1", "-s", "max_leader_epoch=1"]


def read(path: Path) -> Any:
    """The JSON of a file, which the schema must allow."""
    data = json.loads(path.read_text())
    schema = json.loads((Path(isrcheck.checker.__file__).parent / "schema.json").read_text())
    Draft202012Validator(schema).validate(data)
    return data


def last_line(done: Outcome) -> str:
    return done.err.splitlines()[-1]


def test_proved(tmp_path: Path) -> None:
    done = run("prove", "kip-320", *SMALL, "--invariant", "strong-isr", "--json", tmp_path / "x.json")
    assert done.code == 0
    assert done.out.startswith("PROVED  kip-320: strong-isr; by 30 lemmas of kip-320-proof, with these settings, ")
    data = read(tmp_path / "x.json")
    assert (data["verdict"], data["exit_code"], data["form"], data["proof"]) == (
        "proved",
        0,
        "bit-vectors",
        "kip-320-proof",
    )
    assert data["settings"] == {"replicas": 2, "log_size": 1, "max_records": 1, "max_leader_epoch": 1}
    assert (data["failing"], data["failed_checks"]) == ([], [])
    assert set(data["solvers"]) == {"z3"}


def test_not_proved_shows_counterexamples_to_induction(tmp_path: Path) -> None:
    done = run("prove", f"{TOYS}:Ring", "--json", tmp_path / "x.json")
    assert done.code == 10
    assert done.out.startswith("NOT PROVED  toys:Ring: is-not-seven: is-not-seven not 1-inductive, but possibly true")
    for line in (
        "Counterexample to induction: slip and is-not-seven",
        "  1  a state in which all assumptions hold",
        "     at  6",
        "  2  slip()   by hand",
        "     at  6 -> 7",
        "The first state is unreachable: it is none of the 4 reachable states.",
        "is-not-seven is false there: The number is not seven.",
    ):
        assert line in done.out.splitlines()
    (failing,) = read(tmp_path / "x.json")["failing"]
    shown = failing["counterexample_to_induction"]
    assert [s["state"] for s in shown["trace"]] == [{"at": 6}, {"at": 7}]
    assert (shown["reachable"], shown["length"]) == (False, None)


@pytest.mark.parametrize(
    ("arguments", "code", "line"),
    [
        (["prove", "kip-321"], 150, "isrcheck: there is no model 'kip-321'; did you mean kip-320"),
        (["prove", "kip-320", "--invariant", "strong"], 150, "isrcheck: model kip-320 has no invariant 'strong'; did"),
        (["prove", "kip-320", "--k", "0"], 150, "isrcheck: --k 0 is too small; the smallest value is --k 1"),
        (["prove", "kip-320", "--proof", "x"], 150, "isrcheck: there is no proof 'x'; known: alter-isr-proof, kip-"),
        (["prove", "v3", "--proof", "kip-320-proof"], 150, "isrcheck: proof kip-320-proof is about models derived f"),
        (["prove", "kip-101", "--unbounded"], 150, "isrcheck: there is no shipped proof of kip-101 for these invar"),
        (["prove", "kip-320", "-s", "replicas=9"], 150, "isrcheck: setting replicas must be an integer from 1"),
        (["prove", "kip-320", "--certificate", str(HERE)], 153, f"isrcheck: cannot write {HERE}: it already exists; c"),
        (["prove", "kip-320", "--k", "2", "--houdini"], 2, "Error: --k means plain induction, without lemmas; remove "),
        (["prove", "--verify", "nowhere"], 150, "isrcheck: nowhere: it is not a folder"),
        (
            ["prove", "--verify", str(HERE)],
            150,
            f"isrcheck: {HERE}: it has no manifest.json, so it is not a certificate",
        ),
    ],
)
def test_a_mistake_ends_in_one_line(arguments: list[str], code: int, line: str) -> None:
    done = run(*arguments)
    assert (done.code, last_line(done)[: len(line)]) == (code, line)


def test_a_mistake_is_in_the_json(tmp_path: Path) -> None:
    for arguments in (["prove", "kip-321"], ["prove", "--verify", "nowhere"]):
        assert run(*arguments, "--json", tmp_path / "x.json").code == 150
        data = read(tmp_path / "x.json")
        assert data["exit_code"] == 150
        assert data["reason"]


def test_a_lemma_with_a_mistake_ends_in_its_line(tmp_path: Path) -> None:
    proof = tmp_path / "mine_proof.py"
    proof.write_text(
        "from isrcheck.model.language.proofs import Proof, lemma\n\n\nclass Mine(Proof):\n    @lemma()\n"
        '    def one(self, s):\n        """Mistaken."""\n        return s.heigth == 0\n'
    )
    done = run("prove", f"{TOYS}:Hill", "--proof", proof)
    assert done.code == 150
    assert last_line(done).startswith(
        "isrcheck: mine_proof.py:8: the state has no variable 'heigth'; did you mean height?"
    )
    proof.write_text("1 / 0\n")
    done = run("prove", f"{TOYS}:Hill", "--proof", proof)
    assert done.code == 150
    assert last_line(done).startswith("isrcheck: mine_proof.py:1: ZeroDivisionError: division by zero")


def test_a_limit(tmp_path: Path) -> None:
    path = tmp_path / "x.json"
    done = run("prove", "kip-320", "--max-seconds", "0.1", "--quiet", "--json", path)
    assert done.code == 152
    assert done.out.startswith(
        "INCOMPLETE  kip-320: strong-isr, weak-isr, leader-in-isr-or-none, no-committed-loss: time limit of 0.1 s"
    )
    assert read(path)["verdict"] == "incomplete"
    done = run("prove", "kip-320", *SMALL, "--max-memory", "1MB", "--quiet")
    assert (done.code, "1000000 bytes (--max-memory)" in done.out) == (152, True)


# --- certificates ---------------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def certificate(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("proof") / "hill"
    assert run(*HILL, "--certificate", folder).code == 0
    return folder


def verified(folder: Path, *more: str | Path) -> Outcome:
    return run("prove", "--verify", folder, f"{TOYS}:Hill", "--proof", f"{TOYS}:SoundHillProof", *more)


def test_a_certificate_is_accepted(certificate: Path, tmp_path: Path) -> None:
    done = verified(certificate, "--json", tmp_path / "x.json")
    assert read(tmp_path / "x.json")["accepted"] is True
    # One initial state, three actions without parameters, and the target.
    assert done.out.startswith("ACCEPTED  ")
    assert "refutes 5 of 5" in done.out
    assert done.code == 0
    assert len(list(certificate.iterdir())) == 6


def test_a_certificate_chooses_no_code(certificate: Path) -> None:
    done = run("prove", "--verify", certificate)
    assert (done.code, "which is not a shipped one; use --model" in last_line(done)) == (150, True)


def change(folder: Path, how: str) -> None:
    file = folder / "0002.smt2"
    manifest = json.loads((folder / "manifest.json").read_text())
    match how:
        case "a weaker obligation":
            file.write_text(file.read_text() + "(assert false)\n")
        case "a weaker obligation with its hash":
            file.write_text(file.read_text().replace("(check-sat)", "(assert false)\n(check-sat)"))
            entry = next(x for x in manifest["obligations"] if x["file"] == file.name)
            entry["sha256"] = hashlib.sha256(file.read_bytes()).hexdigest()
        case "an obligation less":
            file.unlink()
            manifest["obligations"] = [x for x in manifest["obligations"] if x["file"] != file.name]
        case "a lemma dropped":
            manifest["dropped"] = ["while-up-it-is-greatest"]
        case "other settings":
            manifest["settings"] = {"top": 7}
        case "another form":
            manifest["format"] = 3
        case "an invariant that differs":
            manifest["targets"]["never-above-the-greatest"] = "Pigs fly."
        case "a lemma that differs":
            manifest["lemmas"]["while-up-it-is-greatest"] = "Pigs fly."
        case "a lemma more":
            manifest["lemmas"]["pigs-fly"] = "Pigs fly."
        case "a history that is not there":
            manifest["history"] = []
        case "another answer":
            manifest["obligations"][1]["z3"] = "unknown"
        case "words of its own":
            manifest["remark"] = "Pigs fly."
        case "an obligation that is no object":
            manifest["obligations"].append("0006.smt2")
        case "another stage that no obligation has":
            manifest["stages"]["pigs"] = 1
        case "no JSON":
            (folder / "manifest.json").write_text("{")
            return
    (folder / "manifest.json").write_text(json.dumps(manifest))


@pytest.mark.parametrize(
    "how",
    one_in(
        3,
        [
            "a weaker obligation",
            "a weaker obligation with its hash",
            "an obligation less",
            "a lemma dropped",
            "other settings",
            "another form",
            "an invariant that differs",
            "a lemma that differs",
            "a lemma more",
            "a history that is not there",
            "another answer",
            "words of its own",
            "an obligation that is no object",
            "another stage that no obligation has",
            "no JSON",
        ],
        EXHAUSTIVE,
    ),
)
def test_a_certificate_that_was_tampered_with_is_refused(certificate: Path, tmp_path: Path, how: str) -> None:
    folder = tmp_path / "copy"
    shutil.copytree(certificate, folder)
    change(folder, how)
    done = verified(folder)
    assert (done.code, done.out) == (150, "")
    assert last_line(done).startswith(f"isrcheck: {folder}: ")


@pytest.mark.exhaustive
def test_a_certificate_of_what_is_not_so_is_rejected(tmp_path: Path) -> None:
    """The files belong to the question, but a lemma is false, so a solver finds an obligation satisfiable."""
    question = Question(f"{TOYS}:Hill", {}, f"{TOYS}:HillProof", ("never-above-the-greatest",), "bit-vectors", {})
    texts = written(question)
    manifest: dict[str, Any] = {
        **certificates._said(question),
        "solvers": certificates.solvers(),
        "obligations": [
            {"file": n, "sha256": hashlib.sha256(t.encode()).hexdigest(), "z3": "unsat"}
            for n, t in sorted(texts.items())
        ],
    }
    for name, text in texts.items():
        (tmp_path / name).write_text(text)
    (tmp_path / "manifest.json").write_text(json.dumps(manifest))
    done = run("prove", "--verify", tmp_path, f"{TOYS}:Hill", "--proof", f"{TOYS}:HillProof")
    assert done.code == 10
    assert done.out.startswith("REJECTED  ")
    assert "is satisfiable for z3" in done.out


@pytest.mark.exhaustive
def test_what_is_looked_at_beside_a_proof_is_looked_at_again(
    certificate: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The certificate was written when this check did not fail."""
    monkeypatch.setattr(side_conditions, "differences", lambda plain, full: ["it changes climb()"])
    done = verified(certificate)
    assert done.code == 10
    assert done.out.startswith("REJECTED  ")
    assert "  history variables restrict nothing: it changes climb()" in done.out.splitlines()
    assert run(*HILL).code == 10


def test_a_certificate_is_of_the_model_that_it_names(tmp_path: Path) -> None:
    folder = tmp_path / "tiny"
    assert run("prove", "kip-320", *SMALL, "--unbounded", "--certificate", folder, "--max-seconds", "1").code == 152
    assert not folder.exists()
    question = Question("kip-320", {"replicas": 2}, "kip-320-proof", ("strong-isr",), "bit-vectors", {})
    said = {**certificates._said(question), "solvers": certificates.solvers(), "obligations": []}
    folder.mkdir()
    (folder / "manifest.json").write_text(json.dumps(said))
    done = run("prove", "--verify", folder, "kip-279")
    assert (done.code, last_line(done)) == (150, f"isrcheck: {folder}: it is for model kip-320, not kip-279")


@pytest.mark.parametrize(
    ("settings", "form"),
    [
        ({"replicas": 3, "log_size": "unbounded", "ghosts": True}, "without bounds, at replicas = 3"),
        ({"log_size": "unbounded"}, "without bounds"),
    ],
)
def test_the_verdict_names_the_numbers_that_stay_fixed(settings: dict[str, Any], form: str) -> None:
    made: Any = SimpleNamespace(
        targets={"a": ""}, by="lemmas", lemmas={}, proof="p", form="unbounded", settings=settings, solvers={"z3": "5"},
        obligations=3, verdict="proved", model="m",
    )  # fmt: skip
    assert verdict_line(made) == f"PROVED  m: a; by 0 lemmas of p, {form}, 3 goals checked by z3 5"


@pytest.mark.parametrize("wait", [0.0, 0.3])
def test_an_interrupt_while_a_certificate_is_verified_is_one_line(certificate: Path, wait: float) -> None:
    """A terminal sends Ctrl-C to the whole group of processes, also to the one that writes the obligations again."""
    command = [sys.executable, "-m", "isrcheck", "prove", "--verify", str(certificate)]
    command += [f"{TOYS}:Hill", "--proof", f"{TOYS}:SoundHillProof", "--quiet"]
    with subprocess.Popen(command, stderr=subprocess.PIPE, text=True, start_new_session=True) as process:
        while len(psutil.Process(process.pid).children()) < 2:  # one of them is Python's tracker of resources
            time.sleep(0.01)
        time.sleep(wait)
        os.killpg(process.pid, signal.SIGINT)
        assert process.communicate(timeout=60)[1] == "isrcheck: interrupted\n"
    assert process.returncode == 130
