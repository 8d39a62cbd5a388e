"""An attempt at a proof: the model, the proof and its targets, and the obligations that a solver must prove."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal

from isrcheck.checker.library import LoadedModel
from isrcheck.checker.proofs.bounded import Bounded
from isrcheck.checker.proofs.history import with_history
from isrcheck.checker.proofs.obligations import Obligations
from isrcheck.checker.proofs.statements import predicate
from isrcheck.checker.proofs.unbounded.form import Unbounded
from isrcheck.checker.proofs.unbounded.relation import for_all_bounds
from isrcheck.model.language import UnknownName
from isrcheck.model.language.errors import nearest
from isrcheck.model.language.model import Model
from isrcheck.model.language.proofs import Proof, Statement
from isrcheck.model.language.tracing import trace

Kind = Literal["bit-vectors", "unbounded"]


@dataclass(frozen=True)
class Attempt:
    """A model at its settings, the proof to try, the names of the targets (None: all), and the form of the obligations.

    With `houdini`, lemmas are dropped before the proof, until the remaining lemmas are inductive. With
    `find_redundant`, a successful proof is followed by a search for lemmas that the proof does not need.
    """

    loaded: LoadedModel
    settings: dict[str, Any]
    proof: type[Proof]
    targets: tuple[str, ...] | None = None
    form: Kind = "bit-vectors"
    find_redundant: bool = False
    houdini: bool = False

    @property
    def model(self) -> type[Model]:
        return with_history(self.loaded.cls, self.proof)

    def chosen(self) -> dict[str, Statement]:
        """The chosen targets by name, or all targets if none is chosen.

        Raises `UnknownName` if the proof does not have a chosen target, or if the model does not have an invariant in
        `Proof.invariants`. Raises `ModelError` if two statements have the same name: a target and any invariant of the
        model, or a lemma (or candidate) and an invariant in `Proof.invariants`.
        """
        known = self.proof.targets(self.loaded.invariants, self.loaded.name)
        for name in self.targets or ():
            if name not in known:
                raise UnknownName(f"proof {self.proof.name()} has no target {name!r}; {nearest(name, known)}")
        return {n: s for n, s in known.items() if not self.targets or n in self.targets}

    def lemmas(self) -> dict[str, Statement]:
        return self.proof.statements("lemma", "candidate")

    def stated(self) -> dict[str, Statement]:
        return {**self.lemmas(), **self.chosen()}


class Bound:
    """A model at its settings: `plain` lacks the proof's history variables, `model` has them.

    `system` is the traced `model`, with the lemmas and targets as predicates.
    """

    def __init__(self, attempt: Attempt, settings: dict[str, Any]) -> None:
        self.attempt = attempt
        self.plain = attempt.loaded.cls(**settings)
        self.model = attempt.model(**settings)
        self.stated = {name: predicate(attempt.proof, s) for name, s in attempt.stated().items()}
        self.system = trace(self.model, self.stated)

    def obligations(self, bounded: Bounded) -> Obligations:
        by_name = {p.name: p for p in self.system.invariants}
        lemmas, targets = (
            tuple(by_name[name] for name in names) for names in (self.attempt.lemmas(), self.attempt.chosen())
        )
        return bounded.obligations(lemmas, targets)


def obligations_of(attempt: Attempt) -> tuple[Obligations, Bound | None, Bounded | None]:
    if attempt.form == "bit-vectors":
        bound = Bound(attempt, attempt.settings)
        bounded = Bounded.of(bound.system)
        return bound.obligations(bounded), bound, bounded
    return unbounded(attempt).obligations(attempt.chosen()), None, None


def unbounded(attempt: Attempt) -> Unbounded:
    return Unbounded(for_all_bounds(attempt.model, attempt.settings), attempt.proof, attempt.lemmas())


def settings_shown(attempt: Attempt) -> dict[str, Any]:
    """All settings of an attempt. A bound that the attempt removes has the value "unbounded"."""
    settings = dict(attempt.loaded.cls(**attempt.settings).settings)
    if attempt.form == "unbounded":
        bounds = {n for n, s in attempt.loaded.cls.declared_settings().items() if s.bound is not None}
        return {n: "unbounded" if n in bounds else value for n, value in settings.items()}
    return settings
