"""A sweep as heat maps over two settings. Each field shows the verdict and the length of the shortest trace."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Final

from isrcheck.checker.analysis.sweep.matrix import Cell
from isrcheck.checker.results.drawing import COLOURS, Drawing, Rect, Text, below, shade
from isrcheck.model.language.errors import UnknownName, nearest

SHADES: Final = {"holds": COLOURS[2], "violated": COLOURS[1], "incomplete": COLOURS[3], None: COLOURS[6]}
LEFT: Final = 170
TOP: Final = 50
FIELD: Final = 84, 34
BOTTOM: Final = 20


def axes_of(cells: Sequence[Cell], asked: Sequence[str]) -> tuple[str, str]:
    """The two settings for the axes: the settings `asked` or, if this is empty, all settings with several values.

    Raises `UnknownName` if these settings are not exactly two, or if no check of the sweep sets a setting in `asked`.
    The first setting is the horizontal axis.
    """
    values: dict[str, dict[str, None]] = {}
    for cell in cells:
        for name, value in cell.settings.items():
            values.setdefault(name, {})[shown(value)] = None
    for name in asked:
        if name not in values:
            raise UnknownName(f"no check of the sweep sets {name!r}; {nearest(name, values)}")
    several = list(asked) or [name for name, found in values.items() if len(found) > 1]
    if len(several) != 2:
        listed = ", ".join(several) or "none"
        raise UnknownName(
            f"a heat map has two axes; choose two settings with --axes (those with several values: {listed})"
        )
    return several[0], several[1]


def shown(value: Any) -> str:
    return str(value).lower() if isinstance(value, bool) else str(value)


def heatmaps(cells: Sequence[Cell], outcomes: Sequence[Mapping[str, Any]], axes: tuple[str, str]) -> Drawing:
    """A drawing with several maps, one below the other. The checks of a map differ only in the settings on the axes."""
    maps: dict[str, dict[tuple[str, str], Mapping[str, Any]]] = {}
    for cell, outcome in zip(cells, outcomes, strict=True):
        at = tuple(shown(cell.settings[axis]) if axis in cell.settings else "default" for axis in axes)
        maps.setdefault(_title(cell, axes), {})[at[0], at[1]] = outcome
    return below(f"verdicts by {axes[0]} and {axes[1]}", (_map(title, found, axes) for title, found in maps.items()))


def _title(cell: Cell, axes: tuple[str, str]) -> str:
    """The title of a map: its model and invariants, the settings that are not on the axes, and limits and options."""
    others = [f"{name}={shown(value)}" for name, value in cell.settings.items() if name not in axes]
    limits = ("max_states", "max_seconds", "max_memory")
    others += [f"{name}={getattr(cell, name)}" for name in limits if getattr(cell, name) is not None]
    others += [name for name in ("deadlock", "keep_going") if getattr(cell, name)]
    return f"{cell.model}({', '.join(others)}): {', '.join(cell.invariants or ('default invariants',))}"


def _map(title: str, found: Mapping[tuple[str, str], Mapping[str, Any]], axes: tuple[str, str]) -> Drawing:
    across, down = (list(dict.fromkeys(at[i] for at in found)) for i in (0, 1))
    width, height = FIELD
    shapes: list[Rect | Text] = [Text(10, 18, title, "start", 13), Text(LEFT - 10, TOP - 6, axes[1], "end", 11)]
    for i, x in enumerate(across):
        shapes.append(Text(LEFT + (i + 0.5) * width, TOP - 6, x, "middle", 11))
    shapes.append(Text(LEFT + len(across) * width + 8, TOP - 6, axes[0], "start", 11))
    for j, y in enumerate(down):
        shapes.append(Text(LEFT - 10, TOP + (j + 0.6) * height, y, "end", 11))
        for i, x in enumerate(across):
            if (x, y) in found:
                shapes += _field(found[x, y], LEFT + i * width, TOP + j * height, f"{axes[0]}={x}, {axes[1]}={y}")
    right = LEFT + (len(across) + 1) * width + 40
    return Drawing(title, max(right, 10 + 8 * len(title)), TOP + len(down) * height + BOTTOM, tuple(shapes))


def _field(outcome: Mapping[str, Any], x: float, y: float, where: str) -> list[Rect | Text]:
    width, height = FIELD
    words = outcome["verdict"] or "not run"
    if outcome["lengths"]:
        words = f"{words}: {min(outcome['lengths'].values())}"
    reason = f", {outcome['reason']}" if outcome["reason"] else ""
    hint = f"{where}: {words}, {outcome['distinct']:,} states{reason}"
    return [
        Rect(x + 1, y + 1, width - 2, height - 2, shade(SHADES[outcome["verdict"]], 0.55), hint),
        Text(x + width / 2, y + height * 0.62, words, "middle", 11),
    ]
