"""Plots of counts, for example by level: stacked bars, or a row for each name if there are more names than colours."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from isrcheck.checker.datasets.shapes import COLOURS, Drawing, Rect, Text, below, shade

WIDTH: Final = 900
HEIGHT: Final = 220
LEFT: Final = 80
RIGHT: Final = 190
TOP: Final = 34
BOTTOM: Final = 30
ROW: Final = 14
"""The height of the row of one name."""
LABELS: Final = 20
"""The greatest number of labels below a panel."""


@dataclass(frozen=True)
class Panel:
    """A title, the labels below the bars, and `series`: for each name, the height of its part in each bar."""

    title: str
    labels: Sequence[str]
    series: Mapping[str, Sequence[int]]


def plotted(panels: Sequence[Panel]) -> Drawing:
    """One drawing, with the panels below each other."""
    return below("; ".join(panel.title for panel in panels), map(_panel, panels))


def _panel(panel: Panel) -> Drawing:
    if len(panel.series) > len(COLOURS):
        return _rows(panel)
    return Drawing(panel.title, WIDTH, HEIGHT, (Text(LEFT, 20, panel.title, "start", 14), *_bars(panel)))


def _bars(panel: Panel) -> Iterator[Rect | Text]:
    """The stacked bars of a panel. No two series have the same colour."""
    step, room = (WIDTH - LEFT - RIGHT) / max(len(panel.labels), 1), HEIGHT - TOP - BOTTOM
    totals = [sum(values[i] for values in panel.series.values()) for i in range(len(panel.labels))]
    highest = max(totals, default=0) or 1
    yield Text(LEFT - 6, TOP + 10, f"{highest:,}", "end")
    yield Text(LEFT - 6, TOP + room, "0", "end")
    base = [0.0] * len(panel.labels)
    for number, (colour, (name, values)) in enumerate(zip(COLOURS, panel.series.items(), strict=False)):
        for i, value in enumerate(values):
            size = room * value / highest
            if value:
                at = LEFT + i * step, TOP + room - base[i] - size
                yield Rect(*at, max(step * 0.9, 0.5), size, colour, f"{name}, {panel.labels[i]}: {value:,}")
            base[i] += size
        yield Rect(WIDTH - RIGHT + 10, TOP + ROW * number, 10, 10, colour)
        yield Text(WIDTH - RIGHT + 25, TOP + ROW * number + 9, name)
    yield from _labels(panel, step, HEIGHT - 14)


def _rows(panel: Panel) -> Drawing:
    """A row for each name, darker for larger values. The scale is logarithmic, so even the rarest name is visible."""
    height = TOP + ROW * len(panel.series) + BOTTOM
    step = (WIDTH - LEFT - RIGHT) / max(len(panel.labels), 1)
    most = math.log1p(max((max(values, default=0) for values in panel.series.values()), default=0)) or 1.0
    shapes: list[Rect | Text] = [Text(LEFT, 20, panel.title, "start", 14)]
    for number, (name, values) in enumerate(panel.series.items()):
        y = TOP + ROW * number
        for i, value in enumerate(values):
            if value:
                colour = shade(COLOURS[0], 0.15 + 0.85 * math.log1p(value) / most)
                hint = f"{name}, {panel.labels[i]}: {value:,}"
                shapes.append(Rect(LEFT + i * step, y, max(step * 0.95, 0.5), ROW - 1, colour, hint))
        shapes += [Text(LEFT - 6, y + 10, f"{sum(values):,}", "end"), Text(WIDTH - RIGHT + 10, y + 10, name)]
    return Drawing(panel.title, WIDTH, height, (*shapes, *_labels(panel, step, height - 14)))


def _labels(panel: Panel, step: float, y: float) -> Iterator[Text]:
    every = max(1, -(-len(panel.labels) // LABELS))
    for i, label in enumerate(panel.labels):
        if i % every == 0:
            yield Text(LEFT + (i + 0.45) * step, y, label, "middle")
