"""Records the sizes of the designs' profiles: `python -m tests.profiles.regenerate [MODEL ...]`."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any, Final

from isrcheck import Result, check
from isrcheck.checker.registry.loader import load_model_class, model_names
from isrcheck.checker.scenarios.derived_files import as_text
from isrcheck.model.language.settings import profiles_of

RECORDED: Final = Path(__file__).parents[2] / "checker" / "registry" / "profiles.json"


def sized(model: str, profile: str) -> dict[str, Any]:
    """The size that `isrcheck check MODEL --profile PROFILE` finds."""
    return size_of(check(model, profile=profile))


def size_of(result: Result) -> dict[str, Any]:
    """The data to record about a complete search."""
    assert result.reason is None, result.reason
    lengths = {name: outcome.trace.length for name, outcome in result.invariants.items() if outcome.trace is not None}
    return {"verdict": result.verdict, "states": result.distinct, "depth": result.depth, "lengths": lengths}


def profiles() -> list[tuple[str, str]]:
    """Every shipped model with each of its profiles."""
    return [(model, profile) for model in model_names() for profile in profiles_of(load_model_class(model).cls)]


def main() -> None:
    wanted = sys.argv[1:]
    data = json.loads(RECORDED.read_text(encoding="utf-8")) if RECORDED.exists() else {}
    for model, profile in profiles():
        if not wanted or model in wanted:
            data.setdefault(model, {})[profile] = found = sized(model, profile)
            print(model, profile, found, flush=True)
            RECORDED.write_text(as_text(data), encoding="utf-8")


if __name__ == "__main__":
    main()
