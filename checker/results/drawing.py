"""Rectangles and texts, and the drawings made from them: an SVG file, a part of a page, or a PNG file.

Plots of counts, for example by level: stacked bars, or a row for each name if there are more names than colours.
"""

from __future__ import annotations

import io
import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from importlib.util import find_spec
from typing import Final
from xml.sax.saxutils import escape

from isrcheck.checker.results.errors import MissingTool

COLOURS: Final = ("#4477aa", "#ee6677", "#228833", "#ccbb44", "#66ccee", "#aa3377", "#bbbbbb", "#000000")
"""Paul Tol's bright scheme, which colour-blind people can tell apart."""
SCALE: Final = 2
"""Pixels in a PNG file for each unit of length in a drawing."""


@dataclass(frozen=True)
class Rect:
    """A filled rectangle; `hint` is shown when the pointer rests on it."""

    x: float
    y: float
    width: float
    height: float
    colour: str
    hint: str = ""


@dataclass(frozen=True)
class Text:
    """Words on the line y. `anchor` says what is at x: the `start`, the `middle` or the `end` of the words."""

    x: float
    y: float
    words: str
    anchor: str = "start"
    size: int = 10
    colour: str = "#000000"


@dataclass(frozen=True)
class Drawing:
    """Shapes, with a title that a page gives to screen readers. In a file the background is white."""

    title: str
    width: int
    height: int
    shapes: tuple[Rect | Text, ...]


def svg(drawing: Drawing, on_a_page: bool = False) -> str:
    """The text of an SVG file, or of an SVG element in a page. The page decides how wide the element is."""
    name = 'xmlns="http://www.w3.org/2000/svg"'
    width, height = drawing.width, drawing.height
    if on_a_page:
        title = escape(drawing.title, {'"': "&quot;"})
        parts = [f'<svg {name} class="plot" role="img" aria-label="{title}" viewBox="0 0 {width} {height}">']
    else:
        parts = [f'<svg {name} width="{width}" height="{height}" font-family="sans-serif">']
        parts.append(f'<rect width="{width}" height="{height}" fill="#ffffff"/>')
    return "\n".join([*parts, *map(_element, drawing.shapes), "</svg>", ""])


def _element(shape: Rect | Text) -> str:
    match shape:
        case Rect(x, y, width, height, colour, hint):
            place = f'x="{x:.2f}" y="{y:.2f}" width="{width:.2f}" height="{height:.2f}" fill="{colour}"'
            return f"<rect {place}><title>{escape(hint)}</title></rect>" if hint else f"<rect {place}/>"
        case Text(x, y, words, anchor, size, colour):
            fill = "" if colour == "#000000" else f' fill="{colour}"'
            place = f'x="{x:.1f}" y="{y:.1f}" font-size="{size}" text-anchor="{anchor}"{fill}'
            return f"<text {place}>{escape(words)}</text>"


def require_png() -> None:
    """Raises `MissingTool` if no PNG can be drawn."""
    if find_spec("PIL") is None:
        raise MissingTool("PNG plots need Pillow, which is not installed; pip install 'isrcheck[png]'")


def png(drawing: Drawing) -> bytes:
    """A drawing as a PNG file."""
    from PIL import Image, ImageDraw, ImageFont

    image = Image.new("RGB", (drawing.width * SCALE, drawing.height * SCALE), "#ffffff")
    draw = ImageDraw.Draw(image)
    anchors = {"start": "ls", "middle": "ms", "end": "rs"}
    for shape in drawing.shapes:
        at = shape.x * SCALE, shape.y * SCALE
        if isinstance(shape, Rect):
            size = shape.width * SCALE, shape.height * SCALE
            # In Pillow, a rectangle includes its last pixel.
            draw.rectangle((*at, at[0] + max(size[0] - 1, 0), at[1] + max(size[1] - 1, 0)), fill=shape.colour)
        else:
            font = ImageFont.load_default(shape.size * SCALE)
            draw.text(at, shape.words, fill=shape.colour, font=font, anchor=anchors[shape.anchor])
    content = io.BytesIO()
    image.save(content, "PNG")
    return content.getvalue()


def below(title: str, parts: Iterable[Drawing]) -> Drawing:
    """One drawing that has several drawings below each other."""
    shapes: list[Rect | Text] = []
    width = height = 0
    for part in parts:
        for shape in part.shapes:
            values = {**vars(shape), "y": shape.y + height}
            shapes.append(type(shape)(**values))
        width, height = max(width, part.width), height + part.height
    return Drawing(title, width, height, tuple(shapes))


def shade(colour: str, share: float) -> str:
    """A mixture of white and a colour: white for `share` 0, the colour itself for `share` 1."""
    parts = (int(colour[i : i + 2], 16) for i in (1, 3, 5))
    return "#" + "".join(f"{round(255 - (255 - part) * share):02x}" for part in parts)


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
