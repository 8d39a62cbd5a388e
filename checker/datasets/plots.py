"""Plots as SVG text: a panel of stacked bars over levels for each question."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Final
from xml.sax.saxutils import escape

COLOURS: Final = ("#4477aa", "#ee6677", "#228833", "#ccbb44", "#66ccee", "#aa3377", "#bbbbbb", "#000000")
"""Paul Tol's bright scheme, which colour-blind people can tell apart."""
WIDTH: Final = 900
HEIGHT: Final = 220
LEFT: Final = 80
RIGHT: Final = 190
TOP: Final = 34
BOTTOM: Final = 30


@dataclass(frozen=True)
class Panel:
    """A title, what stands below the bars, and for each name the heights of its parts of the bars."""

    title: str
    labels: Sequence[str]
    series: Mapping[str, Sequence[int]]


def svg(panels: Sequence[Panel], on_a_page: bool = False) -> str:
    """The panels below each other, as a whole SVG file, or as a part of a page, which says how wide it is."""
    height = HEIGHT * max(len(panels), 1)
    name = 'xmlns="http://www.w3.org/2000/svg"'
    if on_a_page:
        titles = escape("; ".join(panel.title for panel in panels), {'"': "&quot;"})
        parts = [f'<svg {name} class="plot" role="img" aria-label="{titles}" viewBox="0 0 {WIDTH} {height}">']
    else:
        parts = [f'<svg {name} width="{WIDTH}" height="{height}" font-family="sans-serif">']
        parts.append(f'<rect width="{WIDTH}" height="{height}" fill="#ffffff"/>')
    for i, panel in enumerate(panels):
        parts += [f'<g transform="translate(0 {i * HEIGHT})">', *_panel(panel), "</g>"]
    return "\n".join([*parts, "</svg>", ""])


def _panel(panel: Panel) -> list[str]:
    count = max(len(panel.labels), 1)
    step, room = (WIDTH - LEFT - RIGHT) / count, HEIGHT - TOP - BOTTOM
    totals = [sum(values[i] for values in panel.series.values()) for i in range(len(panel.labels))]
    highest = max(totals, default=0) or 1
    parts = [_text(LEFT, 20, panel.title, "start", 14)]
    parts += [_text(LEFT - 6, TOP + 10, f"{highest:,}", "end"), _text(LEFT - 6, TOP + room, "0", "end")]
    base = [0.0] * len(panel.labels)
    for number, (name, values) in enumerate(panel.series.items()):
        colour = COLOURS[number % len(COLOURS)]
        for i, value in enumerate(values):
            size = room * value / highest
            if value:
                at = f'x="{LEFT + i * step:.2f}" y="{TOP + room - base[i] - size:.2f}"'
                shape = f'width="{max(step * 0.9, 0.5):.2f}" height="{size:.2f}" fill="{colour}"'
                hint = escape(f"{name}, {panel.labels[i]}: {value:,}")
                parts.append(f"<rect {at} {shape}><title>{hint}</title></rect>")
            base[i] += size
        parts += _legend(number, name, colour)
    every = max(1, -(-count // 20))
    parts += [
        _text(LEFT + (i + 0.45) * step, HEIGHT - 14, label, "middle")
        for i, label in enumerate(panel.labels)
        if i % every == 0
    ]
    return parts


def _legend(number: int, name: str, colour: str) -> list[str]:
    y = TOP + 14 * number
    if y > HEIGHT - BOTTOM:
        return []
    return [
        f'<rect x="{WIDTH - RIGHT + 10}" y="{y}" width="10" height="10" fill="{colour}"/>',
        _text(WIDTH - RIGHT + 25, y + 9, name, "start"),
    ]


def _text(x: float, y: float, words: str, anchor: str, size: int = 10) -> str:
    return f'<text x="{x:.1f}" y="{y:.1f}" font-size="{size}" text-anchor="{anchor}">{escape(words)}</text>'
