"""Tries a proof on its mutants. Each mutant is a model that lacks a rule of the protocol, so the proof must fail."""

from __future__ import annotations

from dataclasses import replace

from isrcheck.checker.exploration import Limits
from isrcheck.checker.library import LoadedModel, fitting
from isrcheck.checker.proofs.attempts import Attempt
from isrcheck.checker.proofs.lemmas import by_lemmas
from isrcheck.checker.proofs.proving import Tell
from isrcheck.checker.proofs.results import ProofResult
from isrcheck.checker.results import Exit
from isrcheck.model.language.model import Model, kebab
from isrcheck.model.language.tracing import sentence_of


def try_mutants(attempt: Attempt, result: ProofResult, limits: Limits, tell: Tell) -> None:
    """Tries the proof on its mutants, and records for each mutant the goals that were not proved.

    If every goal is proved for a mutant, the proof proves too much, and the verdict of `result` becomes "not proved".
    If the attempt for a mutant is incomplete, the verdict becomes "incomplete", and no further mutant is tried.
    """
    for mutant in attempt.proof.mutants:
        name = mutant_name(mutant)
        tell(f"mutant {name}")
        loaded = LoadedModel(mutant, name, attempt.loaded.origin, fitting(mutant, None))
        tried = by_lemmas(replace(attempt, loaded=loaded, find_redundant=False), limits, tell, look=False)
        if tried.verdict == "incomplete":
            result.verdict, result.exit_code, result.reason = "incomplete", tried.exit_code, f"{name}: {tried.reason}"
            return
        result.mutants[name] = tried.failing
        pairs = ", ".join(f"{f.action} and {f.goal}" for f in tried.failing)
        result.checks[f"mutant {name}"] = f"not proved ({sentence_of(mutant)}): {pairs}" if pairs else "proved"
        if not tried.failing:
            result.failed_checks.append(f"mutant {name}")
            result.verdict, result.exit_code = "not proved", Exit.DIFFERENCE
            result.reason = f"the proof also proves mutant {name}"


def mutant_name(mutant: type[Model]) -> str:
    """The name of a mutant: `FetchWithoutFencing` becomes `fetch-without-fencing`."""
    words = "".join(f"_{c.lower()}" if c.isupper() else c for c in mutant.__name__)
    return kebab(words.strip("_"))
