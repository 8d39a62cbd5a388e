"""Certificates: the obligations of a proof as SMT-LIB files, each of which a solver must find unsatisfiable.

A certificate is a folder with `manifest.json` and one file for each obligation. A fresh process that does nothing else
makes the files. So with the same version of z3, the same proof always gives the same text. To check a certificate,
`verify` makes the files again and compares them. So `verify` notices every file that was changed, left out or added,
even if the manifest was changed as well. `verify` also compares the manifest with a new manifest, checks the side
conditions of the proof again, and asks solvers about each file.
"""

from __future__ import annotations

import hashlib
import json
import tempfile
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final

import z3

from isrcheck.checker.analysis.process_pool import in_fresh_process
from isrcheck.checker.engines.symbolic.solver import Watch
from isrcheck.checker.proofs.attempts import Attempt, obligations_of, settings_shown
from isrcheck.checker.proofs.obligations import Obligation, Obligations, ask
from isrcheck.checker.proofs.proof_result import ProofResult, solvers
from isrcheck.checker.proofs.prove import load, shipped
from isrcheck.checker.proofs.side_conditions import side_conditions
from isrcheck.checker.registry.loader import load_model_class, model_names
from isrcheck.checker.results.exploration import Limits
from isrcheck.checker.results.result import FORMAT as RESULT
from isrcheck.checker.trace.trace_files import DamagedFile, parsed
from isrcheck.model.language.errors import UnknownName

FORMAT: Final = 2
KIND: Final = "isrcheck certificate of a proof"
MANIFEST: Final = "manifest.json"
LARGEST: Final = 256 * 2**20
PATIENCE: Final = 20
"""The default time limit of the second solver for one obligation, in seconds."""


@dataclass(frozen=True)
class Question:
    """The model, the proof and the settings that a certificate is about, as plain data.

    `stages` maps the label of each obligation to the stage in which it was proved (see `Obligation`). `dropped` names
    the lemmas that the proof does not use.
    """

    model: str
    settings: dict[str, Any]
    proof: str
    targets: tuple[str, ...]
    form: str
    stages: dict[str, int]
    dropped: tuple[str, ...] = ()

    def attempt(self) -> Attempt:
        loaded = load_model_class(self.model)
        return Attempt(loaded, self.settings, load(self.proof), self.targets, self.form)  # type: ignore[arg-type]


def write(folder: Path, model: str, proof: str | None, attempt: Attempt, result: ProofResult) -> None:
    """Writes the certificate of a proof into a new folder. If this fails, there is no folder."""
    question = Question(
        model,
        attempt.settings,
        proof or attempt.proof.name(),
        tuple(result.targets),
        result.form,
        result.stages,
        tuple(result.dropped),
    )
    texts = written(question)
    listed = [{"file": name, "sha256": _hash(text.encode()), "z3": "unsat"} for name, text in texts.items()]
    manifest = {**_said(question), "solvers": result.solvers, "obligations": listed}
    texts[MANIFEST] = json.dumps(manifest, indent=1) + "\n"
    folder.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=folder.parent, prefix=f".{folder.name[:64]}.") as temporary:
        unfinished = Path(temporary) / "certificate"
        unfinished.mkdir()  # unlike `temporary`, with the usual permissions
        for name, text in texts.items():
            (unfinished / name).write_text(text, encoding="utf-8")
        unfinished.rename(folder)


def _said(question: Question) -> dict[str, Any]:
    """The entries of a manifest that describe the question."""
    attempt = question.attempt()
    lemmas = {name: s.sentence for name, s in attempt.lemmas().items() if name not in question.dropped}
    history = attempt.proof(attempt.loaded.cls(**attempt.settings)).history()
    return {
        "format": FORMAT,
        "kind": KIND,
        "model": question.model,
        "settings": settings_shown(attempt),
        "proof": question.proof,
        "targets": {name: s.sentence for name, s in attempt.chosen().items()},
        "form": question.form,
        "lemmas": lemmas,
        "history": list(history),
        "dropped": list(question.dropped),
        "stages": question.stages,
    }


