"""The JSON of a check that ended before it had a result."""

from __future__ import annotations

from typing import Any

from isrcheck.checker.results import Result


def unanswered(model: str, settings: dict[str, Any], engine: str, reason: str, exit_code: int) -> dict[str, Any]:
    """The JSON data of a result without explored states. The settings are as the user wrote them."""
    return Result(
        model=model,
        settings=settings,
        engine=engine,
        verdict="incomplete",
        exit_code=exit_code,
        reason=reason,
        initial_states=0,
        levels=[],
        generated={},
        rejected=0,
        left=0,
        findings={},
        bounds={},
        actions_never_fired=[],
        goals_never_reached=[],
        unrolled=0 if engine in ("symbolic", "simulation") else None,
    ).to_json()
