"""isrcheck: explores a protocol exhaustively within bounds and shows the shortest way to break it.

    import isrcheck

    result = isrcheck.check("kip-101", {"replicas": 2})
    print(result.verdict, {name: one.trace.length for name, one in result.invariants.items() if one.trace})

The main functions are `check`, `refine`, `simulate`, `prove` and `replay`. The classes of their results are here, too.
`page` shows a result in a notebook, and `render` gives the text of every other output. The names for writing a model
are also imported from here: `from isrcheck import Model, action, broker, number, setting`. `isrcheck.testing` has
assertions for tests. `pytest -p isrcheck.pytest_plugin --isrcheck-scenarios` collects scenarios as tests.

Each name is imported when it is first used, so `import isrcheck` alone is as fast as the import of an empty file.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

__version__ = "0.2.0"

if TYPE_CHECKING:
    from isrcheck.checker.analysis.check import check
    from isrcheck.checker.analysis.refinement.refinement_check import refine
    from isrcheck.checker.analysis.refinement.refinement_result import Refined
    from isrcheck.checker.analysis.replay import replay
    from isrcheck.checker.analysis.simulate import simulate
    from isrcheck.checker.proofs.proof_result import ProofResult
    from isrcheck.checker.proofs.prove import prove
    from isrcheck.checker.report.outputs import render
    from isrcheck.checker.report.pages.notebook import Page, level_rows, page, trace_rows
    from isrcheck.checker.results.exploration import Limits, Progress
    from isrcheck.checker.results.result import (
        CheckpointRefused,
        EvaluationFailure,
        Instance,
        InvariantResult,
        LimitTooSmall,
        PropertyResult,
        Result,
        Step,
        Trace,
    )
    from isrcheck.checker.trace.replay_result import Replayed
    from isrcheck.checker.trace.trace_files import DamagedFile
    from isrcheck.model.language.decorators import action, constraint, goal, initial, invariant, needs
    from isrcheck.model.language.descriptions import asked, becomes, last_held, listed
    from isrcheck.model.language.domains import (
        bag,
        broker,
        channel,
        enum,
        flag,
        identity,
        messages,
        number,
        optional,
        per,
        record,
        scalarset,
        sequence,
        set_of,
    )
    from isrcheck.model.language.errors import EvaluationError, ModelError, UnknownName
    from isrcheck.model.language.fairness import Fairness
    from isrcheck.model.language.model import Model
    from isrcheck.model.language.parts import Part
    from isrcheck.model.language.properties import (
        always_eventually,
        eventually,
        eventually_always,
        eventually_never,
        for_each,
        leads_to,
        stable,
    )
    from isrcheck.model.language.quantifiers import (
        below,
        count,
        every,
        for_all,
        implies,
        maximum,
        minimum,
        one_past_last,
        some,
        when,
    )
    from isrcheck.model.language.refinements import refinement
    from isrcheck.model.language.scalarset_members import BrokerId, none
    from isrcheck.model.language.setting_constraints import conflict, inert
    from isrcheck.model.language.settings import budget, setting

__all__ = [
    "BrokerId",
    "CheckpointRefused",
    "DamagedFile",
    "EvaluationError",
    "EvaluationFailure",
    "Fairness",
    "Instance",
    "InvariantResult",
    "LimitTooSmall",
    "Limits",
    "Model",
    "ModelError",
    "Page",
    "Part",
    "Progress",
    "ProofResult",
    "PropertyResult",
    "Refined",
    "Replayed",
    "Result",
    "Step",
    "Trace",
    "UnknownName",
    "action",
    "always_eventually",
    "asked",
    "bag",
    "becomes",
    "below",
    "broker",
    "budget",
    "channel",
    "check",
    "conflict",
    "constraint",
    "count",
    "enum",
    "eventually",
    "eventually_always",
    "eventually_never",
    "every",
    "flag",
    "for_all",
    "for_each",
    "goal",
    "identity",
    "implies",
    "inert",
    "initial",
    "invariant",
    "last_held",
    "leads_to",
    "level_rows",
    "listed",
    "maximum",
    "messages",
    "minimum",
    "needs",
    "none",
    "number",
    "one_past_last",
    "optional",
    "page",
    "per",
    "prove",
    "record",
    "refine",
    "refinement",
    "render",
    "replay",
    "scalarset",
    "sequence",
    "set_of",
    "setting",
    "simulate",
    "some",
    "stable",
    "trace_rows",
    "when",
]

_HOMES = {
    "isrcheck.checker.analysis.check": ("check",),
    "isrcheck.checker.results.exploration": ("Limits", "Progress"),
    "isrcheck.checker.proofs.proof_result": ("ProofResult",),
    "isrcheck.checker.proofs.prove": ("prove",),
    "isrcheck.checker.analysis.refinement.refinement_result": ("Refined",),
    "isrcheck.checker.analysis.refinement.refinement_check": ("refine",),
    "isrcheck.checker.analysis.replay": ("replay",),
    "isrcheck.checker.report.outputs": ("render",),
    "isrcheck.checker.results.result": (
        "CheckpointRefused", "EvaluationFailure", "InvariantResult", "Instance", "LimitTooSmall", "PropertyResult",
        "Result", "Step", "Trace",
    ),
    "isrcheck.checker.analysis.simulate": ("simulate",),
    "isrcheck.checker.report.pages.notebook": ("Page", "level_rows", "page", "trace_rows"),
    "isrcheck.checker.trace.trace_files": ("DamagedFile",),
    "isrcheck.checker.trace.replay_result": ("Replayed",),
    "isrcheck.model.language.fairness": ("Fairness",),
}  # fmt: skip
"""For each module, the names that are imported from it. All other names come from `isrcheck.model.language`."""


_RENAMED = {"Finding": "InvariantResult", "PropertyFinding": "PropertyResult", "clash": "conflict", "idle": "inert"}
"""Former names, which are refused."""


def __getattr__(name: str) -> Any:
    from importlib import import_module

    if name in _RENAMED:
        raise ImportError(f"isrcheck.{name} is now called isrcheck.{_RENAMED[name]}")
    if name not in __all__:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    home = next((module for module, names in _HOMES.items() if name in names), "isrcheck.model.language")
    value = globals()[name] = getattr(import_module(home), name)
    return value


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
