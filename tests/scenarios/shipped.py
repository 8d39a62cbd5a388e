"""The folders of the scenarios that ship, by name: in which group each lies is of no matter to a test."""

from __future__ import annotations

from pathlib import Path
from typing import Final

from isrcheck.checker.scenarios.collection import folders

ROOT: Final = Path(__file__).parents[2] / "counterexamples"
FOLDERS: Final = {folder.name: folder for folder, _ in folders((str(ROOT),))}
