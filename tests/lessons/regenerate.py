"""Regenerates the generated parts and the links of the lessons: `python -m tests.lessons.regenerate [PAGE]...`."""

from __future__ import annotations

import sys
from pathlib import Path

from tests.lessons.pages import made, pages, renewed
from tests.lessons.words import linked


def main(named: list[str]) -> None:
    for page in [Path(name) for name in named] or pages():
        old = page.read_text()
        new = linked(renewed(old, made))
        page.write_text(new)
        print(f"{page.name}: {'as before' if new == old else 'changed'}")


if __name__ == "__main__":
    main(sys.argv[1:])
