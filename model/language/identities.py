"""Finds identities in the values of a state, and checks their use. Identities can only be compared for equality."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from isrcheck.model.language.domains import Bag, Domain, Identity, Messages, Per, Record, Sequence_, Value
from isrcheck.model.language.errors import TheState, mistake


def require_identity(domain: Any, asked: str) -> Identity:
    """The domain, if it is an identity; raises `ModelError` otherwise."""
    if not isinstance(domain, Identity):
        raise mistake(f"{asked}({domain!s})", f"write {asked}(domain) with an identity(n)")
    return domain


def require_once(state: TheState, domain: Identity) -> None:
    """Raises `ModelError` where an action calls `s.fresh` twice on a domain: both calls would return the same value."""
    given: dict[Identity, None] = state.__dict__.setdefault("_given", {})
    if domain in given:
        raise mistake("s.fresh is used twice in a step, but gives only one value", "read it into a local name first")
    given[domain] = None


def has_identities(domain: Domain, of: Identity | None = None) -> bool:
    """True if values of a domain contain identities; if `of` is given, only identities of that domain count."""
    match domain:
        case Identity():
            return of in (None, domain)
        case Record():
            return any(has_identities(d, of) for d in domain.domains)
        case Per() | Sequence_() | Messages() | Bag():
            return has_identities(domain.element, of)
    return False


def places(domain: Domain, value: Value, of: Identity, path: tuple[Any, ...]) -> Iterator[tuple[Any, list[Value]]]:
    """Yields the path of each part of a value that may hold identities of `of`, and a list of the part's identities.

    No smaller part can be assigned separately. A step of a path is a position or the name of a field.
    """
    match domain:
        case Record():
            for name, inner, x in zip(domain.names, domain.domains, value, strict=True):
                yield from places(inner, x, of, (*path, name))
        case Per():
            for i, x in enumerate(value):
                yield from places(domain.element, x, of, (*path, i))
        case _ if has_identities(domain, of):
            yield path, list(_inside(domain, value, of))


def _inside(domain: Domain, value: Value, of: Identity) -> Iterator[Value]:
    """The identities of the domain `of` that a value of `domain` contains."""
    match domain:
        case Identity() if domain == of:
            yield value
        case Record():
            for inner, x in zip(domain.domains, value, strict=True):
                yield from _inside(inner, x, of)
        case Per() | Sequence_() | Messages() | Bag():
            for x in value:
                yield from _inside(domain.element, x, of)
