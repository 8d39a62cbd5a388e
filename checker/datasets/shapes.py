"""Rectangles and texts, and the drawings made from them: an SVG file, a part of a page, or a PNG file."""

from __future__ import annotations

import io
from collections.abc import Iterable
from dataclasses import dataclass
from importlib.util import find_spec
from typing import Final
from xml.sax.saxutils import escape

from isrcheck.checker.datasets.refusals import MissingTool

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
        raise MissingTool("a plot as PNG needs Pillow, which is not installed; pip install 'isrcheck[png]'")


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
