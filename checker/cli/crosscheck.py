"""`isrcheck crosscheck`: compares counts and verdicts with Spin and Rumur."""

from __future__ import annotations

import tempfile
from pathlib import Path
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any

import click

from isrcheck.checker.cli.export import require_names
from isrcheck.checker.cli.options import profile_option, seconds_of, settings_option, size_of
from isrcheck.checker.cli.result_output import Outputs, output_options
from isrcheck.checker.registry.profile_settings import settings_of
from isrcheck.checker.results.errors import CommandError
from isrcheck.checker.results.result import Exit

if TYPE_CHECKING:
    from isrcheck.checker.export.outside_check import ToolResult
    from isrcheck.checker.results.result import Result


@click.command("crosscheck", short_help="Compares counts and verdicts with Spin and Rumur.")
@click.argument("model")
@settings_option
@profile_option
@click.option("--invariant", "invariants", multiple=True, metavar="NAME", help="Check only NAME; may be repeated.")
@click.option(
    "--with",
    "tools",
    multiple=True,
    type=click.Choice(["spin", "rumur"]),
    help="Compare only with this tool; may be repeated. Default: all installed tools.",
)
@output_options("crosscheck")
@click.option(
    "--max-seconds", type=seconds_of, metavar="S", help="Give up if a command of a tool takes more than S seconds."
)
@click.option("--max-memory", type=size_of, metavar="SIZE", default="16GiB", help="The memory that a tool may use.")
def command(
    model: str,
    settings: dict[str, str],
    profile: str | None,
    invariants: tuple[str, ...],
    tools: tuple[str, ...],
    max_seconds: float | None,
    max_memory: int,
    **options: Any,
) -> None:
    """Explores MODEL completely, here and with other model checkers, and compares the results.

    The results are the numbers of distinct and of generated states, and whether an invariant is violated. The other
    tools get the model as `isrcheck export` writes it, so the comparison tests the engine and not the model.

    Exit codes: 0 if all results agree, 10 if results differ, 153 if a tool is missing or fails. If the search here does
    not finish, the exit code is that of `isrcheck check`.
    """
    outputs = Outputs("crosscheck", options)
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
            f"{', '.join(missing)} cannot be run here; install it and a C compiler (apt install spin rumur gcc)",
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
        raise CommandError(f"the search here did not finish: {result.reason}", result.exit_code)
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
    from isrcheck.checker.cli.export import traced
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
