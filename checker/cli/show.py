"""`isrcheck show`: tells a recorded trace as a story."""

from __future__ import annotations

from typing import Any

import click

from isrcheck.checker.cli.options import expression_option, fixed_version_option, settings_option
from isrcheck.checker.cli.output_files import STDOUT, require_different, require_writable, svg_file, write_text
from isrcheck.checker.cli.replay import replayed_file, shown, values_along, values_text
from isrcheck.checker.results.result import Exit


@click.command("show", short_help="Tells a recorded trace step by step.")
@click.argument("file")
@click.option("--model", "spec", metavar="SPEC", help="The model, if it is not a shipped one: my_model.py.")
@settings_option
@click.option("--invariant", metavar="NAME", help="Show only the trace of this invariant.")
@fixed_version_option
@expression_option
@click.option("--plain", is_flag=True, help="Show changes of variables, without the story.")
@click.option("--html", metavar="FILE", help="Write the traces as a page for a browser; - is standard output.")
@click.option("--svg", type=svg_file, metavar="FILE", help="Write the first trace as a picture; - is standard output.")
def command(
    file: str,
    spec: str | None,
    settings: dict[str, str],
    invariant: str | None,
    plain: bool,
    html: str | None,
    svg: str | None,
    fixed_versions: tuple[str, ...],
    expressions: tuple[str, ...],
) -> None:
    """Tells the traces of FILE (JSON of `check`, or ITF) in the model's words, without a search.

    Exit codes: 0 if the model allows all traces, 10 if the model forbids at least one trace.
    """
    about: dict[str, Any] = {}
    require_different({"--html": html, "--svg": svg})
    require_writable(html)
    require_writable(svg)
    interpreter, replayed = replayed_file(file, spec, settings, invariant, about, fixed_versions)
    values = [values_along(interpreter, each, expressions) for each in replayed]
    lines = [*shown(replayed, plain, quiet=False), *values_text(replayed, values)]
    click.echo("\n".join(lines), err=STDOUT in (html, svg))
    if html is not None:
        from isrcheck.checker.report.pages.trace_data import shown_page

        write_text(html, shown_page(file, about["model"], interpreter, replayed))
    if svg is not None:
        from isrcheck.checker.report.pages.spacetime_diagram import picture
        from isrcheck.checker.report.pages.trace_data import shown_stories

        write_text(svg, picture(shown_stories(interpreter, replayed)["1"]))
    valid = all(each.outcome.valid for each in replayed)
    raise click.exceptions.Exit(Exit.HOLDS if valid else Exit.DIFFERENCE)
