"""The header of a dataset: what was explored, and the place of each variable in a packed state.

Loads the model of a dataset again. The model must still have the kernel with which the dataset was explored.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import Any

from isrcheck.checker.datasets.dataset import FORMAT, Dataset
from isrcheck.checker.kernel.compiled import Kernel
from isrcheck.checker.registry.loader import LoadedModel, blaming, load_model_class, model_names
from isrcheck.checker.results.errors import DatasetRefused
from isrcheck.model.semantics.interpreter import Interpreter
from isrcheck.model.semantics.tracing import trace
from isrcheck.model.semantics.transition_system import TransitionSystem


def header_of(system: TransitionSystem, kernel: Kernel, model: str, transitions: bool) -> dict[str, Any]:
    """The header of a new dataset, as JSON data. It has the kernel's identity (a hash), but not the kernel's text."""
    leaves = [
        {"path": leaf.path, "kind": leaf.kind, "low": leaf.low, "high": leaf.high,
         "word": place.word, "shift": place.shift, "width": place.width}
        for leaf, place in zip(system.leaves, kernel.layout.places, strict=True)
    ]  # fmt: skip
    header: dict[str, Any] = {
        "format": FORMAT,
        "model": model,
        "settings": dict(system.settings),
        "kernel": kernel.identity,
        "words": kernel.words,
        "variables": [{"name": v.name, "domain": str(v.domain), "first_leaf": v.start} for v in system.variables],
        "leaves": leaves,
        "actions": list(system.actions),
        "transitions": [
            {"action": t.label.action, "parameters": t.label.to_json(), "actor": t.actor} for t in system.transitions
        ],
        "invariants": kernel.verdicts.invariants,
        "goals": kernel.verdicts.goals,
        "bounds": kernel.verdicts.bounds,
        "transitions_kept": transitions,
    }
    # The header in the form in which it is read from the file: lists instead of tuples.
    same: dict[str, Any] = json.loads(json.dumps(header))
    return same


def require_same(root: str, found: dict[str, Any], wanted: dict[str, Any]) -> None:
    """Raises `DatasetRefused` if the header of a dataset (`found`) is not the one that this search would write."""
    for key, words in (("model", "model"), ("settings", "settings")):
        if found.get(key) != wanted[key]:
            raise DatasetRefused(
                f"{root} was made for {words} {found.get(key)}, not {wanted[key]}; use the same options, or start over"
            )
    if found.get("invariants") != wanted["invariants"]:
        raise DatasetRefused(
            f"{root} was explored for the invariants {_listed(found)}, not {_listed(wanted)}; use the "
            "same --invariant, or start over"
        )
    if found.get("transitions_kept") != wanted["transitions_kept"]:
        kept = "stores" if found.get("transitions_kept") else "does not store"
        raise DatasetRefused(f"{root} {kept} transitions; use the same --transitions, or start over")
    if found != wanted:
        raise DatasetRefused(
            f"{root} was explored with another kernel ({str(found.get('kernel'))[:12]}, now "
            f"{wanted['kernel'][:12]}): the model or isrcheck has changed; start over with --checkpoint"
        )


def _listed(header: dict[str, Any]) -> str:
    return ", ".join(header.get("invariants") or ()) or "none"


@dataclass(frozen=True)
class ReloadedModel:
    """The model of a dataset at the dataset's settings, with its interpreter, its traced system and its kernel."""

    loaded: LoadedModel
    interpreter: Interpreter
    system: TransitionSystem
    kernel: Kernel


def reload_model(dataset: Dataset, model: str | None) -> ReloadedModel:
    """The origin of a dataset. A shipped model is found by its name in the dataset.

    Raises `DatasetRefused` if the model is a user's model and `model` does not name its file. Also raises
    `DatasetRefused` if the header is damaged or does not fit the model, for example because the model now has another
    kernel.
    """
    header, root = dataset.header, dataset.root
    name = header.get("model")
    if model is None and name not in model_names():
        raise DatasetRefused(f"{root} is for a model that is not shipped ({name!r}); use --model to name its file")
    loaded = load_model_class(model or str(name))
    settings, names = header.get("settings"), header.get("invariants")
    if not isinstance(settings, dict) or not isinstance(names, dict):
        raise DatasetRefused(f"{root}/dataset.json is damaged: it has unexpected settings or invariants")
    with blaming(loaded.source_file):
        instance, chosen = loaded.cls(**settings), loaded.chosen(tuple(names))
        system = trace(instance, chosen)
        kernel = Kernel(system)
    kept = bool(header.get("transitions_kept"))
    require_same(root, header, header_of(system, kernel, loaded.name, kept))
    return ReloadedModel(loaded, Interpreter(instance, chosen), system, kernel)
