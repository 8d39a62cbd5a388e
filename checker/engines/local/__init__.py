"""The local engine: exact breadth-first search over packed states, in native code."""

from isrcheck.checker.engines.local.levels import NativeLevels
from isrcheck.checker.engines.local.search import search

__all__ = ["NativeLevels", "search"]
