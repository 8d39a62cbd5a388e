"""Helpers with which tests run proofs."""

from __future__ import annotations

from typing import Any

from isrcheck.checker.proofs.attempts import Attempt
from isrcheck.checker.proofs.lemmas import by_lemmas
from isrcheck.checker.proofs.proof_result import ProofResult
from isrcheck.checker.registry.loader import LoadedModel, fitting
from isrcheck.checker.results.exploration import Limits
from isrcheck.model.language.model import Model
from isrcheck.model.language.proofs import Proof

LIMITS = Limits(memory=4 << 30)


def bounds(text: str) -> dict[str, int]:
    """The settings for a text such as `3/2/2/1`: replicas, log size, records and greatest epoch."""
    return dict(
        zip(("replicas", "log_size", "max_records", "max_leader_epoch"), map(int, text.split("/")), strict=True)
    )


def loaded(model: type[Model]) -> LoadedModel:
    return LoadedModel(model, model.name(), None, fitting(model, None))


def attempt(model: type[Model], settings: dict[str, Any], proof: type[Proof], **how: Any) -> ProofResult:
    """The result of a proof by lemmas; `look=True` also checks the side conditions."""
    look = how.pop("look", False)
    return by_lemmas(Attempt(loaded(model), settings, proof, **how), LIMITS, look=look)


def pairs(result: ProofResult) -> set[tuple[str, str]]:
    """The action and the goal of each obligation that does not follow."""
    return {(f.action, f.goal) for f in result.failing}
