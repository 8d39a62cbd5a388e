"""Writes the class of a model's state for editors and type checkers, from the declaration `variables`.

A record becomes a class named by its place: `ReplicaRecord` for the record of `replica`, `LogRecord` for the record in
a sequence `log`. The text is a Python module that only type checkers import.
"""

from __future__ import annotations

from collections.abc import Mapping
from textwrap import wrap
from typing import Final

from isrcheck.model.language import domains

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
        *([f"from isrcheck.model.language.brokers import {', '.join(brokers)}"] if brokers else []),
        "from isrcheck.model.language.typed import (",
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