def written(question: Question) -> dict[str, str]:
    """The text of each file of a certificate, by file name.

    A fresh process makes the texts, because z3 orders terms by their age in the process.
    """
    return in_fresh_process(_texts, question)


def _texts(question: Question) -> dict[str, str]:
    obligations, _, _ = obligations_of(question.attempt())
    without = frozenset(question.dropped)
    return {
        f"{number:04d}.smt2": _text(obligations, each, question.stages.get(each.label, 0), without)
        for number, each in enumerate(obligations.all, 1)
    }


def _text(obligations: Obligations, obligation: Obligation, stage: int, without: frozenset[str]) -> str:
    solver = obligations.solver()
    solver.add(*obligation.conditions)
    for name, terms in obligation.lemmas(stage).items():
        if name not in without:
            solver.add(*terms)
    goals = [name for name in obligation.goals if name not in without]
    solver.add(z3.Not(z3.And([obligation.goals[name] for name in goals])))
    head = [f"; {obligation.action}: {obligation.label}", *(f"; goal: {name}" for name in goals)]
    head += ["; unsatisfiable: where the lemmas hold, the goals do after the step", f"(set-logic {obligations.logic})"]
    body = [line for line in solver.to_smt2().splitlines() if not line.startswith((";", "(set-info"))]
    return "\n".join([*head, *body]) + "\n"


def _hash(content: bytes) -> str:
    return hashlib.sha256(content).hexdigest()


# --- checking -------------------------------------------------------------------------------------------------------


@dataclass
class Verified:
    """The result of checking a certificate.

    `refuted` has, for each solver, the number of obligations that it refutes (finds unsatisfiable). For each solver,
    `satisfiable` names the files that it finds satisfiable, and `undecided` names the files that it cannot decide.
    """

    folder: str
    manifest: dict[str, Any]
    obligations: int
    refuted: dict[str, int] = field(default_factory=dict)
    undecided: dict[str, list[str]] = field(default_factory=dict)
    satisfiable: dict[str, list[str]] = field(default_factory=dict)
    versions: dict[str, str] = field(default_factory=dict)
    checks: dict[str, str] = field(default_factory=dict)
    failed_checks: list[str] = field(default_factory=list)

    @property
    def accepted(self) -> bool:
        """Whether the side conditions hold, z3 refutes each obligation, and cvc5 finds no obligation satisfiable."""
        refuted = self.refuted.get("z3") == self.obligations and not any(self.satisfiable.values())
        return refuted and not self.failed_checks

    def to_json(self) -> dict[str, Any]:
        return {
            "format": RESULT,
            "verify_proof": self.folder,
            "model": self.manifest["model"],
            "targets": list(self.manifest["targets"]),
            "accepted": self.accepted,
            "obligations": self.obligations,
            "refuted": self.refuted,
            "undecided": self.undecided,
            "satisfiable": self.satisfiable,
            "solvers": self.versions,
            "checks": self.checks,
            "failed_checks": self.failed_checks,
        }


Tell = Callable[[str], None]


