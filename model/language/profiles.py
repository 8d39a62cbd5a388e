"""Profiles: named sets of values for a model's settings. A command starts with the values of one profile."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final

from isrcheck.model.language.errors import ModelError, UnknownName, nearest
from isrcheck.model.language.settings import AtSettings

PLAIN: Final = "plain"
"""The profile from which a command starts if the user names no profile and the model has this profile."""
BARE: Final = "bare"
"""The profile of the settings' own defaults. Every model has this profile, and no model declares it."""

Declared = Mapping[str, tuple[Mapping[str, Any], str]]
"""The profiles that a class body declares: name -> (settings, one line that says what they are for)."""


@dataclass(frozen=True)
class Profile:
    """Values of settings, and one line that says what they are for."""

    settings: dict[str, Any]
    sentence: str


def profiles_of(cls: type[AtSettings]) -> dict[str, Profile]:
    """A model's profiles by name; the profiles of base classes come first.

    If a class gives a setting a fixed value or another default, its inherited profiles omit this setting.
    """
    found: dict[str, Profile] = {}
    for owner in reversed(cls.__mro__):
        for name, (settings, sentence) in owner.__dict__.get("profiles", {}).items():
            same = {s: value for s, value in settings.items() if getattr(cls, s) is getattr(owner, s)}
            found[name] = Profile(same, sentence)
    return found


def check_profiles(cls: type[AtSettings]) -> None:
    """Raises `ModelError` if a profile in the class's own body is malformed or does not fit the class's settings."""
    declared = cls.declared_settings()
    for name, profile in cls.__dict__.get("profiles", {}).items():
        where = f"{cls.__name__}.profiles: {name}"
        if name == BARE:
            raise ModelError(f"{where} is what the settings are by default; choose another name")
        if not _is_profile(profile):
            raise ModelError(f"{where} is not a profile; write ({{setting: value, ...}}, 'a sentence in one line')")
        for setting, value in profile[0].items():
            if setting not in declared:
                raise ModelError(f"{where}: there is no setting {setting!r}; {nearest(setting, declared)}")
            try:
                declared[setting].checked(value)
            except UnknownName as error:
                raise ModelError(f"{where}: {error}") from None


def _is_profile(given: Any) -> bool:
    match given:
        case (Mapping(), str(sentence)):
            return bool(sentence.strip()) and "\n" not in sentence
    return False
