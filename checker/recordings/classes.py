"""Translates values of a real system, such as the epoch 1712, into the small values of a model, class by class.

A class is a kind of values that the header of a recording declares. For example, the header declares the class
`epoch`. Then `{"class": "epoch", "value": 1712}` in a line represents a small value of the model. If the header has a
table for the class, the table gives the small value. Otherwise the small value is the rank of 1712 among all values of
the class in the lines: 2 if two values are smaller. The header may give a first rank other than 0 (`from`), and further
values that are ranked too (`known`).
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from isrcheck.checker.traces.files import DamagedFile

MARK = frozenset({"class", "value"})


@dataclass(frozen=True)
class Classes:
    """The declared classes. For each class, `meanings` maps the recorded values (as texts) to values of the model."""

    meanings: dict[str, dict[str, Any]]

    @staticmethod
    def of(header: dict[str, Any], data: Sequence[tuple[str, Any]]) -> Classes:
        """The classes that `header` declares.

        `data` has pairs: the name of a line, such as `line 7`, and a part of this line. Such a part may contain values
        of a class.
        """
        ranked: dict[str, set[Any]] = {}
        meanings: dict[str, dict[str, Any]] = {}
        for name, about in header.items():
            match about:
                case {"table": dict(table), **rest} if not rest:
                    meanings[name] = table
                case dict() if about.keys() <= {"from", "known"} and _is_rank(about):
                    ranked[name] = set(about.get("known", []))
                case _:
                    raise DamagedFile(
                        f'line 1: class {name!r} is neither {{"table": {{...}}}} nor {{"from": 0, "known": [...]}}'
                    )
        for where, each in data:
            for name, value in _marked(each):
                if name in ranked:
                    if not _is_number(value):
                        raise DamagedFile(f"{where}: {value!r} of class {name!r} is no number, and has no rank")
                    ranked[name].add(value)
        for name, values in ranked.items():
            first = header[name].get("from", 0)
            meanings[name] = {_key(value): rank for rank, value in enumerate(sorted(values), first)}
        return Classes(meanings)

    def meant(self, data: Any, where: str) -> Any:
        """Returns the data with the model's value in place of each object `{"class": ..., "value": ...}`."""
        match data:
            case {"class": name, "value": value, **rest} if not rest:
                if not isinstance(name, str) or name not in self.meanings:
                    known = ", ".join(self.meanings) or "none"
                    raise DamagedFile(f"{where}: the header has no class {name!r}; known: {known}")
                if _key(value) not in self.meanings[name]:
                    raise DamagedFile(f"{where}: class {name!r} has no {value!r}; add it to its table, or to known")
                return self.meanings[name][_key(value)]
            case dict():
                return {key: self.meant(each, where) for key, each in data.items()}
            case list():
                return [self.meant(each, where) for each in data]
            case _:
                return data


def _is_rank(about: dict[str, Any]) -> bool:
    known = about.get("known", [])
    return type(about.get("from", 0)) is int and isinstance(known, list) and all(map(_is_number, known))


def _key(value: Any) -> str:
    """The text of a value, as a key. The values 1 and 1.0 have the same text."""
    return str(int(value)) if isinstance(value, float) and value.is_integer() else str(value)


def _is_number(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)


def _marked(data: Any) -> Iterator[tuple[str, Any]]:
    if isinstance(data, dict) and data.keys() == MARK:
        yield data["class"], data["value"]
    for each in data.values() if isinstance(data, dict) else data if isinstance(data, list) else ():
        yield from _marked(each)
