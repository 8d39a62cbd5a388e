"""`isrcheck export --to dot`: the states of a model and the steps between them, for tools that draw graphs."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Final

import click

from isrcheck.checker.cli.help import Command, headed
from isrcheck.checker.cli.options import model_at
from isrcheck.checker.registry.profile_settings import settings_of
from isrcheck.checker.results.errors import CommandError
from isrcheck.checker.results.result import Exit
from isrcheck.model.language.settings import BARE

if TYPE_CHECKING:
    from isrcheck.checker.registry.loader import LoadedModel
    from isrcheck.checker.results.result import Trace
    from isrcheck.model.language.model import Model
    from isrcheck.model.semantics.interpreter import Interpreter

GRAPHS: Final = ("dot", "graphml")
LIMIT: Final = 1000


_OPTIONS: Final = (
    click.option("--around", metavar="FILE", help="Write only states on or near a trace (JSON from check, or ITF)."),
    click.option(
        "--radius",
        type=click.IntRange(min=0),
        metavar="N",
        help="Include states up to N steps from the trace. Default: 1.",
    ),
    click.option(
        "--max-states",
        type=click.IntRange(min=1),
        default=LIMIT,
        show_default=True,
        metavar="N",
        help="Stop if there are more than N states.",
    ),
)


def graph_options(command: Command) -> Command:
    """Adds the options for the part of the state graph to write."""
    return headed("State graph (--to dot, --to graphml)", *_OPTIONS)(command)


def graph_text(
    model: str,
    settings: dict[str, str],
    profile: str | None,
    invariants: tuple[str, ...],
    *,
    form: str,
    around: str | None,
    radius: int | None,
    max_states: int,
) -> str:
    """The reachable states of a model, or those around a recorded trace, and the steps between them, as text."""
    if radius is not None and around is None:
        raise click.UsageError("--radius requires --around")
    if profile not in (None, BARE) and around is not None:  # a scenario has set the bare defaults
        raise click.UsageError("--around uses the settings of its trace; remove --profile")
    from isrcheck.checker.export.state_graph import TooLarge, dot, graphml, state_graph
    from isrcheck.checker.export.state_graph import around as part_around
    from isrcheck.checker.registry.loader import blaming, load_model_class

    loaded = load_model_class(model)
    try:
        with blaming(loaded.source_file):
            if around is None:
                interpreter = _interpreter(loaded, model_at(loaded, settings, profile), invariants)
                graph = state_graph(interpreter, max_states)
            else:
                interpreter, trace = _recorded(loaded, around, settings, invariants)
                graph = part_around(interpreter, trace, 1 if radius is None else radius, max_states)
    except TooLarge as error:
        from isrcheck.checker.registry.profile_settings import profile_of

        bare = "--profile bare, " if around is None and profile_of(loaded, profile) else ""
        remedy = f"use {bare}smaller settings, a trace (--around) with a smaller --radius, or a larger --max-states"
        raise CommandError(f"{error}; {remedy}", Exit.LIMIT) from None
    return dot(graph) if form == "dot" else graphml(graph)


def _interpreter(loaded: LoadedModel, model: Model, invariants: tuple[str, ...]) -> Interpreter:
    from isrcheck.model.semantics.interpreter import Interpreter

    return Interpreter(model, loaded.chosen(invariants or None))


def _recorded(
    loaded: LoadedModel, file: str, texts: dict[str, str], invariants: tuple[str, ...]
) -> tuple[Interpreter, Trace]:
    """Replays the first trace of a file. Returns the interpreter and the replayed trace.

    Raises `CommandError` (10) if the model does not allow the trace, and `CommandError` (150) if the file is damaged.
    """
    from isrcheck.checker.trace.step_replay import replay
    from isrcheck.checker.trace.trace_files import DamagedFile, decoded, read
    from isrcheck.model.language.errors import UnknownName, nearest

    try:
        trace_file = read(Path(file))
        if not trace_file.traces:
            raise DamagedFile("it contains no trace: nothing was violated")
        recorded, declared = trace_file.settings or {}, loaded.cls.declared_settings()
        for name in recorded:
            if name not in declared:
                raise UnknownName(f"model {loaded.name} has no setting {name!r}; {nearest(name, declared)}")
        values = {**recorded, **settings_of(loaded.cls, loaded.name, texts)}
        interpreter = _interpreter(loaded, loaded.cls(**values), invariants)
        outcome = replay(interpreter, decoded(interpreter, trace_file.traces[0]))
    except DamagedFile as error:
        raise CommandError(f"{file}: {error}", Exit.UNKNOWN) from None
    if outcome.refusal is not None:
        state = outcome.refusal.state
        raise CommandError(
            f"{file}: the model does not allow state {state} of this trace; isrcheck replay shows why", Exit.DIFFERENCE
        )
    return interpreter, outcome.trace
