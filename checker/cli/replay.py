"""`isrcheck replay`: says whether the model allows a recorded trace, and shows the trace."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any

import click

from isrcheck.checker.cli.cache import no_cache_option
from isrcheck.checker.cli.help import HeadedCommand
from isrcheck.checker.cli.options import expression_option, fixed_version_option, settings_option
from isrcheck.checker.cli.result_output import Outputs, output_options
from isrcheck.checker.registry.profile_settings import settings_of
from isrcheck.checker.results.errors import CommandError, command_error
from isrcheck.checker.results.result import FORMAT, Exit

if TYPE_CHECKING:
    from isrcheck.checker.trace.fixed_run import FixedVersion
    from isrcheck.checker.trace.refinement_replay import Implementation
    from isrcheck.checker.trace.replay_result import Replayed
    from isrcheck.model.semantics.interpreter import Interpreter


@click.command("replay", cls=HeadedCommand, short_help="Replays a recorded trace and shows it step by step.")
@click.argument("file")
@click.option("--model", "spec", metavar="SPEC", help="The model, if it is not a shipped one: my_model.py.")
@settings_option
@click.option("--invariant", metavar="NAME", help="Replay only the trace of this invariant.")
@click.option(
    "--expect-violation",
    is_flag=True,
    help="Exit with 0 if the trace ends in its recorded violation, otherwise with 10.",
)
@fixed_version_option
@expression_option
@click.option("--plain", is_flag=True, help="Show variable changes, without sentences.")
@click.option("--quiet", is_flag=True, help="Print only whether each trace is valid.")
@output_options("replay")
@no_cache_option
def command(
    file: str,
    spec: str | None,
    settings: dict[str, str],
    invariant: str | None,
    fixed_versions: tuple[str, ...],
    expressions: tuple[str, ...],
    **options: Any,
) -> None:
    """Replays the traces in FILE (JSON from `check`, or ITF) with the model's own methods, and shows them in words.

    The file cannot choose which code is run: its model is a shipped one, or is given by --model.

    Exit codes: 10 if the model does not allow a trace. Otherwise the code of the failure that a trace ends in: 12 for a
    violated invariant, 13 for a violated property, 11 for a deadlock, 75 if the model cannot be evaluated. 0 if no
    trace ends in its recorded failure, or with --expect-violation if every trace does.
    """
    outputs = Outputs("replay", options)
    outputs.require_different()
    about: dict[str, Any] = {"format": FORMAT, "replay": file, "model": None, "settings": {}, "reason": None}
    try:
        outputs.require_writable()
        interpreter, replayed = replayed_file(file, spec, settings, invariant, about, fixed_versions)
        values = [values_along(interpreter, each, expressions) for each in replayed]
    except (Exception, KeyboardInterrupt, SystemExit) as error:
        failure = command_error(error)
        if failure is not None and failure.code != Exit.OUTPUT:
            about |= {"traces": [], "reason": failure.message, "exit_code": failure.code}
            outputs.write_unfinished(SimpleNamespace(to_json=lambda: about))
        raise
    code = _exit_code(replayed, options["expect_violation"])
    outputs.print("\n".join([*shown(replayed, options["plain"], options["quiet"]), *values_text(replayed, values)]))
    outputs.finish(_contents(file, about, interpreter, replayed, values, code), code)


def _contents(
    file: str,
    about: dict[str, Any],
    interpreter: Interpreter,
    replayed: list[Replayed],
    values: list[dict[str, list[str]]],
    code: int,
) -> Any:
    """The outputs of a replay."""

    def to_json() -> dict[str, Any]:
        traces = [
            each.to_json() | ({"expressions": along} if along else {})
            for each, along in zip(replayed, values, strict=True)
        ]
        return about | {"traces": traces, "exit_code": code}

    def to_html() -> str:
        from isrcheck.checker.report.pages.trace_data import shown_page

        return shown_page(file, about["model"], interpreter, replayed)

    def to_svg() -> str:
        from isrcheck.checker.report.pages.spacetime_diagram import picture
        from isrcheck.checker.report.pages.trace_data import shown_stories

        return picture(shown_stories(interpreter, replayed)["1"])

    return SimpleNamespace(to_json=to_json, to_html=to_html, to_svg=to_svg)


def shown(replayed: list[Replayed], plain: bool, quiet: bool) -> list[str]:
    """Lines that say whether each trace is valid. Unless `quiet` is true, stories of the traces follow.

    A trace has a story if the model allows all its steps. Traces with the same steps share one story.
    """
    from isrcheck.checker.report.counterexample_text import replayed_text

    lines, groups = [each.text() for each in replayed], list[list[Any]]()
    for each in () if quiet else replayed:
        same = [other for other in groups if other[0].outcome == each.outcome]
        if same:
            same[0].append(each)
        elif each.outcome.valid:
            groups.append([each])
    texts = [replayed_text([each.side_by_side() for each in group], plain) for group in groups]
    return [line for section in [lines, *(["", *text] for text in texts)] for line in section]


def values_along(interpreter: Interpreter, replayed: Replayed, expressions: tuple[str, ...]) -> dict[str, list[str]]:
    """The value of each expression at each state of a trace. Empty if the model does not allow the trace."""
    if not expressions or not replayed.outcome.valid:
        return {}
    from isrcheck.checker.trace.trace_evaluation import evaluated

    states = [step.state for step in replayed.outcome.trace.steps]
    return {text: evaluated(interpreter.model, states, text) for text in expressions}


def values_text(replayed: list[Replayed], values: list[dict[str, list[str]]]) -> list[str]:
    """Lines with the values of expressions along each trace: at the first state, and after each change of a value."""
    lines = []
    for each, along in zip(replayed, values, strict=True):
        for text, found in along.items():
            lines += ["", text if len(replayed) == 1 else f"{each.recorded.title}: {text}"]
            changed = [i for i, value in enumerate(found) if i == 0 or value != found[i - 1]]
            lines += [f"{i + 1:>3}  {found[i]}" for i in changed]
    return lines


def replayed_file(
    file: str,
    spec: str | None,
    texts: dict[str, str],
    invariant: str | None,
    about: dict[str, Any],
    fixed_versions: tuple[str, ...] = (),
) -> tuple[Interpreter, list[Replayed]]:
    """Replays the traces of a file. Returns the interpreter and the replayed traces.

    Adds the name of the model and the settings to `about`. Raises `CommandError` (150) if the file is damaged.
    """
    from isrcheck.checker.analysis.replay import chosen, model_of, replay_again, walkers_of, with_specification
    from isrcheck.checker.registry.loader import blaming
    from isrcheck.checker.scenarios.controls import named
    from isrcheck.checker.trace.trace_files import DamagedFile, read

    try:
        traces = read(Path(file))
        loaded = model_of(traces, spec)
        about["model"] = loaded.name
        with blaming(loaded.source_file):
            given = settings_of(loaded.cls, loaded.name, texts)
            interpreter, implementation = walkers_of(loaded, traces, given)
            about["settings"] = dict(interpreter.model.settings)
            replays = [replay_again(interpreter, each, implementation) for each in chosen(traces, invariant)]
            fixed = [named(text, loaded, interpreter.model) for text in fixed_versions]
            explained = _compared_with_fixes(replays, interpreter, fixed, implementation)
            return interpreter, [with_specification(each, traces, implementation) for each in explained]
    except DamagedFile as error:
        raise CommandError(f"{file}: {error}", Exit.UNKNOWN) from None


def _compared_with_fixes(
    replays: list[Replayed],
    interpreter: Interpreter,
    fixed_versions: list[FixedVersion],
    implementation: Implementation | None,
) -> list[Replayed]:
    """For each fixed version, adds to each trace's `invariant_result` the step at which the two differ.

    A trace without a `invariant_result` is returned unchanged.
    """
    from isrcheck.checker.analysis.compare_with_fix import compare_with_fixes, with_fixes
    from isrcheck.checker.analysis.refinement.mapping_registry import with_history

    if implementation is not None:
        fixed_versions = [
            replace(each, model=with_history(each.model, implementation.mapping)) for each in fixed_versions
        ]

    def added(each: Replayed) -> Replayed:
        name = each.recorded.name or ""
        if each.invariant_result is None:
            return each
        if each.evaluated is not None:
            return replace(
                each, invariant_result=with_fixes(each.invariant_result, name, each.evaluated, fixed_versions)
            )
        predicate = interpreter.invariants[name]
        return replace(
            each,
            invariant_result=compare_with_fixes(
                each.invariant_result, name, interpreter.model, predicate, fixed_versions
            ),
        )

    return [added(each) for each in replays] if fixed_versions else replays


def _exit_code(replayed: list[Replayed], expect_violation: bool) -> int:
    codes = {each.exit_code(expect_violation) for each in replayed}
    return next(code for code in Exit.PRECEDENCE if code in codes)
