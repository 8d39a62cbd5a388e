"""`prove` for Python: chooses the proof to try, and proves the invariants of a model by induction."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from isrcheck.checker.checking import resolved
from isrcheck.checker.exploration import Limits
from isrcheck.checker.library import LoadedModel, blaming
from isrcheck.checker.proofs.results import ProofResult
from isrcheck.model.language import Model, UnknownName
from isrcheck.model.language.profiles import BARE
from isrcheck.model.language.proofs import Proof


def prove(
    model: str | type[Model] | Model | LoadedModel,
    settings: dict[str, Any] | None = None,
    *,
    profile: str = BARE,
    invariants: Sequence[str] | None = None,
    proof: str | type[Proof] | None = None,
    k: int | None = None,
    unbounded: bool = False,
    limits: Limits = Limits(),
    stage: Callable[[str], None] | None = None,
) -> ProofResult:
    """Tries to prove by induction that invariants hold in every reachable state.

    `model` and `settings` are as for `check`. Without `profile`, settings that are not given have the defaults of the
    model itself (the profile `bare`), because the shipped proofs were written for these defaults. `invariants` are the
    names of the invariants to prove. With a proof, the default is all its invariants and targets. With k-induction, the
    default is the model's default invariants.

    `proof` is the proof that contains the lemmas: its name, its file (`my_proof.py`, `my_proof.py:Class`) or its class.
    `k` asks for k-induction without lemmas, and cannot be given together with `proof` or `unbounded`. Without `proof`
    and `k`, the proof that ships with the model is tried if it is about all named invariants. If no such proof ships,
    k-induction with k = 1 is tried. With `unbounded`, `UnknownName` is raised instead. `unbounded` removes every bound
    except the number of brokers, which the settings give. `limits` limits memory and time. `stage` is called with a
    description of the current work. The verdicts "not proved" and "incomplete" say nothing about reachable states.

    Raises `UnknownName` for names and values that the model or the proof does not have, and for arguments that do not
    go together. Raises `ModelError` for a mistake in the model or the proof. Raises `OSError` for an unreadable file.

    >>> tiny = {"replicas": 2, "log_size": 1, "max_records": 1, "max_leader_epoch": 0}
    >>> prove("kip-101", tiny, invariants=["leader-in-isr-or-none"], k=1).verdict
    'proved'
    """
    loaded, instance, _ = resolved(model, settings or {}, profile)
    values, tell = dict(instance.settings), stage or (lambda text: None)
    names = None if invariants is None else tuple(invariants)
    if k is not None and (proof is not None or unbounded):
        raise UnknownName("k asks for plain induction, without lemmas; take proof and unbounded away")
    if k is not None and k < 1:
        raise UnknownName(f"k={k} proves nothing; induction needs one state or more: k=1")
    with blaming(loaded.origin):
        chosen = None if k is not None else chosen_proof(loaded, proof, names or ())
        if chosen is None:
            if unbounded:
                raise UnknownName(f"no proof of {loaded.name} ships for these invariants; name one: proof=...")
            from isrcheck.checker.proofs.induction import induction

            return induction(loaded, values, names, k or 1, limits, tell)
        from isrcheck.checker.proofs.attempts import Attempt
        from isrcheck.checker.proofs.lemmas import by_lemmas

        attempt = Attempt(loaded, values, chosen, names, "unbounded" if unbounded else "bit-vectors")
        return by_lemmas(attempt, limits, tell)


def chosen_proof(loaded: LoadedModel, spec: str | type[Proof] | None, invariants: Sequence[str]) -> type[Proof] | None:
    """The proof to try: the given proof (`spec`) or, if `spec` is None, the proof that ships with the model.

    Returns None if `spec` is None and no proof that is about all of `invariants` ships with the model.
    """
    from isrcheck.checker.proofs.library import beside, load

    if spec is not None:
        return load(spec) if isinstance(spec, str) else spec
    found = beside(loaded.name) if loaded.origin is None else None
    return found if found is not None and set(invariants) <= set(found.aims()) else None
