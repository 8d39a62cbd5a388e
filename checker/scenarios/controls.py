"""The fixed versions of a violated scenario, with which its trace is compared step by step."""

from __future__ import annotations

from typing import Any

from isrcheck.checker.analysis.compare_with_fix import fixed_version
from isrcheck.checker.registry.loader import LoadedModel, load_model_class, model_names
from isrcheck.checker.registry.profile_settings import settings_of
from isrcheck.checker.scenarios.collection import beside, one
from isrcheck.checker.scenarios.scenario import Scenario, read
from isrcheck.checker.trace.fixed_run import FixedVersion
from isrcheck.model.language.errors import ModelError, UnknownName
from isrcheck.model.language.model import Model


def fixed_versions_of(scenario: Scenario, loaded: LoadedModel, changed: dict[str, Any]) -> list[FixedVersion]:
    """The fixed versions of a violated scenario that are expected to hold, each at its own settings.

    `changed` overrides settings of the scenario's model and of the fixed versions. A fixed version is left out if its
    scenario is missing or damaged (`regress` reports this). It is also left out if its model is missing, has a mistake,
    or does not accept the changed settings.
    """
    if scenario.expect != "violated" or not scenario.fixed_versions:
        return []
    broken, found = loaded.cls(**{**scenario.settings, **changed}), []
    for name in scenario.fixed_versions:
        try:
            other = read(beside(scenario, name), scenario.root)
            if other.expect == "holds":
                fixed = load_model_class(other.specification())
                found.append(fixed_version(name, fixed, {**other.settings, **changed}, broken, loaded.name))
        except ModelError:
            continue
    return found


def settings_for(scenario: Scenario, loaded: LoadedModel) -> dict[str, Any]:
    """The settings of a scenario for a model that inherits from the scenario's model.

    A setting is left out if the model gives it a fixed value or another default. Raises `UnknownName` for a model that
    does not inherit from the scenario's.
    """
    own = load_model_class(scenario.specification()).cls
    # A user's file may be run twice, so its classes are compared by name.
    alike = [c for c in loaded.cls.__mro__ if (c.__module__, c.__qualname__) == (own.__module__, own.__qualname__)]
    if not alike:
        what = f"model {loaded.name} does not inherit from {scenario.model}, the model of scenario {scenario.name}"
        raise UnknownName(f"{what}; name a variant of it")
    return {n: v for n, v in scenario.settings.items() if getattr(loaded.cls, n, None) is getattr(alike[0], n, None)}


def named(text: str, loaded: LoadedModel, broken: Model) -> FixedVersion:
    """The fixed version that `--fixed-version` names: a scenario, a model, or settings (`NAME=VALUE,NAME=VALUE`).

    A model that `text` names gets the settings of `broken`, the model of the trace. Settings that the named model does
    not declare are left out. Raises `UnknownName` or `ModelError`.
    """
    if "=" in text:
        pairs = [pair.partition("=") for pair in text.split(",")]
        changed = settings_of(loaded.cls, loaded.name, {name.strip(): value.strip() for name, _, value in pairs})
        return fixed_version("", loaded, {**broken.settings, **changed}, broken, loaded.name)
    if text in model_names() or text.partition(":")[0].endswith(".py"):
        fixed = load_model_class(text)
        known = {n: x for n, x in broken.settings.items() if n in fixed.cls.declared_settings()}
        return fixed_version("", fixed, known, broken, loaded.name)
    scenario = one(text)
    return fixed_version(text, load_model_class(scenario.specification()), scenario.settings, broken, loaded.name)
