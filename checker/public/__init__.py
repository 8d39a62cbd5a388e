"""isrcheck: explores a protocol exhaustively within bounds and shows the shortest way to break it.

    import isrcheck

    result = isrcheck.check("kip-101", {"replicas": 2})
    print(result.verdict, {name: finding.trace.length for name, finding in result.findings.items() if finding.trace})

The main functions are `check`, `refine`, `simulate`, `prove` and `replay`. The classes of their results are here, too.
`page` shows a result in a notebook. The names for writing a model are also imported from here: `from isrcheck import
Model, action, broker, number, setting`. `isrcheck.testing` has assertions for tests. `pytest -p isrcheck.pytest_plugin
--isrcheck-scenarios` collects scenarios as tests.

Each name is imported when it is first used, so `import isrcheck` alone is as fast as the import of an empty file.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from isrcheck.checker.checking import check
    from isrcheck.checker.exploration import Limits, Progress
    from isrcheck.checker.pages.notebooks import Page, page
    from isrcheck.checker.proofs.results import ProofResult
    from isrcheck.checker.proving import prove
    from isrcheck.checker.refinement.refined import Refined
    from isrcheck.checker.refinement.refining import refine
    from isrcheck.checker.replaying import replay
    from isrcheck.checker.results import (
        CheckpointRefused,
        EvaluationFailure,
        Finding,
        Instance,
        LimitTooSmall,
        PropertyFinding,
        Result,
        Step,
        Trace,
    )
    from isrcheck.checker.simulating import simulate
    from isrcheck.checker.tables import level_rows, trace_rows
    from isrcheck.checker.traces.files import DamagedFile
    from isrcheck.checker.traces.verdicts import Replayed
    from isrcheck.model.language import (
        BrokerId,
        EvaluationError,
        Model,
        ModelError,
        Part,
        UnknownName,
        action,
        always_eventually,
        asked,
        bag,
        becomes,
        below,
        broker,
        budget,
        channel,
        clash,
        constraint,
        count,
        enum,
        eventually,
        eventually_always,
        eventually_never,
        every,
        flag,
        for_all,
        for_each,
        goal,
        identity,
        idle,
        implies,
        initial,
        invariant,
        last_held,
        leads_to,
        listed,
        maximum,
        messages,
        minimum,
        needs,
        none,
        number,
        one_past_last,
        optional,
        per,
        record,
        refinement,
        scalarset,
        sequence,
        set_of,
        setting,
        some,
        stable,
        when,
    )
    from isrcheck.model.language.fairness import Fairness

__all__ = [
    "BrokerId",
    "CheckpointRefused",
    "DamagedFile",
    "EvaluationError",
    "EvaluationFailure",
    "Fairness",
    "Finding",
    "Instance",
    "LimitTooSmall",
    "Limits",
    "Model",
    "ModelError",
    "Page",
    "Part",
    "Progress",
    "ProofResult",
    "PropertyFinding",
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
    "clash",
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
    "idle",
    "implies",
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
    "isrcheck.checker.checking": ("check",),
    "isrcheck.checker.exploration": ("Limits", "Progress"),
    "isrcheck.checker.pages.notebooks": ("Page", "page"),
    "isrcheck.checker.proofs.results": ("ProofResult",),
    "isrcheck.checker.proving": ("prove",),
    "isrcheck.checker.refinement.refined": ("Refined",),
    "isrcheck.checker.refinement.refining": ("refine",),
    "isrcheck.checker.replaying": ("replay",),
    "isrcheck.checker.results": (
        "CheckpointRefused", "EvaluationFailure", "Finding", "Instance", "LimitTooSmall", "PropertyFinding",
        "Result", "Step", "Trace",
    ),
    "isrcheck.checker.simulating": ("simulate",),
    "isrcheck.checker.tables": ("level_rows", "trace_rows"),
    "isrcheck.checker.traces.files": ("DamagedFile",),
    "isrcheck.checker.traces.verdicts": ("Replayed",),
    "isrcheck.model.language.fairness": ("Fairness",),
}  # fmt: skip
"""For each module, the names that are imported from it. All other names come from `isrcheck.model.language`."""


def __getattr__(name: str) -> Any:
    from importlib import import_module

    if name not in __all__:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    home = next((module for module, names in _HOMES.items() if name in names), "isrcheck.model.language")
    value = globals()[name] = getattr(import_module(home), name)
    return value


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
