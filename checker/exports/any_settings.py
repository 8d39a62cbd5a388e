"""Finds each variable that a model has for at least one choice of its settings. An editor needs all these variables.

A method checks a setting before it reads a variable that exists only at some settings. A type cannot check settings, so
the type of a state has all these variables. To find them, settings are changed one by one, starting from the defaults.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import replace
from typing import Any

from isrcheck.model.language.domains import Bag, Domain, Messages, Number, Per, Record, Sequence_
from isrcheck.model.language.model import Model
from isrcheck.model.language.settings import Setting

Variables = dict[str, Domain]
Change = tuple[str, Any]
"""A change of a setting: its name, and a value that is not its default."""


class Unlike(Domain):
    """Stands for a part of a state that, for example, is a flag at some settings and a record at other settings."""


def at_any_settings(models: Iterable[type[Model]]) -> Variables:
    """The variables that these models have at some of their settings. `_from` says which settings are tried."""
    found: Variables = {}
    for model in models:
        found = _joined(found, _from(model))
    return found


def _from(model: type[Model]) -> Variables:
    """The variables of a model at its defaults, with each setting changed, and with combinations of changes.

    A change that adds a variable, or a part of a variable, is kept. Then all changes are tried again, together with the
    kept changes. In this way the search finds a variable that needs two changes.
    """
    found, showing, before = _variables(model, {}), dict[Change, None](), -1
    while before < len(showing):
        before = len(showing)
        settings = _changed(model, showing)
        here = _variables(model, settings)
        found = _joined(found, here)
        for change in _changes(model):
            there = _variables(model, settings | dict([change]))
            there = there or _variables(model, _changed(model, [change, *showing]))
            if _joined(here, there) != here:
                found = _joined(found, there)
                showing[change] = None
    return found


def _variables(model: type[Model], settings: Mapping[str, Any]) -> Variables:
    """The variables of a model at these settings; an empty mapping if the settings do not fit together.

    Any error, even in the model's own code, means that the settings do not fit together. Errors are not reported,
    because the user did not choose these settings.
    """
    try:
        return model(**settings).domains
    except Exception:
        return {}


def _changed(model: type[Model], changes: Iterable[Change]) -> dict[str, Any]:
    """The settings after these changes, made one by one. A change that does not fit the earlier changes is skipped."""
    settings: dict[str, Any] = {}
    for name, value in changes:
        if name not in settings and _variables(model, settings | {name: value}):
            settings[name] = value
    return settings


def _changes(model: type[Model]) -> list[Change]:
    """Every change of a single setting.

    A flag or text is changed to each of its other choices. A number is changed to its least value and to default + 1.
    """
    declared = model.declared_settings().items()
    return [(name, value) for name, setting in declared for value in _values(setting) if value != setting.default]


def _values(setting: Setting) -> Iterable[Any]:
    if isinstance(setting.default, bool):
        return (False, True)
    if isinstance(setting.default, str):
        return setting.choices or ()
    near = {setting.default + 1, setting.default if setting.at_least is None else setting.at_least}
    return sorted(value for value in near if setting.allows(value))


def _joined(one: Mapping[str, Domain], other: Mapping[str, Domain]) -> Variables:
    """The variables of two mappings; variables of the first mapping come first."""
    both = {name: _join(domain, other[name]) if name in other else domain for name, domain in one.items()}
    return both | {name: domain for name, domain in other.items() if name not in one}


def _join(one: Domain, other: Domain) -> Domain:
    """A domain with the parts of both domains, or `Unlike` if the two domains are of different kinds.

    Numbers and identities together become a `Number`.
    """
    if type(one) is not type(other):
        return Number(0, 0) if isinstance(one, Number) and isinstance(other, Number) else Unlike()
    if isinstance(one, Record) and isinstance(other, Record):
        fields = _joined(*(dict(zip(r.names, r.domains, strict=True)) for r in (one, other)))
        return Record(tuple(fields), tuple(fields.values()))
    if isinstance(one, Per) and isinstance(other, Per):
        return Per(_join(one.index, other.index), _join(one.element, other.element))
    if isinstance(one, Sequence_ | Messages | Bag) and isinstance(other, Sequence_ | Messages | Bag):
        return replace(one, element=_join(one.element, other.element))
    return one
