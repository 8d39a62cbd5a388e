"""`isrcheck export --crosscheck`: compares counts and verdicts with Spin and Rumur."""

from __future__ import annotations

import tempfile
from pathlib import Path
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any, NoReturn

from isrcheck.checker.cli.options import model_at
from isrcheck.checker.cli.result_output import Outputs
from isrcheck.checker.registry.profile_settings import settings_of
from isrcheck.checker.results.errors import CommandError
from isrcheck.checker.results.result import Exit
from isrcheck.model.language.errors import UnknownName

if TYPE_CHECKING:
    from isrcheck.checker.export.outside_check import ToolResult
    from isrcheck.checker.results.result import Result
    from isrcheck.model.semantics.transition_system import TransitionSystem


def crosscheck(
    model: str,
    settings: dict[str, str],
    profile: str | None,
    invariants: tuple[str, ...],
    tools: tuple[str, ...],
    max_seconds: float | None,
    max_memory: int,
    outputs: Outputs,
) -> NoReturn:
    """Explores a model completely here and with other tools, prints and writes a comparison, and ends the command."""
    outputs.require_writable()
    require_names(invariants)
    chosen = _tools(tools)
    ours = _ours(model, settings, profile, invariants)
    found = _theirs(model, settings, profile, invariants, chosen, max_seconds, max_memory, ours.generated_total)
    outputs.print(_text(ours, found))
    agree = all(_same(ours, each) for each in found)
    contents = SimpleNamespace(to_json=lambda: _data(ours, found, agree))
    outputs.finish(contents, Exit.HOLDS if agree else Exit.DIFFERENCE)


def _tools(asked: tuple[str, ...]) -> tuple[str, ...]:
    from isrcheck.checker.export.outside_check import installed

    there = installed()
    missing = [tool for tool in asked if tool not in there] if asked else [] if there else ["spin or rumur"]
    if missing:
        raise CommandError(
            f"{', '.join(missing)} not found; install it and a C compiler (apt install spin rumur gcc)",
            Exit.OUTPUT,
        )
    return asked or there


def _ours(model: str, settings: dict[str, str], profile: str | None, invariants: tuple[str, ...]) -> Result:
    from isrcheck.checker.analysis.check import check
    from isrcheck.checker.registry.loader import load_model_class

    loaded = load_model_class(model)
    values = settings_of(loaded.cls, loaded.name, settings)
    result = check(loaded, values, profile=profile, invariants=invariants or None, keep_going=True)
    if result.exit_code not in (Exit.HOLDS, Exit.VIOLATED):
        raise CommandError(f"isrcheck's own search did not finish: {result.reason}", result.exit_code)
    return result


def _theirs(
    model: str,
    settings: dict[str, str],
    profile: str | None,
    invariants: tuple[str, ...],
    tools: tuple[str, ...],
    seconds: float | None,
    memory: int,
    steps: int,
) -> list[ToolResult]:
    from isrcheck.checker.export.outside_check import TOOLS, ToolFailed

    system, found = traced(model, settings, profile, invariants), []
    for tool in tools:
        with tempfile.TemporaryDirectory(prefix="isrcheck-") as folder:
            try:
                found.append(TOOLS[tool](system, Path(folder), seconds, memory, steps))
            except ToolFailed as error:
                raise CommandError(str(error), Exit.OUTPUT) from None
    return found


def _same(ours: Result, theirs: ToolResult) -> bool:
    counts = (theirs.distinct, theirs.generated) == (ours.distinct, ours.generated_total)
    return counts and theirs.violated == (ours.verdict == "violated")


def _text(ours: Result, found: list[ToolResult]) -> str:
    from isrcheck.checker.results.text_layout import columns

    verdict = {True: "violated", False: "holds"}
    rows = [("", "distinct", "generated", "invariants", "")]
    rows += [("isrcheck", f"{ours.distinct:,}", f"{ours.generated_total:,}", ours.verdict, "")]
    for f in found:
        agrees = "agrees" if _same(ours, f) else "DIFFERS"
        rows.append((f"{f.tool} {f.version}", f"{f.distinct:,}", f"{f.generated:,}", verdict[f.violated], agrees))
    return "\n".join(columns(rows, indent=""))


def _data(ours: Result, found: list[ToolResult], agree: bool) -> dict[str, Any]:
    return {
        "format": 1,
        "model": ours.model,
        "profile": ours.profile,
        "settings": ours.settings,
        "agree": agree,
        "isrcheck": {
            "distinct": ours.distinct,
            "generated": ours.generated_total,
            "violated": ours.verdict == "violated",
        },
        "tools": [
            {
                "tool": f.tool,
                "version": f.version,
                "distinct": f.distinct,
                "generated": f.generated,
                "violated": f.violated,
            }
            for f in found
        ],
    }


def require_names(invariants: tuple[str, ...]) -> None:
    """Raises `UnknownName` for an invariant that is given as text. The exported file needs a name for it."""
    from isrcheck.model.language.text_conditions import is_condition_text

    for text in filter(is_condition_text, invariants):
        raise UnknownName(f"{text!r} cannot be exported without a name; define it as an @invariant in the model file")


def traced(model: str, settings: dict[str, str], profile: str | None, invariants: tuple[str, ...]) -> TransitionSystem:
    """The transition system of a model (a name or a file) at the profile and settings of a command line."""
    from isrcheck.checker.registry.loader import blaming, load_model_class
    from isrcheck.model.semantics.tracing import trace

    require_names(invariants)
    loaded = load_model_class(model)
    with blaming(loaded.source_file):
        return trace(model_at(loaded, settings, profile), loaded.chosen(invariants or None))
