"""isrcheck: explores a protocol exhaustively within bounds and shows the shortest way to break it.

from checker import check

result = check("kip-101", {"replicas": 2, "max_leader_epoch": 2})
print(result.verdict, result.distinct)
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from checker.checking import check
    from checker.exploration import Limits, Progress
    from checker.results import Result

__all__ = ["Limits", "Progress", "Result", "check"]
_HOMES = {"check": "checking", "Limits": "exploration", "Progress": "exploration", "Result": "results"}


def __getattr__(name: str) -> Any:
    # Lazy: the command line's help and lists need none of what an engine imports.
    if name not in _HOMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from importlib import import_module

    return getattr(import_module(f"checker.{_HOMES[name]}"), name)
