"""A page in one file: a template with style, scripts and data. Its security policy allows no other script or style.

Reads the templates, styles and scripts of the pages, which ship with the package.
"""

from __future__ import annotations

import base64
import hashlib
import json
import re
from functools import cache
from pathlib import Path
from typing import Any, Final

from jinja2 import Environment, FileSystemLoader, StrictUndefined
from markupsafe import Markup, escape

FOLDER: Final = Path(__file__).parent / "files"
EXPLORER_FILES: Final = ("explore.html", "page.css", "drawing.js", "explore.js")


@cache
def asset(name: str) -> str:
    """The text of the file with this name."""
    return (FOLDER / name).read_text(encoding="utf-8")


SCRIPTS: Final = ("drawing.js", "beside.js", "report.js")
UNSAFE: Final = {"<": "\\u003c", ">": "\\u003e", "&": "\\u0026", "\u2028": "\\u2028", "\u2029": "\\u2029"}
"""Characters that may mean something inside a script element, as in `</script>`, and their escapes in JSON."""

VALUE: Final = r"(?:\{[^{}]{0,14}\}|\S{1,14})"
"""The pattern of a short value. `flowing` keeps `old -> new` on one line if both values match this pattern.
`drawing.js` repeats the pattern."""


def page(template: str, data: Any, *, sheet: str = "page.css", files: tuple[str, ...] = SCRIPTS, **values: Any) -> str:
    """The HTML of a page. The scripts in `files` read `data`. Values are escaped, unless they are `Markup`."""
    style, scripts = asset(sheet), [asset(name) for name in files]
    return (
        _environment()
        .get_template(template)
        .render(
            **values,
            policy=_policy(style, scripts),
            style=Markup(style),
            scripts=[Markup(script) for script in scripts],
            data=embedded(data),
        )
    )


def embedded(data: Any) -> Markup:
    """Data as JSON for the inside of a script element. No text in the data can end the element.

    >>> str(embedded("</script>"))
    '"\\\\u003c/script\\\\u003e"'
    """
    text = json.dumps(data, ensure_ascii=False, separators=(",", ":"))
    for character, harmless in UNSAFE.items():
        text = text.replace(character, harmless)
    return Markup(text)


def _policy(style: str, scripts: list[str]) -> str:
    allowed = " ".join(map(_digest, scripts))
    return (
        f"default-src 'none'; script-src {allowed}; style-src {_digest(style)}; img-src data:; "
        "base-uri 'none'; form-action 'none'"
    )


def _digest(text: str) -> str:
    return f"'sha256-{base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()}'"


def flowing(text: str) -> Markup:
    """A text as HTML in which a short `old -> new` stays on one line.

    >>> str(flowing("epoch 0 -> 1"))
    'epoch <span class="flow">0 -&gt; 1</span>'
    """
    parts = re.split(rf"({VALUE} -> {VALUE}|->)", text)
    return Markup("").join(
        Markup('<span class="flow">{}</span>').format(part) if i % 2 else escape(part) for i, part in enumerate(parts)
    )


@cache
def _environment() -> Environment:
    environment = Environment(
        loader=FileSystemLoader(FOLDER),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.filters["flowing"] = flowing
    return environment
