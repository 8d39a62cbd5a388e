"""`isrcheck conform --recording`: says whether a model explains a recorded run of a real system."""

from __future__ import annotations

from functools import partial
from pathlib import Path
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any, Final, NoReturn

import click

from isrcheck.checker.cli.console import say_live
from isrcheck.checker.cli.help import Command, headed
from isrcheck.checker.cli.options import seconds_of
from isrcheck.checker.cli.result_output import Outputs
from isrcheck.checker.results.errors import CommandError, command_error
from isrcheck.checker.results.result import Exit

if TYPE_CHECKING:
    from isrcheck.checker.registry.loader import LoadedModel
    from isrcheck.checker.trace_validation.recording_file import Recording
    from isrcheck.checker.trace_validation.validation_result import Answer


_OPTIONS: Final = (
    click.option("--recording", metavar="FILE", help="Validate a recorded run of a real system."),
    click.option(
        "--hidden",
        "at_most",
        type=click.IntRange(min=0),
        metavar="N",
        help="The maximum number of hidden steps in a row. Default: 3.",
    ),
    click.option("--max-states", type=click.IntRange(min=1), metavar="N", help="Stop after N states [2,000,000]."),
    click.option("--max-seconds", type=seconds_of, metavar="S", help="Stop after S seconds."),
)


def recording_options(command: Command) -> Command:
    """Adds the options for the validation of a recorded run."""
    return headed("Recorded runs", *_OPTIONS)(command)


def validated(
    outputs: Outputs, file: str, spec: str | None, settings: dict[str, str], plain: bool, quiet: bool, **limits: Any
) -> NoReturn:
    """Looks for a behaviour of the model in which all lines of a recording occur, and ends the command."""
    outputs.require_different()
    try:
        outputs.require_writable()
        answer, loaded = _answer(file, spec, settings, **limits, quiet=quiet)
    except (Exception, KeyboardInterrupt, SystemExit) as error:
        failure = command_error(error)
        if failure is None or failure.code == Exit.OUTPUT:
            raise
        from isrcheck.checker.trace_validation.validation_result import unanswered

        outputs.write_unfinished(SimpleNamespace(to_json=partial(unanswered, file, failure.message, failure.code)))
        raise
    _deliver(answer, loaded, plain, quiet, outputs)


def _answer(
    file: str,
    spec: str | None,
    texts: dict[str, str],
    at_most: int | None,
    max_states: int | None,
    max_seconds: float | None,
    quiet: bool,
) -> tuple[Answer, LoadedModel]:
    from isrcheck.checker.registry.loader import blaming
    from isrcheck.checker.registry.profile_settings import settings_of
    from isrcheck.checker.trace.trace_files import DamagedFile
    from isrcheck.checker.trace_validation.recording_file import read
    from isrcheck.checker.trace_validation.validate import HIDDEN, validate
    from isrcheck.checker.trace_validation.validation_search import NODES, Limits
    from isrcheck.model.language.errors import UnknownName, nearest

    try:
        recording = read(Path(file))
        loaded = _model(recording, spec)
    except DamagedFile as error:
        raise CommandError(f"{file}: {error}", Exit.UNKNOWN) from None
    declared = loaded.cls.declared_settings()
    for name in recording.settings:
        if name not in declared:
            raise UnknownName(f"{file}: model {loaded.name} has no setting {name!r}; {nearest(name, declared)}")
    limits = Limits(max_states or NODES, max_seconds)
    with blaming(loaded.source_file):
        chosen = {**recording.settings, **settings_of(loaded.cls, loaded.name, texts)}
        most = HIDDEN if at_most is None else at_most
        try:
            return validate(recording, loaded, chosen, file, most, limits, None if quiet else _progress), loaded
        finally:
            if not quiet:
                say_live("")


def _model(recording: Recording, spec: str | None) -> LoadedModel:
    """The model that the user names, or else the shipped model that the recording names.

    A recording cannot name a file with a model, because the code of that file would run.
    """
    from isrcheck.checker.registry.loader import load_model_class, model_names
    from isrcheck.checker.trace.trace_files import DamagedFile

    if spec is not None:
        return load_model_class(spec)
    if recording.model is None:
        raise DamagedFile("it does not name its model; add the argument MODEL")
    if recording.model not in model_names():
        raise DamagedFile(
            f"it was recorded with {recording.model!r}, which is not a shipped model; add the argument "
            "MODEL, such as my_model.py"
        )
    return load_model_class(recording.model)


def _progress(visited: int, explained: int) -> None:
    say_live(f"{visited:,} states visited, {explained} lines explained")


def _deliver(answer: Answer, loaded: LoadedModel, plain: bool, quiet: bool, outputs: Outputs) -> NoReturn:
    from isrcheck.checker.trace_validation.validation_text import headline, page_of, report_text

    lines = [headline(answer)] if quiet else report_text(answer, plain=plain)
    outputs.print("\n".join(lines))
    page = partial(page_of, answer, loaded.cls(**answer.settings))
    outputs.finish(SimpleNamespace(to_json=answer.to_json, to_html=page), answer.exit_code)
