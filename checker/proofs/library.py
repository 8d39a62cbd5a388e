"""Loads proofs by name: shipped proofs, and proofs in a file that the user names."""

from __future__ import annotations

import importlib
import pkgutil
import sys
from functools import cache
from pathlib import Path
from types import ModuleType

import isrcheck.model as shipped_models
from isrcheck.checker.library import run_file
from isrcheck.model.language import ModelError, UnknownName
from isrcheck.model.language.errors import nearest
from isrcheck.model.language.model import kebab
from isrcheck.model.language.proofs import Proof

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
            raise UnknownName(f"there is no proof {spec!r}; {nearest(spec, shipped())}; or name a file: my_proof.py")
        return shipped()[spec]
    proofs = {cls.__name__: cls for cls in _proofs(run_file(Path(path)))}
    if wanted and wanted not in proofs:
        raise UnknownName(f"{path} has no proof {wanted!r}; {nearest(wanted, proofs)}")
    if not proofs:
        raise ModelError(
            f"{path}: there is no proof in this file; write a subclass of isrcheck.model.language.proofs.Proof"
        )
    if not wanted and len(proofs) > 1:
        raise UnknownName(f"{path} has several proofs; name one: {path}:{next(iter(proofs))}")
    return proofs[wanted or next(iter(proofs))]


def _only(module: ModuleType, name: str) -> type[Proof]:
    (cls,) = _proofs(module)
    assert sys.modules[name] is module
    return cls


def _proofs(module: ModuleType) -> list[type[Proof]]:
    own = [x for x in vars(module).values() if isinstance(x, type) and issubclass(x, Proof)]
    return [cls for cls in own if cls.__module__ == module.__name__]
