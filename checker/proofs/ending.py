"""Records in a result why a proof attempt ends without a decision."""

from __future__ import annotations

from typing import Any

import z3

from isrcheck.checker.engines.symbolic.solving import GaveUp
from isrcheck.checker.exploration import Limits
from isrcheck.checker.proofs.results import ProofResult
from isrcheck.checker.results import Exit


def solvers() -> dict[str, str]:
    """The solvers that an answer depends on, with their versions."""
    return {"z3": z3.get_version_string()}


def stopped(result: ProofResult, gave_up: GaveUp, limits: Limits) -> None:
    """Records why an attempt was given up."""
    result.verdict = "incomplete"
    match gave_up.stop:
        case "time":
            result.exit_code, result.reason = Exit.LIMIT, f"{limits.seconds:g} seconds passed (--max-seconds)"
        case "memory":
            limit = "the memory of this machine" if limits.memory is None else f"{limits.memory} bytes (--max-memory)"
            result.exit_code, result.reason = Exit.LIMIT, f"more memory needed than {limit}"
        case "interrupt":
            result.exit_code, result.reason = Exit.INTERRUPTED, "interrupted"
        case _:
            result.exit_code, result.reason = Exit.DIFFERENCE, f"the solver does not know: {gave_up.why}"


def unknown(result: ProofResult, solver: Any) -> None:
    """Records that the solver answered "unknown", and why."""
    stopped(result, GaveUp("unknown", solver.reason_unknown()), Limits())
