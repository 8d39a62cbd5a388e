"""Reads the file of a recording: NDJSON with a header and observations. Each process has a log of its observations.

A recording is data. Each part is checked, and no part is run. The model that the header names is not loaded here.
docs/how-to/real-systems.md describes the format, and `recording.schema.json` is its schema.

Translates values of a real system, such as the epoch 1712, into the small values of a model, class by class.

A class is a kind of values that the header of a recording declares. For example, the header declares the class
`epoch`. Then `{"class": "epoch", "value": 1712}` in a line represents a small value of the model. If the header has a
table for the class, the table gives the small value. Otherwise the small value is the rank of 1712 among all values of
the class in the lines: 2 if two values are smaller. The header may give a first rank other than 0 (`from`), and further
values that are ranked too (`known`).
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from graphlib import CycleError, TopologicalSorter
from itertools import pairwise
from pathlib import Path
from typing import Any, Final

from isrcheck.checker.results.text_layout import printable
from isrcheck.checker.trace.trace_files import LARGEST_FILE, DamagedFile, parsed

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
                        raise DamagedFile(f"{where}: {value!r} of class {name!r} is neither a number nor in its table")
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
                    raise DamagedFile(f"{where}: class {name!r} has no {value!r}; add it to its table or to known")
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


FORMAT: Final = 1
LONGEST: Final = 100_000
"""The greatest number of lines of a recording. The header and empty lines are not counted."""
_HEADER: Final[Mapping[str, type]] = {
    "recording": int, "model": str, "settings": dict, "lanes": list, "hidden": list, "complete": list, "classes": dict,
    "about": str,
}  # fmt: skip
_LINE: Final[Mapping[str, type]] = {
    "lane": str, "order": int, "event": object, "observed": dict, "after": list, "text": str,
}  # fmt: skip
_PATTERN: Final[Mapping[str, type]] = {"action": str, "parameters": dict}
_NAMES: Final = {
    int: "an integer", str: "a string", dict: "an object", list: "a list", bool: "true or false",
}  # fmt: skip

Place = tuple[str, int]
"""The place of a line: its process log, and its number in the process log (`order`)."""


@dataclass(frozen=True)
class Pattern:
    """Describes instances of `action`: they have the values in `parameters` (JSON data). Other parameters are free."""

    action: str
    parameters: dict[str, Any]


@dataclass(frozen=True)
class Line:
    """An observation at one moment: a step that matches one of `events`, and the `observed` values after this step.

    If `events` is empty, the line has no step. The line happened after the lines at the places in `after`. `row` is the
    line's number in the file, counted from 1.
    """

    process_log: str
    order: int
    events: tuple[Pattern, ...]
    observed: dict[str, Any]
    after: tuple[Place, ...]
    text: str | None
    row: int

    @property
    def place(self) -> Place:
        return self.process_log, self.order

    @property
    def title(self) -> str:
        return f"{printable(self.process_log)} {self.order}"


@dataclass(frozen=True)
class Recording:
    """A recorded run: the lines of each process log in order, and the `hidden` steps, which may happen without a line.

    `complete` names parts of the state that hidden steps do not change. `model` is None if the file names no model.
    `settings` has only the settings that the file gives.
    """

    model: str | None
    settings: dict[str, Any]
    hidden: tuple[Pattern, ...]
    complete: tuple[str, ...]
    process_logs: dict[str, tuple[Line, ...]]

    @property
    def lines(self) -> int:
        return sum(map(len, self.process_logs.values()))


def read(path: Path) -> Recording:
    """The recording in a file.

    Raises OSError if the file cannot be read, `DamagedFile` if it is too large or is no recording.
    """
    with path.open("rb") as file:
        content = file.read(LARGEST_FILE + 1)
    if len(content) > LARGEST_FILE:
        raise DamagedFile(f"it is larger than {LARGEST_FILE // 2**20} MiB")
    recording = recognised(content)
    if not recording.lines:
        raise DamagedFile("it has a header and no lines, so nothing is asked; record at least one event")
    return recording


def recognised(content: bytes) -> Recording:
    """The recording in the content of a file. Raises `DamagedFile` if the content is no recording."""
    rows = [(row, text) for row, text in enumerate(content.split(b"\n"), 1) if text.strip()]
    if not rows:
        raise DamagedFile("it is empty; a recording begins with a header")
    if len(rows) > LONGEST + 1:
        raise DamagedFile(f"it has more than {LONGEST} lines")
    data = [(row, _object(row, text)) for row, text in rows]
    header = _header(*data[0])
    lines = [_line(row, each, header["lanes"]) for row, each in data[1:]]
    classes = Classes.of(header.get("classes", {}), _values(lines))
    process_logs = {
        process_log: _in_order(process_log, [each for each in lines if each.process_log == process_log])
        for process_log in header["lanes"]
    }
    _require_some_order(process_logs)
    return Recording(
        header.get("model"),
        header.get("settings", {}),
        tuple(_meant(classes, each, "line 1") for each in _patterns(header.get("hidden", []), 1, "hidden")),
        tuple(header.get("complete", [])),
        {
            process_log: tuple(_in_domains(classes, each) for each in found)
            for process_log, found in process_logs.items()
        },
    )


def _object(row: int, text: bytes) -> dict[str, Any]:
    try:
        data = parsed(text)
    except DamagedFile as error:
        raise DamagedFile(f"line {row}: {error}") from None
    if not isinstance(data, dict):
        raise DamagedFile(f"line {row}: it is not an object")
    return data


def _typed(row: int, data: dict[str, Any], known: Mapping[str, type], required: tuple[str, ...], what: str) -> None:
    """Requires that an object has all required entries, no unknown entry, and only entries of the right type."""
    for name in required:
        if name not in data:
            raise DamagedFile(f"line {row}: {what} has no {name!r}")
    for name, value in data.items():
        if name not in known:
            raise DamagedFile(f"line {row}: {what} has {name!r}; known: {', '.join(known)}")
        kind = known[name]
        if not isinstance(value, kind) or (kind is int and isinstance(value, bool)):
            raise DamagedFile(f"line {row}: {name} is not {_NAMES[kind]}")


def _header(row: int, data: dict[str, Any]) -> dict[str, Any]:
    _typed(row, data, _HEADER, ("recording", "lanes"), "the header")
    if data["recording"] != FORMAT:
        raise DamagedFile(
            f"line {row}: its format is {data['recording']}; this version of isrcheck reads format {FORMAT}"
        )
    process_logs = data["lanes"]
    if (
        not process_logs
        or not all(isinstance(each, str) and each for each in process_logs)
        or len(set(process_logs)) < len(process_logs)
    ):
        raise DamagedFile(f"line {row}: lanes is not a list of distinct names")
    if not all(isinstance(each, str) for each in data.get("complete", [])):
        raise DamagedFile(f"line {row}: complete is not a list of paths")
    return data


def _line(row: int, data: dict[str, Any], process_logs: list[str]) -> Line:
    _typed(row, data, _LINE, ("lane", "order"), "a line")
    if data["lane"] not in process_logs:
        raise DamagedFile(f"line {row}: the header has no lane {data['lane']!r}; known: {', '.join(process_logs)}")
    if "event" not in data and not data.get("observed"):
        raise DamagedFile(f"line {row}: it has neither an event nor an observation")
    events = _patterns(data["event"], row, "event") if "event" in data else ()
    if "event" in data and not events:
        raise DamagedFile(f"line {row}: event is an empty list; name the actions it may stand for")
    after = tuple(_place(row, each, process_logs) for each in data.get("after", []))
    return Line(data["lane"], data["order"], events, data.get("observed", {}), after, data.get("text"), row)


def _patterns(data: Any, row: int, what: str) -> tuple[Pattern, ...]:
    """The patterns in the data of `event` (of a line) or of `hidden` (of the header).

    The data is one pattern or a list of patterns. A string is a pattern, too: the name of an action.
    """
    found = []
    for each in data if isinstance(data, list) else [data]:
        each = {"action": each} if isinstance(each, str) else each
        if not isinstance(each, dict):
            raise DamagedFile(f"line {row}: {what} is neither an action nor a list of actions")
        _typed(row, each, _PATTERN, ("action",), what)
        found.append(Pattern(each["action"], each.get("parameters", {})))
    return tuple(found)


def _place(row: int, data: Any, process_logs: list[str]) -> Place:
    if not isinstance(data, list) or len(data) != 2 or data[0] not in process_logs or type(data[1]) is not int:
        raise DamagedFile(f'line {row}: after is not a list of lines, each ["lane", order]')
    return data[0], data[1]


def _in_order(process_log: str, lines: list[Line]) -> list[Line]:
    found = sorted(lines, key=lambda each: each.order)
    for one, other in pairwise(found):
        if one.order == other.order:
            raise DamagedFile(f"line {other.row}: lane {process_log!r} already has order {one.order} at line {one.row}")
    return found


def _require_some_order(process_logs: dict[str, list[Line]]) -> None:
    """Requires that every line named by `after` exists, and that an order of all lines is possible.

    The order must satisfy every `after`, and must keep the order of the lines in each process log.
    """
    known = {each.place for lines in process_logs.values() for each in lines}
    before: dict[Place, set[Place]] = {}
    for lines in process_logs.values():
        for i, each in enumerate(lines):
            for process_log, order in each.after:
                if (process_log, order) not in known:
                    raise DamagedFile(f"line {each.row}: after names {process_log} {order}, which does not exist")
            before[each.place] = {*each.after, *(other.place for other in lines[max(0, i - 1) : i])}
    try:
        TopologicalSorter(before).prepare()
    except CycleError as error:
        circle = " after ".join(f"{process_log} {order}" for process_log, order in reversed(error.args[1]))
        raise DamagedFile(f"the order is cyclic: {circle}") from None


# --- values ---------------------------------------------------------------------------------------------------------


def _values(lines: list[Line]) -> list[tuple[str, Any]]:
    """The parameters and observations of all lines. They may contain values of classes (`recording_file.py`).

    The result has pairs: the name of a line, such as `line 7`, and parameters or observations of this line.
    """
    found = []
    for each in lines:
        where = f"line {each.row}"
        found += [(where, event.parameters) for event in each.events] + [(where, each.observed)]
    return found


def _meant(classes: Classes, pattern: Pattern, where: str) -> Pattern:
    return Pattern(pattern.action, classes.meant(pattern.parameters, where))


def _in_domains(classes: Classes, line: Line) -> Line:
    where = f"line {line.row}"
    events = tuple(_meant(classes, each, where) for each in line.events)
    observed = classes.meant(line.observed, where)
    return Line(line.process_log, line.order, events, observed, line.after, line.text, line.row)
