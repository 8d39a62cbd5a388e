"""`prove` for Python: chooses the proof to try, and proves the invariants of a model by induction.

Loads proofs by name: shipped proofs, and proofs in a file that the user names.
"""

from __future__ import annotations

import importlib
import pkgutil
import sys
from collections.abc import Callable, Sequence
from functools import cache
from pathlib import Path
from types import ModuleType
from typing import Any

import isrcheck.model as shipped_models
from isrcheck.checker.analysis.check import resolved
from isrcheck.checker.proofs.proof_result import ProofResult
from isrcheck.checker.registry.loader import LoadedModel, blaming, run_file
from isrcheck.checker.results.exploration import Limits
from isrcheck.model.language.errors import ModelError, UnknownName, nearest
from isrcheck.model.language.model import Model, kebab
from isrcheck.model.language.proofs import Proof
from isrcheck.model.language.settings import BARE

SUFFIX = "_proof"


@cache
def shipped() -> dict[str, type[Proof]]:
    """All shipped proofs, by name."""
    found = {}
    for package in pkgutil.iter_modules(shipped_models.__path__, shipped_models.__name__ + "."):
        if not package.ispkg or package.name.endswith(".language"):
            continue
        path = importlib.import_module(package.name).__path__
        for info in pkgutil.iter_modules(path, package.name + "."):
            if info.name.endswith(SUFFIX):
                found[kebab(info.name.rpartition(".")[2])] = _only(importlib.import_module(info.name), info.name)
    return found


def beside(model: str) -> type[Proof] | None:
    """The shipped proof about a shipped model, or None."""
    return shipped().get(f"{model}-proof")


def load(spec: str) -> type[Proof]:
    """The shipped proof with this name, or the proof in `file.py` or `file.py:Class`. Runs the user's file."""
    path, _, wanted = spec.partition(":")
    if not path.endswith(".py"):
        if spec not in shipped():
            raise UnknownName(f"there is no proof {spec!r}; {nearest(spec, shipped())}; or use a file: my_proof.py")
        return shipped()[spec]
    proofs = {cls.__name__: cls for cls in _proofs(run_file(Path(path)))}
    if wanted and wanted not in proofs:
        raise UnknownName(f"{path} has no proof {wanted!r}; {nearest(wanted, proofs)}")
    if not proofs:
        raise ModelError(
            f"{path}: there is no proof in this file; define a subclass of isrcheck.model.language.proofs.Proof"
        )
    if not wanted and len(proofs) > 1:
        raise UnknownName(f"{path} has several proofs; choose one: {path}:{next(iter(proofs))}")
    return proofs[wanted or next(iter(proofs))]


def _only(module: ModuleType, name: str) -> type[Proof]:
    (cls,) = _proofs(module)
    assert sys.modules[name] is module
    return cls


def _proofs(module: ModuleType) -> list[type[Proof]]:
    own = [x for x in vars(module).values() if isinstance(x, type) and issubclass(x, Proof)]
    return [cls for cls in own if cls.__module__ == module.__name__]


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
        raise UnknownName("k means plain induction, without lemmas; remove proof and unbounded")
    if k is not None and k < 1:
        raise UnknownName(f"k={k} is too small; the smallest value is k=1")
    with blaming(loaded.source_file):
        chosen = None if k is not None else chosen_proof(loaded, proof, names or ())
        if chosen is None:
            if unbounded:
                raise UnknownName(
                    f"there is no shipped proof of {loaded.name} for these invariants; choose one: proof=..."
                )
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

    if spec is not None:
        return load(spec) if isinstance(spec, str) else spec
    found = beside(loaded.name) if loaded.source_file is None else None
    return found if found is not None and set(invariants) <= set(found.aims()) else None
