"""The constraints on a model's settings: settings that conflict, and settings that may have no effect (inert)."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any, TypeVar

from isrcheck.model.language.errors import UnknownName
from isrcheck.model.language.settings import AtSettings

Condition = Callable[[Any], Any]
"""A condition on a model at its settings."""


@dataclass(frozen=True)
class Conflict:
    """Settings that must not be combined if `where` is true of the model; `why` gives the reason and the remedy."""

    settings: tuple[str, ...]
    where: Condition
    why: str


@dataclass(frozen=True)
class Inert:
    """Settings that have an effect only if the model fulfils `unless`; `words` describes this condition."""

    settings: tuple[str, ...]
    unless: Condition
    words: str


SettingConstraints = tuple[Conflict | Inert, ...]
"""The type of `setting_constraints` in a class body."""


def conflict(*settings: str, where: Condition, why: str) -> Conflict:
    """Declares settings whose combination is refused."""
    return Conflict(settings, where, why)


def inert(*settings: str, unless: Condition, words: str) -> Inert:
    """Declares settings that have no effect while `unless` is false of the model. Reports then say so."""
    return Inert(settings, unless, words)


def refuse_conflicts(model: AtSettings) -> None:
    """Raises `UnknownName` if a model's settings must not be combined; the message has their names and values."""
    for found in _declared(model, Conflict):
        if found.where(model):
            values = " and ".join(f"{name}={said(getattr(model, name))}" for name in found.settings)
            raise UnknownName(f"{values} cannot be combined: {found.why}")


def inert_settings(model: AtSettings) -> dict[str, str]:
    """The settings that have no effect although they differ from their defaults, each with the words of its `Inert`."""
    declared = model.declared_settings()
    changed = {name for name, setting in declared.items() if model.settings[name] != setting.default}
    found = {
        name: one.words
        for one in _declared(model, Inert)
        for name in one.settings
        if name in changed and not one.unless(model)
    }
    return {name: found[name] for name in declared if name in found}


def left_out(model: AtSettings) -> dict[str, str]:
    """The settings whose values make the model omit behaviour of the real system, each with the omitted behaviour."""
    declared = model.declared_settings()
    found = {name: setting.leaves_out.get(model.settings[name]) for name, setting in declared.items()}
    return {name: words for name, words in found.items() if words is not None}


def said(value: Any) -> str:
    """A value as the command line writes it."""
    return str(value).lower() if isinstance(value, bool) else str(value)


Kind = TypeVar("Kind", Conflict, Inert)


def _declared(model: AtSettings, kind: type[Kind]) -> Iterator[Kind]:
    """The declarations of a kind; declarations of base classes come first."""
    for base in reversed(type(model).__mro__):
        for one in base.__dict__.get("setting_constraints", ()):
            if isinstance(one, kind):
                yield one