def verify(
    folder: Path,
    model: str | None = None,
    proof: str | None = None,
    limits: Limits = Limits(),
    patience: float = PATIENCE,
    second_opinion: bool = True,
    tell: Tell = lambda text: None,
) -> Verified:
    """Checks whether a certificate has the files that its model and proof give, and asks solvers about each file.

    The solvers are z3 and, if `second_opinion` is true and cvc5 is installed, cvc5. `patience` is the number of seconds
    that cvc5 gets for each file. The model and the proof must be shipped with isrcheck, or the caller must name them.
    Raises `DamagedFile` if the model or the proof is neither shipped nor named, if the folder is no certificate of this
    format, or if model and proof give other files or another manifest. Raises `GaveUp` at a limit, or if z3 is
    interrupted.
    """
    manifest = _manifest(folder)
    question = _question(manifest, model, proof)
    tell("generating the obligations again")
    texts = _compared(folder, manifest, question)
    found = Verified(str(folder), {**manifest, "model": question.model}, len(texts), versions=solvers())
    with Watch(limits) as watch:
        conditions = side_conditions(question.attempt(), watch, tell)
        found.checks, found.failed_checks = conditions.sentences, conditions.failed
        for name, text in texts.items():
            tell(f"{name}: z3")
            solver = z3.Solver()
            solver.from_string(text)
            _note(found, "z3", name, str(ask(solver, watch)))
        second = _cvc5() if second_opinion else None
        if second is not None:
            found.versions["cvc5"] = second.__version__
            for name, text in texts.items():
                tell(f"{name}: cvc5")
                watch.look()
                _note(found, "cvc5", name, _cvc5_answer(second, text, patience))
    return found


def _note(found: Verified, solver: str, name: str, answer: str) -> None:
    found.refuted.setdefault(solver, 0)
    if answer == "unsat":
        found.refuted[solver] += 1
    else:
        (found.satisfiable if answer == "sat" else found.undecided).setdefault(solver, []).append(name)


def _manifest(folder: Path) -> dict[str, Any]:
    if not folder.is_dir():
        raise DamagedFile("it is not a folder")
    path = folder / MANIFEST
    if not path.is_file():
        raise DamagedFile(f"it has no {MANIFEST}, so it is not a certificate")
    data = parsed(_content(path))
    shape: dict[str, Any] = {
        "model": str, "settings": dict, "proof": str, "targets": dict, "form": str, "stages": dict,
        "dropped": list, "solvers": dict, "obligations": list, "lemmas": dict, "history": list,
    }  # fmt: skip
    if not isinstance(data, dict) or data.get("kind") != KIND:
        raise DamagedFile(f"{MANIFEST} is not the manifest of a certificate")
    if data.get("format") != FORMAT or isinstance(data["format"], bool):
        raise DamagedFile(f"its format is {data.get('format')!r}; this version of isrcheck reads format {FORMAT}")
    for key, kind in shape.items():
        if not isinstance(data.get(key), kind):
            raise DamagedFile(f"{MANIFEST}: {key} is missing or has the wrong type")
    if data["form"] not in ("bit-vectors", "unbounded") or not _stages(data["stages"]):
        raise DamagedFile(f"{MANIFEST}: form or stages contain values that this version of isrcheck does not recognize")
    return data


def _stages(data: dict[str, Any]) -> bool:
    return all(isinstance(x, int) and not isinstance(x, bool) and 0 <= x < 10 for x in data.values())


def _content(path: Path) -> bytes:
    with path.open("rb") as file:
        content = file.read(LARGEST + 1)
    if len(content) > LARGEST:
        raise DamagedFile(f"{path.name} is larger than {LARGEST // 2**20} MiB")
    return content


def _question(manifest: dict[str, Any], model: str | None, proof: str | None) -> Question:
    """The question of a certificate. Code that is not shipped runs only if the caller names it."""
    if model is None and manifest["model"] not in model_names():
        raise DamagedFile(
            f"it was made with model {manifest['model']!r}, which is not a shipped one; use --model my_model.py"
        )
    if proof is None and manifest["proof"] not in shipped():
        raise DamagedFile(
            f"it was made with proof {manifest['proof']!r}, which is not a shipped one; use --proof my_proof.py"
        )
    if (model or manifest["model"]) != manifest["model"] and manifest["model"] in model_names():
        raise DamagedFile(f"it is for model {manifest['model']}, not {model}")
    if (proof or manifest["proof"]) != manifest["proof"] and manifest["proof"] in shipped():
        raise DamagedFile(f"it is for proof {manifest['proof']}, not {proof}")
    known = load(proof or manifest["proof"]).statements("lemma", "candidate")
    bounds = {n for n, x in manifest["settings"].items() if x == "unbounded" and manifest["form"] == "unbounded"}
    question = Question(
        model or manifest["model"],
        {name: x for name, x in manifest["settings"].items() if name not in bounds},
        proof or manifest["proof"],
        tuple(manifest["targets"]),
        manifest["form"],
        manifest["stages"],
        tuple(str(name) for name in manifest["dropped"]),
    )
    if not set(question.dropped) <= known.keys() or not question.targets:
        raise DamagedFile(f"{MANIFEST} names lemmas or targets that the proof does not have")
    try:
        attempt = question.attempt()
        attempt.proof.check_fit(attempt.loaded.cls, attempt.loaded.name)
        attempt.chosen()
        attempt.loaded.cls(**question.settings)
    except (UnknownName, TypeError) as error:
        raise DamagedFile(str(error)) from None
    return question


