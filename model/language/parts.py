"""Parts: a model that is put together of classes which can each be read alone.

A part has what it owns: settings, variables, how they begin, actions, goals. Its bases are the parts that it uses, so
what it needs of others stands in one line, and goes in one direction. A model names parts as its bases and has what
they all have. Nothing is overridden: a name that two parts give is a mistake, as is a variable that two of them have.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from isrcheck.model.language.domains import Domain
from isrcheck.model.language.errors import ModelError, mistake_in
from isrcheck.model.language.marks import require_plain
from isrcheck.model.language.model import Model

COLLECTED = frozenset({"holds", "begins", "together", "abstract"})
"""What each part gives for itself; a model has those of all."""


class Part(Model):
    """A part of a model; sets `abstract = True` in its body.

    `holds()` gives the domains of its own variables, `begins(s)` assigns what they hold at the start. A model built
    upon a finished one may override what it inherits, as always.
    """

    abstract = True

    def __init_subclass__(cls) -> None:
        super().__init_subclass__()
        owners: dict[str, type[Part]] = {}
        for part in parts_of(cls):
            for name in part.__dict__:
                if name.startswith("__") or name in COLLECTED:
                    continue
                if name in owners:
                    raise ModelError(
                        f"{part.__name__}.{name} is defined in part {owners[name].__name__}, too; parts override "
                        "nothing, so give one of them another name"
                    )
                owners[name] = part
        for name in ("holds", "begins"):
            if name in cls.__dict__:
                require_plain(cls.__dict__[name], name)

    def holds(self) -> dict[str, Any]:
        """Name and domain of each variable of this part alone."""
        return {}

    def begins(self, s: Any) -> None:
        """Assigns what the variables of this part hold at the start, where it is not the first value of a domain."""

    def variables(self) -> dict[str, Domain]:
        """The variables of all parts, those of the parts that others use first."""
        found: dict[str, Domain] = {}
        for owner in owners_of(type(self), "holds"):
            own = owner.__dict__["holds"](self)
            if not isinstance(own, dict):
                raise mistake_in(owner.__dict__["holds"], f"holds gives back {own!r}", "return a dict of domains")
            twice = sorted(found.keys() & own.keys())
            if twice:
                raise mistake_in(owner.__dict__["holds"], f"variable {twice[0]!r} is of another part", "rename it")
            found.update(own)
        return found

    def initial(self, s: Any) -> None:
        """Lets each part begin."""
        for owner in owners_of(type(self), "begins"):
            owner.__dict__["begins"](self, s)


def parts_of(cls: type[Model]) -> list[type[Part]]:
    """The parts that a model is put together of, those that others use first."""
    return [c for c in reversed(cls.__mro__) if issubclass(c, Part) and c is not Part and c.abstract]


def owners_of(cls: type[Model], name: str) -> Iterator[type[Part]]:
    """The classes that give something of their own under a name, those that others use first."""
    for owner in reversed(cls.__mro__):
        if issubclass(owner, Part) and owner is not Part and name in owner.__dict__:
            yield owner
