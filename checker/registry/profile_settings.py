"""The settings of a model before a user changes some of them: those of a profile of the model, or the defaults."""

from __future__ import annotations

import json
from importlib.resources import files
from typing import Any

from isrcheck.checker.registry.loader import LoadedModel
from isrcheck.model.language.errors import UnknownName, nearest
from isrcheck.model.language.model import Model
from isrcheck.model.language.setting_constraints import said
from isrcheck.model.language.settings import BARE, PLAIN, profiles_of


def profile_of(loaded: LoadedModel, wanted: str | None) -> str | None:
    """The name of the wanted profile, or None for the bare defaults.

    If `wanted` is None, takes the profile `plain`, or the bare defaults if the model does not have this profile. Raises
    `UnknownName` for a name that the model does not have.
    """
    known = profiles_of(loaded.cls)
    if wanted == BARE or (wanted is None and PLAIN not in known):
        return None
    name = PLAIN if wanted is None else wanted
    if name not in known:
        raise UnknownName(f"model {loaded.name} has no profile {name!r}; {nearest(name, [*known, BARE])}")
    return name


def size_of(loaded: LoadedModel, profile: str) -> dict[str, Any]:
    """The recorded result of checking a shipped model at a profile: verdict, states, depth, lengths of traces.

    The dictionary is empty if nothing is recorded. Nothing is recorded for a model in a user's file, even if the model
    is built upon a shipped model.
    """
    if loaded.source_file is not None:
        return {}
    recorded = json.loads(files(__package__).joinpath("profiles.json").read_text(encoding="utf-8"))
    return dict(recorded.get(loaded.name, {}).get(profile, {}))


def begun(loaded: LoadedModel, profile: str | None, settings: dict[str, Any]) -> Model:
    """The model at a profile's settings. The given settings replace those of the profile."""
    taken = {} if profile is None else profiles_of(loaded.cls)[profile].settings
    try:
        return loaded.cls(**{**taken, **settings})
    except UnknownName as error:
        raise _explained(error, profile, {n: v for n, v in taken.items() if n not in settings}) from None


def _explained(error: UnknownName, profile: str | None, taken: dict[str, Any]) -> UnknownName:
    """The error. If its message names values that come from the profile and not from the user, a note says so."""
    named = [f"{name}={said(value)}" for name, value in taken.items() if f"{name}={said(value)}" in str(error)]
    if not named:
        return error
    return UnknownName(f"{error} ({', '.join(named)} from profile {profile}; set it as well, or use --profile {BARE})")


def release_of(cls: type[Model], texts: dict[str, str]) -> str | None:
    """The release that a user has chosen by the name of the system, such as `kafka=4.3`, or None."""
    return None if cls.releases is None else texts.get(cls.releases.system.lower())


def settings_of(cls: type[Model], name: str, texts: dict[str, str]) -> dict[str, Any]:
    """The values of settings given as texts. Raises `UnknownName` for names and values that the model does not have.

    For a model of a system with releases, the system's name stands for all settings that describe a release, such as
    `kafka=4.3`. Other given settings replace these.
    """
    declared, release = cls.declared_settings(), release_of(cls, texts)
    if cls.releases is not None and release is not None:
        chosen = {n: v for n, v in cls.releases.settings(release).items() if n in declared}
        rest = {n: text for n, text in texts.items() if n != cls.releases.system.lower()}
        return {**chosen, **settings_of(cls, name, rest)}
    for setting in texts:
        if setting not in declared:
            raise UnknownName(f"model {name} has no setting {setting!r}; {nearest(setting, declared)}")
    return {setting: declared[setting].parsed(text) for setting, text in texts.items()}
