"""The recorded traces of shipped scenarios, with their models."""

from __future__ import annotations

import tomllib
from functools import cache
from typing import Final

from isrcheck.checker.analysis.replay import replay
from isrcheck.checker.registry.loader import LoadedModel, load_model_class
from isrcheck.checker.scenarios.collection import one
from isrcheck.checker.scenarios.scenario import Scenario
from isrcheck.checker.trace.trace_evaluation import EvaluatedTrace
from tests.scenarios.shipped import FOLDERS

# Of invariants: a lasso, which claims a property, ends in no state that is worse than another.
VIOLATED: Final = sorted(
    name
    for name, folder in FOLDERS.items()
    if (folder / "trace.itf.json").exists() and "liveness" not in tomllib.loads((folder / "scenario.toml").read_text())
)


@cache
def walk(name: str) -> tuple[Scenario, LoadedModel, str, EvaluatedTrace]:
    """A scenario with its model, the invariant that its recorded trace violates, and that trace."""
    scenario = one(str(FOLDERS[name]))
    loaded = load_model_class(scenario.specification())
    (replayed,) = replay(FOLDERS[name] / "trace.itf.json", loaded)
    invariant = replayed.recorded.name or ""
    model = loaded.cls(**scenario.settings)
    return scenario, loaded, invariant, EvaluatedTrace(model, replayed.outcome.trace, loaded.invariants[invariant])
