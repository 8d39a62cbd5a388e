"""Loads the model of a dataset again. The model must still have the kernel with which the dataset was explored."""

from __future__ import annotations

from dataclasses import dataclass

from isrcheck.checker.datasets.dataset import Dataset
from isrcheck.checker.datasets.header import header_of, require_same
from isrcheck.checker.datasets.refusals import DatasetRefused
from isrcheck.checker.engines.interpreter import Interpreter
from isrcheck.checker.kernel.compile import Kernel
from isrcheck.checker.library import LoadedModel, blaming, load_model_class, model_names
from isrcheck.model.language.system import TransitionSystem
from isrcheck.model.language.tracing import trace


@dataclass(frozen=True)
class Origin:
    """The model of a dataset at the dataset's settings, with its interpreter, its traced system and its kernel."""

    loaded: LoadedModel
    interpreter: Interpreter
    system: TransitionSystem
    kernel: Kernel


def origin_of(dataset: Dataset, model: str | None) -> Origin:
    """The origin of a dataset. A shipped model is found by its name in the dataset.

    Raises `DatasetRefused` if the model is a user's model and `model` does not name its file. Also raises
    `DatasetRefused` if the header is damaged or does not fit the model, for example because the model now has another
    kernel.
    """
    header, root = dataset.header, dataset.root
    name = header.get("model")
    if model is None and name not in model_names():
        raise DatasetRefused(f"{root} is of a model that does not ship ({name!r}); name its file with --model")
    loaded = load_model_class(model or str(name))
    settings, names = header.get("settings"), header.get("invariants")
    if not isinstance(settings, dict) or not isinstance(names, dict):
        raise DatasetRefused(f"{root}/dataset.json is damaged: settings and invariants are not what they should be")
    with blaming(loaded.origin):
        instance, chosen = loaded.cls(**settings), loaded.chosen(tuple(names))
        system = trace(instance, chosen)
        kernel = Kernel(system)
    kept = bool(header.get("transitions_kept"))
    require_same(root, header, header_of(system, kernel, loaded.name, kept))
    return Origin(loaded, Interpreter(instance, chosen), system, kernel)
