"""Drift: the differences between recorded and newly derived results, in words that help to find the cause.

The recorded files may have been edited. Even if their contents are damaged, the differences are reported.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator
from itertools import zip_longest
from pathlib import Path
from typing import Any, Final, TypeGuard

from isrcheck.checker.results.text_layout import plural
from isrcheck.checker.scenarios.derived_files import Derived
from isrcheck.checker.scenarios.scenario import COUNTS, GENERATED, ITF, TEXT

FIRST: Final = ("verdict", "invariants", "levels", "generated")
"""The keys of `expected.json` whose differences are reported first, because the other counts follow from them."""
NOTHING: Final = "nothing"


def recorded(folder: Path) -> dict[str, bytes]:
    """The contents of a scenario's generated files as they are recorded, by name."""
    paths = {name: folder / name for name in GENERATED}
    return {name: path.read_bytes() for name, path in paths.items() if path.is_file()}


def drift(old: dict[str, bytes], derived: Derived) -> list[str]:
    """Messages about the differences between recorded and derived files. There are none if all bytes are equal."""
    new = {name: text.encode() for name, text in derived.files.items()}
    differing = [name for name in GENERATED if old.get(name) != new.get(name)]
    lines = [line for name in differing for line in _presence(name, old, new)]
    both = [name for name in differing if name in old and name in new]
    if COUNTS in both:
        lines += _explained(COUNTS, old, new, _counts)
    if ITF in both:
        lines += _explained(ITF, old, new, _trace)
    if TEXT in both and ITF not in both:
        lines.append(_first_line(TEXT, old, new))
    return lines


def _presence(name: str, old: dict[str, bytes], new: dict[str, bytes]) -> Iterator[str]:
    if name not in old:
        yield f"{name} is not recorded"
    elif name not in new:
        yield f"{name} is recorded, but nothing is violated now"


def _explained(name: str, old: dict[str, bytes], new: dict[str, bytes], explain: Any) -> list[str]:
    try:
        before = json.loads(old[name])
    except (ValueError, RecursionError):
        return [f"{name}: the recorded file is not JSON"]
    if not isinstance(before, dict):
        return [f"{name}: the recorded file is not a JSON object"]
    return list(explain(before, json.loads(new[name]))) or [_first_line(name, old, new)]


def _first_line(name: str, old: dict[str, bytes], new: dict[str, bytes]) -> str:
    """A message about the first line in which the recorded and the derived file differ."""
    pairs = zip_longest(old[name].splitlines(True), new[name].splitlines(True), fillvalue=b"")
    for i, (before, after) in enumerate(pairs, 1):
        if before != after:
            return f"{name}: line {i} is {_line(after)}, recorded {_line(before)}"
    raise AssertionError("the bytes are the same")


def _line(line: bytes) -> str:
    text = line.decode("utf-8", "replace").rstrip("\n")
    return repr(text if len(text) <= 100 else text[:97] + "...") if line else NOTHING


# --- counts ---------------------------------------------------------------------------------------------------------


def _counts(old: dict[str, Any], new: dict[str, Any]) -> Iterator[str]:
    keys = [*FIRST, *sorted((old.keys() | new.keys()) - set(FIRST))]
    for key in keys:
        before, after = old.get(key), new.get(key)
        if key == "levels" and _are_counts(before) and _are_counts(after):
            yield from _levels(before, after)
        elif key == "generated" and isinstance(before, dict) and isinstance(after, dict):
            yield from _generated(before, after)
        else:
            yield from _values(key, before, after)


def _values(path: str, old: Any, new: Any) -> Iterator[str]:
    """Messages about the parts of two JSON values that differ, path by path."""
    if isinstance(old, dict) and isinstance(new, dict):
        for key in sorted(old.keys() | new.keys()):
            yield from _values(f"{path}.{key}", old.get(key), new.get(key))
    elif _are_counts([old, new]):
        if old != new:
            yield f"{path}: {new:,}, recorded {old:,}"
    elif old != new or type(old) is not type(new):
        yield f"{path}: {_value(new)}, recorded {_value(old)}"


