"""Loads specifications and mappings by name. They are shipped, or in a file that the user names."""

from __future__ import annotations

import sys
from collections.abc import Callable
from functools import cache
from typing import Any

import isrcheck.model.specifications as shipped
from isrcheck.checker.analysis.check import loaded_of
from isrcheck.checker.registry.loader import (
    LoadedModel,
    about,
    fitting_properties,
    load_model_class,
    mappings_in,
    models_in,
    modules_of,
)
from isrcheck.model.language.errors import UnknownName, nearest
from isrcheck.model.language.model import Model, kebab
from isrcheck.model.language.refinements import refinement_of

Mapping = Callable[[Any, Any], dict[str, Any]]


@cache
def specifications() -> dict[str, type[Model]]:
    """The shipped specifications, by name."""
    return {cls.name(): cls for module in modules_of(shipped) for cls in models_in(module)}


def load_specification(name: str | type[Model] | LoadedModel) -> LoadedModel:
    """Loads a specification, given by its name, by its file (`my_log.py`, `my_log.py:Class`), or as a class.

    Raises `UnknownName` if there is no such specification, or if it has a constraint. A constraint bounds a search, and
    a specification must have no bounds. Also raises the errors of `load_model_class`.
    """
    found = _specification(name) if isinstance(name, str) else loaded_of(name)
    if found.cls.predicates("constraint"):
        what = ", ".join(found.cls.predicates("constraint"))
        raise UnknownName(
            f"specification {found.name} has a constraint ({what}); remove it, because a specification has no bounds"
        )
    return found


def _specification(name: str) -> LoadedModel:
    if name.partition(":")[0].endswith(".py"):
        return load_model_class(name)
    if name not in specifications():
        known = nearest(name, specifications())
        raise UnknownName(f"there is no specification {name!r}; {known}; or use a file: my_log.py")
    cls = specifications()[name]
    return LoadedModel(cls, name, None, {}, properties=fitting_properties(cls, sys.modules[cls.__module__]))


def mappings(loaded: LoadedModel, specification: LoadedModel) -> dict[str, Mapping]:
    """The mappings from a model to a specification, by name.

    They are in the files of the model and of the specification, or they are shipped mappings that fit the model.
    """
    ours = {name: f for module in modules_of(shipped) for name, f in mappings_in(vars(module)).items()}
    every = {**about(loaded.cls, ours), **specification.mappings, **loaded.mappings}
    return dict(sorted((name, f) for name, f in every.items() if _is_of(f, specification)))


def load_mapping(loaded: LoadedModel, specification: LoadedModel, name: str | Mapping | None) -> tuple[str, Mapping]:
    """Returns the name of a mapping, and the mapping. The argument `name` is the name or the mapping itself.

    If `name` is None, the only mapping is taken. Raises `UnknownName` if there is no such mapping, or if `name` is None
    and there are several mappings.
    """
    if name is not None and not isinstance(name, str):
        return kebab(name.__name__), name
    known = mappings(loaded, specification)
    between = f"from model {loaded.name} to specification {specification.name}"
    if not known:
        what = f'decorate a function (model, s) with @refinement(of="{specification.name}") in the file of either'
        raise UnknownName(f"there is no mapping {between}; {what}")
    if name is None and len(known) > 1:
        raise UnknownName(f"there are several mappings {between}; choose one with --mapping: {', '.join(known)}")
    chosen = next(iter(known)) if name is None else name
    if chosen not in known:
        raise UnknownName(f"there is no mapping {chosen!r} {between}; {nearest(chosen, known)}")
    return chosen, known[chosen]


def historic(loaded: LoadedModel, mapping: Mapping) -> LoadedModel:
    """The loaded model with the history variables of a mapping. If the mapping has none, the model is unchanged."""
    said = refinement_of(mapping)
    if said is None or said.history is None:
        return loaded
    return LoadedModel(said.history(loaded.cls), loaded.name, loaded.source_file, {})


def with_history(model: Model, mapping: Mapping) -> Model:
    """The model with the history variables of a mapping. If the mapping has none, the model is unchanged."""
    said = refinement_of(mapping)
    return model if said is None or said.history is None else said.history(type(model))(**model.settings)


def _is_of(mapping: Mapping, specification: LoadedModel) -> bool:
    """Whether a mapping leads to this specification. The mapping gives the specification's name or its class's name."""
    said = refinement_of(mapping)
    return said is not None and said.of in (specification.name, specification.cls.__name__)