def _compared(folder: Path, manifest: dict[str, Any], question: Question) -> dict[str, str]:
    """The text of each file of a certificate, by file name.

    Raises `DamagedFile` if the question gives other files or another manifest.
    """
    expected = written(question)
    present = {path.name for path in folder.iterdir()} - {MANIFEST}
    if present != expected.keys():
        odd = sorted(present ^ expected.keys())
        raise DamagedFile(f"its files are not the {len(expected)} obligations of this proof: {', '.join(odd[:3])}")
    if [x.get("file") if isinstance(x, dict) else None for x in manifest["obligations"]] != list(expected):
        raise DamagedFile(f"{MANIFEST} does not list the files of this proof")
    for entry in manifest["obligations"]:
        name = entry["file"]
        if entry != {"file": name, "sha256": entry.get("sha256"), "z3": "unsat"}:
            raise DamagedFile(f"{MANIFEST} has a malformed entry for {name}")
        content = _content(folder / name)
        if entry.get("sha256") != _hash(content):
            raise DamagedFile(f"{name} was changed: its hash does not match the manifest")
        if content.decode("utf-8", "replace") != expected[name]:
            writer = manifest["solvers"].get("z3")
            other = (
                f"; it was written with z3 {writer}, but this is z3 {solvers()['z3']}"
                if writer != solvers()["z3"]
                else ""
            )
            raise DamagedFile(f"{name} is not the obligation of this model and proof{other}")
    labels = {text.partition("\n")[0].partition(": ")[2] for text in expected.values()}
    if set(manifest["stages"]) - labels or set(manifest["solvers"]) != {"z3"}:
        raise DamagedFile(f"{MANIFEST}: stages or solvers do not match this proof")
    # The user's files may have moved since the certificate was written, so the names of model and proof may differ.
    said = {**_said(question), "model": manifest["model"], "proof": manifest["proof"]}
    for key in sorted({*said, *manifest} - {"solvers", "obligations"}):
        if key not in said or manifest.get(key) != said[key]:
            raise DamagedFile(f"{MANIFEST}: {key} does not match this model and proof")
    return expected


def _cvc5() -> Any:
    """The second solver, cvc5. Returns None if cvc5 is not installed."""
    try:
        import cvc5
    except ImportError:
        return None
    return cvc5


def _cvc5_answer(cvc5: Any, text: str, patience: float) -> str:
    """The answer of cvc5 for the text of a file: "sat", "unsat", or another text if cvc5 cannot decide."""
    solver = cvc5.Solver()
    solver.setOption("tlimit-per", str(int(1000 * patience)))
    parser = cvc5.InputParser(solver)
    parser.setStringInput(cvc5.InputLanguage.SMT_LIB_2_6, text, "obligation")
    symbols, answer = parser.getSymbolManager(), "unknown"
    try:
        while not (command := parser.nextCommand()).isNull():
            said = str(command.invoke(solver, symbols)).strip()
            answer = said or answer
    except RuntimeError as error:
        return f"unknown: {error}"
    return answer