def _value(value: Any) -> str:
    if value is None:
        return NOTHING
    text = value if isinstance(value, str) else json.dumps(value)
    return text if len(text) <= 100 else text[:97] + "..."


def _levels(old: list[int], new: list[int]) -> Iterator[str]:
    differing = _differing(old, new)
    if differing:
        level, before, after = differing[0]
        now = "is missing" if after is None else f"has {plural(after, 'state')}"
        then = "not recorded" if before is None else f"recorded {before:,}"
        yield f"levels: level {level} {now}, {then}{_change(before, after)}{_more(differing)}"


def _generated(old: dict[str, Any], new: dict[str, Any]) -> Iterator[str]:
    """Messages about the actions whose counts differ at some level, ordered by the first such level.

    New actions, actions that are gone, and actions with damaged recorded counts come first.
    """
    found = []
    for action in old.keys() | new.keys():
        before, after = old.get(action), new.get(action)
        if before is None or after is None:
            found.append((0, action, f"generated: {action} is {'new' if before is None else 'gone'}"))
        elif not _are_counts(before):
            found.append((0, action, f"generated: {action}: the recorded value is not a list of counts"))
        elif differing := _differing(before, after):
            found.append((differing[0][0], action, _action(action, differing)))
    yield from (line for _, _, line in sorted(found))


def _action(action: str, differing: list[tuple[int, int | None, int | None]]) -> str:
    level, before, after = differing[0]
    now, then = (NOTHING if x is None else f"{x:,}" for x in (after, before))
    return f"generated: {action} at level {level}: {now}, recorded {then}{_change(before, after)}{_more(differing)}"


def _change(old: int | None, new: int | None) -> str:
    return "" if old is None or new is None else f" ({new - old:+,})"


def _differing(old: list[int], new: list[int]) -> list[tuple[int, int | None, int | None]]:
    """Each level at which two lists of counts differ, with the recorded and the new count (None if it is missing)."""
    pairs: Iterable[tuple[int | None, int | None]] = zip_longest(old, new)
    return [(i, before, after) for i, (before, after) in enumerate(pairs, 1) if before != after]


def _more(differing: list[Any]) -> str:
    rest = len(differing) - 1
    return "" if rest == 0 else f"; {rest} more {'level differs' if rest == 1 else 'levels differ'}"


def _are_counts(value: Any) -> TypeGuard[list[int]]:
    return isinstance(value, list) and all(type(x) is int for x in value)


# --- traces ---------------------------------------------------------------------------------------------------------


def _trace(old: dict[str, Any], new: dict[str, Any]) -> Iterator[str]:
    """Messages about the first state in which two ITF traces differ, then about differences in their other data."""
    before, after = old.get("states"), new["states"]
    if not isinstance(before, list) or not all(isinstance(x, dict) for x in before):
        yield f"{ITF}: the recorded file has no states"
        return
    for i, (a, b) in enumerate(zip_longest(before, after), 1):
        if a != b:
            yield f"trace: {_step(i, a, b, len(after))}"
            break
    yield from _values("trace", {**old, "states": None}, {**new, "states": None})


def _step(i: int, old: dict[str, Any] | None, new: dict[str, Any] | None, length: int) -> str:
    if new is None:
        return f"it ends with state {length}, but was recorded with a further step {_label(old)}"
    if old is None:
        return f"it continues to state {i} with {_label(new)}, but was recorded to end before it"
    if _label(old) != _label(new):
        return f"state {i} is reached with {_label(new)}, recorded {_label(old)}"
    parts = [line for line in _values(f"state {i}", old, new) if line]
    rest = len(parts) - 1
    return parts[0] + (f"; {rest} more {'part differs' if rest == 1 else 'parts differ'}" if rest else "")


def _label(state: dict[str, Any] | None) -> str:
    """The text of the action instance that leads to an ITF state."""
    meta = (state or {}).get("#meta")
    if not isinstance(meta, dict) or "action" not in meta:
        return "no action"
    parameters = meta.get("parameters")
    inner = parameters.items() if isinstance(parameters, dict) else ()
    return f"{meta['action']}({', '.join(f'{name}={_value(value)}' for name, value in inner)})"
