"""Parts: classes that can each be read alone and that setting_constraints make up a model.

A part owns settings, variables, their initial values, actions and goals. Its bases are the parts that it uses, so its
class line lists its dependencies, and dependencies have no cycles. A model names parts as its bases and inherits all
their definitions. Parts override nothing: a name or a variable that two parts define is a mistake. The only exceptions
are the names in `COLLECTED`.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from isrcheck.model.language.decorators import require_plain
from isrcheck.model.language.domains import Domain
from isrcheck.model.language.errors import ModelError, mistake_in
from isrcheck.model.language.model import Model

COLLECTED = frozenset({"holds", "begins", "setting_constraints", "abstract"})
"""Names that every part may define; a model collects the definitions of all its parts."""


class Part(Model):
    """The base class of parts of models; each part sets `abstract = True` in its body.

    `holds()` returns the domains of the part's own variables. `begins(s)` assigns the initial values of these
    variables. Unlike a part, a model may override names that its parts define.
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
                        f"{part.__name__}.{name} is also defined in part {owners[name].__name__}; parts "
                        "cannot override each other, so rename one of them"
                    )
                owners[name] = part
        for name in ("holds", "begins"):
            if name in cls.__dict__:
                require_plain(cls.__dict__[name], name)
        for name, whole in (("holds", "variables"), ("begins", "initial")):
            _require_collected(cls, name, whole)

    def holds(self) -> dict[str, Any]:
        """Name and domain of each variable that this part itself owns."""
        return {}

    def begins(self, s: Any) -> None:
        """Assigns the initial values of this part's variables that do not start at the first value of their domain."""

    def variables(self) -> dict[str, Domain]:
        """The variables of all parts. The variables of a part come before those of the parts that use this part."""
        found: dict[str, Domain] = {}
        for owner in owners_of(type(self), "holds"):
            own = owner.__dict__["holds"](self)
            if not isinstance(own, dict):
                raise mistake_in(owner.__dict__["holds"], f"holds returns {own!r}", "return a dict of domains")
            twice = sorted(found.keys() & own.keys())
            if twice:
                raise mistake_in(owner.__dict__["holds"], f"variable {twice[0]!r} belongs to another part", "rename it")
            found.update(own)
        return found

    def initial(self, s: Any) -> None:
        """Calls `begins` of each part."""
        for owner in owners_of(type(self), "begins"):
            owner.__dict__["begins"](self, s)


def _require_collected(cls: type[Part], name: str, whole: str) -> None:
    """Raises `ModelError` if `name` of some class (such as `begins`) is never called, because `whole` is replaced."""
    for other in cls.__mro__:
        if not issubclass(other, Model) and name in other.__dict__ and other is not object:
            what = f"{name} of {other.__name__} is not used, because {other.__name__} is no Part"
            raise mistake_in(other.__dict__[name], what, "derive it from Part")
    method, owners = getattr(cls, whole), list(owners_of(cls, name))
    names = getattr(getattr(method, "__code__", None), "co_names", ())
    if method is not getattr(Part, whole) and owners and not {name, whole} & {*names}:
        what = f"{whole} of {cls.__name__} replaces {name} of {', '.join(c.__name__ for c in owners)}"
        raise mistake_in(method, what, f"call super().{whole}, or write {name}")


def parts_of(cls: type[Model]) -> list[type[Part]]:
    """The parts that make up a model. A part comes before the parts that use it."""
    return [c for c in reversed(cls.__mro__) if issubclass(c, Part) and c is not Part and c.abstract]


def owners_of(cls: type[Model], name: str) -> Iterator[type[Part]]:
    """The classes whose own body defines a name. A part comes before the parts that use it."""
    for owner in reversed(cls.__mro__):
        if issubclass(owner, Part) and owner is not Part and name in owner.__dict__:
            yield owner
