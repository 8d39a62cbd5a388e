"""Writes the class of a model's state for editors and type checkers, from the declaration `variables`.

A record becomes a class named by its place: `ReplicaRecord` for the record of `replica`, `LogRecord` for the record in
a sequence `log`. The text is a Python module that only type checkers import.

Finds each variable that a model has for at least one choice of its settings. An editor needs all these variables.

A method checks a setting before it reads a variable that exists only at some settings. A type cannot check settings, so
the type of a state has all these variables. To find them, settings are changed one by one, starting from the defaults.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import replace
from textwrap import wrap
from typing import Any, Final

from isrcheck.model.language import domains
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


OF_SCALARS: Final = {
    domains.Flag: ("Flag", "bool"),
    domains.Number: ("Number", "int"),
    domains.Identity: ("Value", "int"),
    domains.Enum: ("Name", "str"),
    domains.Broker: ("Broker", "BrokerId | NoBroker | None"),
    domains.BrokerSet: ("Brokers", "set[Any] | frozenset[Any]"),
}
"""For each scalar domain: the type of a value that is read, and the other types that may be assigned."""
OF_ELEMENTS: Final[dict[type[domains.Domain], str]] = {
    domains.Sequence_: "Sequence",
    domains.Channel: "Channel",
    domains.Messages: "Messages",
    domains.Bag: "Bag",
}
WIDTH: Final = 120
"""The width of a line of Python."""
INDEX: Final = {
    domains.Flag: "Flag | bool",
    domains.Number: "Number | int",
    domains.Enum: "Name | str",
    domains.Broker: "Broker | BrokerId",
}


def state_types(name: str, of: str, variables: Mapping[str, domains.Domain], command: str) -> str:
    """The text of the module with the class `name`, for these variables of the model `of`.

    The docstring of the module says that `command` writes the module.
    """
    writer = _Writer()
    fields = [(variable, *writer.of(domain, _capital(variable))) for variable, domain in variables.items()]
    used, brokers = sorted({"Place", "State", *writer.used}), sorted(writer.brokers)
    head = [
        *_docstring(f"The state of {of}, for editors and type checkers, as `{command}` writes it.", ""),
        "",
        "from __future__ import annotations",
        "",
        *(["from typing import Any", ""] if writer.needs_any else []),
        *([f"from isrcheck.model.language.scalarset_members import {', '.join(brokers)}"] if brokers else []),
        "from isrcheck.model.language.state_types import (",
        *(f"    {kind}," for kind in used),
        ")",
    ]
    classes = [*writer.classes, _class(name, f"The variables in each state of {of}.", fields, "State")]
    return "\n".join([*head, *(line for text in classes for line in ("", "", *text)), ""])


class _Writer:
    """Writes the types of domains, and collects the classes that these types need."""

    def __init__(self) -> None:
        self.classes: list[list[str]] = []
        self.used: set[str] = set()
        self.brokers: set[str] = set()
        self.needs_any = False

    def of(self, domain: domains.Domain, path: str) -> tuple[str, str]:
        """The type of a part of a state when it is read, and the other types that may be assigned to it."""
        if type(domain) in OF_SCALARS:
            kind, given = OF_SCALARS[type(domain)]
            self.used.add(kind)
            return kind, self._noted(given)
        self.needs_any = True
        if isinstance(domain, domains.Record):
            fields = [(n, *self.of(d, path + _capital(n))) for n, d in zip(domain.names, domain.domains, strict=True)]
            self.used.add("Value")
            return self._record(f"{path}Record", domain, fields), "dict[str, Any]"
        if isinstance(domain, domains.Per):
            index, element = self._noted(INDEX.get(type(domain.index), "Any")), self.of(domain.element, path)[0]
            self.used |= {"Per", index.partition(" ")[0]} - {"Any"}
            return f"Per[{index}, {element}]", "Any"
        if not isinstance(domain, domains.Sequence_ | domains.Messages | domains.Bag):
            return "Any", "Any"
        kind = OF_ELEMENTS[type(domain)]
        self.used.add(kind)
        return f"{kind}[{self.of(domain.element, path)[0]}]", "Any" if kind == "Messages" else "list[Any]"

    def _record(self, name: str, domain: domains.Record, fields: list[tuple[str, str, str]]) -> str:
        """Adds the class of a record and returns the class's name, with a number if the name is taken."""
        taken = {line.partition("(")[0].removeprefix("class ") for line, *_ in self.classes}
        number = 2
        while name in taken:
            name, number = f"{name.rstrip('0123456789')}{number}", number + 1
        self.classes.append(_class(name, f"A record: {', '.join(domain.names)}.", fields, "Value"))
        return name

    def _noted(self, text: str) -> str:
        self.needs_any |= "Any" in text
        self.brokers |= {"BrokerId", "NoBroker"} & set(text.split(" | "))
        return text


def _class(name: str, sentence: str, fields: list[tuple[str, str, str]], base: str) -> list[str]:
    """The lines of a class. A field is a name, the type of a value when read, and other types that may be assigned."""
    places = (f"    {n}: Place[{t}, {g}]" for n, t, g in fields)
    return [f"class {name}({base}):", *_docstring(sentence, "    "), "", *places]


def _docstring(sentence: str, indent: str) -> list[str]:
    """The lines of a docstring."""
    words = [f'{indent}"""{sentence}"""']
    if len(words[0]) > WIDTH:
        lines = wrap(sentence, WIDTH, initial_indent=f'{indent}"""', subsequent_indent=indent, break_on_hyphens=False)
        words = [*lines, f'{indent}"""']
    return words


def _capital(name: str) -> str:
    """The name of a variable in the form of a class name.

    >>> _capital("epoch_cache")
    'EpochCache'
    """
    return "".join(part[:1].upper() + part[1:] for part in name.split("_"))
