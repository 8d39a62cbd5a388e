"""The folders of the shipped scenarios, by name, so that tests do not depend on their groups."""

from __future__ import annotations

from pathlib import Path
from typing import Final

from isrcheck.checker.scenarios.collection import folders

ROOT: Final = Path(__file__).parents[2] / "counterexamples"
FOLDERS: Final = {folder.name: folder for folder, _ in folders((str(ROOT),))}
