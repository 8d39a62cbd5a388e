"""The declarations in a model's `together`: settings that must not be combined and settings that may have no effect."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any, TypeVar

from isrcheck.model.language.errors import UnknownName
from isrcheck.model.language.settings import AtSettings

Condition = Callable[[Any], Any]
"""A condition on a model at its settings."""


@dataclass(frozen=True)
class Clash:
    """Settings that must not be combined if `where` is true of the model; `why` gives the reason and the remedy."""

    settings: tuple[str, ...]
    where: Condition
    why: str


@dataclass(frozen=True)
class Idle:
    """Settings that have an effect only if the model fulfils `unless`; `words` describes this condition."""

    settings: tuple[str, ...]
    unless: Condition
    words: str


Together = tuple[Clash | Idle, ...]
"""The type of `together` in a class body."""


def clash(*settings: str, where: Condition, why: str) -> Clash:
    """Declares settings whose combination is refused."""
    return Clash(settings, where, why)


def idle(*settings: str, unless: Condition, words: str) -> Idle:
    """Declares settings that have no effect while `unless` is false of the model. Reports then say so."""
    return Idle(settings, unless, words)


def refuse_clashes(model: AtSettings) -> None:
    """Raises `UnknownName` if a model's settings must not be combined; the message has their names and values."""
    for found in _declared(model, Clash):
        if found.where(model):
            values = " and ".join(f"{name}={said(getattr(model, name))}" for name in found.settings)
            raise UnknownName(f"{values} do not go together: {found.why}")


def idle_settings(model: AtSettings) -> dict[str, str]:
    """The settings that have no effect although they differ from their defaults, each with the words of its `Idle`."""
    declared = model.declared_settings()
    changed = {name for name, setting in declared.items() if model.settings[name] != setting.default}
    found = {
        name: one.words
        for one in _declared(model, Idle)
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


Kind = TypeVar("Kind", Clash, Idle)


def _declared(model: AtSettings, kind: type[Kind]) -> Iterator[Kind]:
    """The declarations of a kind; declarations of base classes come first."""
    for base in reversed(type(model).__mro__):
        for one in base.__dict__.get("together", ()):
            if isinstance(one, kind):
                yield one
