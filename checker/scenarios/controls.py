"""The fixed versions of a violated scenario, with which its trace is compared step by step."""

from __future__ import annotations

from typing import Any

from isrcheck.checker.analysis.compare_with_fix import fixed_version
from isrcheck.checker.registry.loader import LoadedModel, load_model_class, model_names
from isrcheck.checker.registry.profile_settings import settings_of
from isrcheck.checker.scenarios.collection import beside, one
from isrcheck.checker.scenarios.scenario import Scenario, read
from isrcheck.checker.trace.fixed_run import FixedVersion
from isrcheck.model.language.errors import ModelError
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
