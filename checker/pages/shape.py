"""The parts of a model's state as a page shows them.

A *row* is a part of the state that is shown as one text, such as the high watermark of broker 1. All states have the
same rows, so the data of a state is only a list of texts.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any, Final

from isrcheck.checker.traces.logs import logs
from isrcheck.checker.wording.values import text_of
from isrcheck.model.language.domains import Broker, Domain, Per, Record, Sequence_, Value
from isrcheck.model.language.model import Model

RECORD_OF_A_LOG: Final = {"id", "epoch"}
"""The fields by which records of a log are recognised. Other records, such as commands, lack one of these fields."""


@dataclass(frozen=True)
class Row:
    """A part of the state: its path, its short name, its owner, and its group.

    `owner` is the name of a broker or of another member of a scalarset, or None for state that no member owns. `group`
    is the short path of the outermost value with named fields (`Record`) that contains the part, or "" if no `Record`
    contains the part. `log` is true if the part holds the records of a log.
    """

    path: str
    name: str
    owner: str | None
    group: str
    log: bool

    def to_json(self) -> dict[str, Any]:
        return {
            "path": self.path,
            "name": self.name,
            "owner": self.owner,
            "group": self.group,
            "log": self.log,
        }


@dataclass(frozen=True)
class _Place:
    """A part of the state, with its owner and its group (see `Row`).

    `shown` is the short path. It has neither the owner nor the group, and no index that has only one possible value.
    """

    path: str
    shown: str
    owner: str | None
    group: str | None

    def at(self, text: str, alone: bool, owner: str | None) -> _Place:
        shown = self.shown if alone or owner is not None else f"{self.shown}[{text}]"
        return _Place(f"{self.path}[{text}]", shown, self.owner if owner is None else owner, self.group)

    def field(self, name: str) -> _Place:
        group = self.shown if self.group is None else self.group
        shown = name if self.group is None else f"{self.shown}.{name}"
        return _Place(f"{self.path}.{name}", shown, self.owner, group)


Part = tuple[_Place, Domain, Value]


class Shape:
    """The rows of the states of a trace, in the order of its variables.

    A trace may have more variables than `model`: a trace of a refinement also has the variables of the specification.
    """

    def __init__(self, model: Model, variables: Sequence[tuple[str, Domain]]) -> None:
        self.model, self._variables = model, variables
        first = tuple(domain.first for _, domain in variables)
        places = [(place, domain) for place, domain, _ in self._parts(first)]
        self.rows = [Row(p.path, p.shown, p.owner, p.group or "", is_log(d)) for p, d in places]

    def texts(self, state: tuple[Value, ...]) -> list[str]:
        """The texts of a state, one for each row."""
        return [text_of(domain, value) for _, domain, value in self._parts(state)]

    def logs(self, state: tuple[Value, ...]) -> list[dict[str, Any]]:
        """The logs of brokers, then logs that no broker keeps, such as the committed records in a ghost variable."""
        kept = [log.to_json() for log in logs(self.model, state)]
        return kept + [_unowned(p, d, x) for p, d, x in self._parts(state) if p.owner is None and is_log(d)]

    def _parts(self, state: tuple[Value, ...]) -> Iterator[Part]:
        for (name, domain), value in zip(self._variables, state, strict=True):
            yield from _spread(_Place(name, name, None, None), domain, value)


def is_log(domain: Domain) -> bool:
    """True if the domain is a sequence of records of a log."""
    return (
        isinstance(domain, Sequence_)
        and isinstance(domain.element, Record)
        and set(domain.element.names) >= RECORD_OF_A_LOG
    )


def _spread(place: _Place, domain: Domain, value: Value) -> Iterator[Part]:
    if isinstance(domain, Per):
        for key, x in zip(domain.index.values(), value, strict=True):
            owner = f"{domain.index.of} {key}" if isinstance(domain.index, Broker) and place.owner is None else None
            yield from _spread(place.at(text_of(domain.index, key), domain.count == 1, owner), domain.element, x)
    elif isinstance(domain, Record):
        for name, d, x in zip(domain.names, domain.domains, value, strict=True):
            yield from _spread(place.field(name), d, x)
    else:
        yield place, domain, value


def _unowned(place: _Place, domain: Any, value: Value) -> dict[str, Any]:
    names = domain.element.names
    records = [dict(zip(names, record, strict=True)) for record in value]
    drawn = [{"offset": i, "id": record["id"], "epoch": record["epoch"]} for i, record in enumerate(records)]
    return {"broker": None, "name": place.group or place.shown, "records": drawn, "log_end": len(drawn)}
