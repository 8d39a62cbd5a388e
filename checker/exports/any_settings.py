"""The variables of models at any of their settings, which an editor needs for code that several settings share.

A method checks a setting before it reads a variable that does not always exist. A type cannot check settings, so it has
the variable. To find such variables, settings are changed one by one, starting from the defaults.
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
"""A setting and another value of it."""


class Unlike(Domain):
    """A part whose kind differs between settings."""


def at_any_settings(models: Iterable[type[Model]]) -> Variables:
    """The variables in the states of these models, for every model and all its settings."""
    found: Variables = {}
    for model in models:
        found = _joined(found, _from(model))
    return found


def _from(model: type[Model]) -> Variables:
    """The variables by default, with each setting changed, and again with each setting that adds something.

    In this way a variable that needs two settings is found. One of them adds something, and then the other is changed
    as well.
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
    """The variables at these settings; none if the settings do not fit together.

    The user did not choose these settings. If a model's own code raises an error at them, the model has no states
    there.
    """
    try:
        return model(**settings).domains
    except Exception:
        return {}


def _changed(model: type[Model], changes: Iterable[Change]) -> dict[str, Any]:
    """The settings after these changes, in turn, without changes that do not fit the changes before."""
    settings: dict[str, Any] = {}
    for name, value in changes:
        if name not in settings and _variables(model, settings | {name: value}):
            settings[name] = value
    return settings


def _changes(model: type[Model]) -> list[Change]:
    """Each setting with each other choice; for a number, with the least number and the number after the default."""
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
    """The variables of both, in the order of the first."""
    both = {name: _join(domain, other[name]) if name in other else domain for name, domain in one.items()}
    return both | {name: domain for name, domain in other.items() if name not in one}


def _join(one: Domain, other: Domain) -> Domain:
    """A domain with the parts of both, if they are of the same kind."""
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
