"""`isrcheck conform`: compares a model with Kafka's own classes."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from isrcheck.checker.cli.options import settings_option
from isrcheck.checker.cli.result_output import Outputs, output_options

if TYPE_CHECKING:
    from isrcheck.checker.conformance.conformance_run import Report


@click.command("conform", short_help="Drives paths of a model through Kafka's own classes.")
@click.argument("model")
@click.option("--kafka", "version", metavar="VERSION", help="The version of Kafka; default: the newest known version.")
@settings_option
@click.option("--scenario", "scenarios", multiple=True, metavar="NAME", help="Drive only scenario NAME; repeatable.")
@click.option(
    "--walks", type=click.IntRange(min=0), metavar="N", help="N random walks; default: 100, or 0 with --scenario."
)
@click.option("--depth", type=click.IntRange(min=1), metavar="N", default=40, show_default=True, help="Steps per walk.")
@click.option("--seed", type=int, metavar="N", default=1, show_default=True, help="The seed of the walks.")
@click.option(
    "--cover", is_flag=True, help="Prefer the actions driven least, and use settings that enable all actions."
)
@click.option("--keep-going", is_flag=True, help="Go on after a path that differs.")
@click.option("--plain", is_flag=True, help="Show changes of variables, without the story.")
@click.option("--quiet", is_flag=True, help="Print only the outcome in one line, and no progress.")
@click.option("--coverage", metavar="FOLDER", help="Add the coverage of Kafka's classes (JaCoCo) to this folder.")
@output_options("conform")
def command(
    model: str,
    version: str | None,
    settings: dict[str, str],
    scenarios: tuple[str, ...],
    walks: int | None,
    depth: int,
    seed: int,
    cover: bool,
    keep_going: bool,
    plain: bool,
    quiet: bool,
    coverage: str | None,
    **options: Any,
) -> None:
    """Drives paths of MODEL step by step through Kafka's own classes, and compares the state after each step.

    The paths are the recorded traces of the model's scenarios, then random walks. -s changes settings of the
    walks. A path ends before the first action that cannot be carried out on these classes. The command needs Java 17 or
    later, and Maven. The command builds a Java program and keeps it for later runs, unless ISRCHECK_CACHE is set to an
    empty text.

    Exit codes: 0 if every path conforms as far as it was driven, 14 if a path differs, 150 for an unknown name or
    version, 153 if Java or Maven is missing or has failed. Two kinds of differences leave the exit code at 0
    (docs/how-to/real-systems.md): a difference on the list of known differences, and a difference because a setting of
    the path does not describe this version of Kafka.
    """
    outputs = Outputs("conform", options)
    outputs.require_writable()
    from isrcheck.checker.conformance.conformance_text import headline, report_text

    found = _found(model, version, settings, scenarios, walks, depth, seed, cover, keep_going, quiet, coverage)
    lines = [headline(found)] if quiet else report_text(found, plain)
    outputs.print("\n".join(lines))
    outputs.finish(found, found.exit_code)


def _found(
    model: str,
    version: str | None,
    texts: dict[str, str],
    names: tuple[str, ...],
    walks: int | None,
    depth: int,
    seed: int,
    cover: bool,
    keep_going: bool,
    quiet: bool,
    coverage: str | None,
) -> Report:
    from isrcheck.checker.conformance.conformance_run import Conforming, Report, mapping_of, with_traces
    from isrcheck.checker.conformance.harness_build import NEWEST, classpath, known_version
    from isrcheck.checker.conformance.harness_process import running
    from isrcheck.checker.registry.loader import load_model_class
    from isrcheck.checker.registry.profile_settings import settings_of

    loaded = load_model_class(model)
    mapping = mapping_of(loaded.name)
    chosen = with_traces(loaded.name, names)
    version = known_version(version or NEWEST)
    own = {name: values[0] for name, values in mapping.of_kafka(version).items()}
    more = mapping.covering if cover else {}
    settings = {**own, **mapping.walks, **more, **settings_of(loaded.cls, loaded.name, texts)}
    known = tuple(loaded.cls(**settings).actions())
    report = Report(loaded.name, version, settings, seed, unreached=mapping.unreached, known=known)
    jars = classpath(report.kafka, lambda line: _tell(line, quiet))
    seen = None
    if coverage is not None:
        from isrcheck.checker.conformance.code_coverage import Coverage, summary

        seen = Coverage(Path(coverage), mapping.classes, jars, lambda line: _tell(line, quiet))
    with running(jars, () if seen is None else seen.options) as harness:
        run = Conforming(harness, loaded, mapping, report, keep_going, lambda line: _progress(line, quiet))
        run.scenarios(chosen)
        run.walks((0 if names else 100) if walks is None else walks, depth, cover)
    if seen is not None:
        report.reached = summary(seen.report())
    return report


def _tell(line: str, quiet: bool) -> None:
    if not quiet:
        click.echo(f"isrcheck: {line}", err=True)


def _progress(line: str, quiet: bool) -> None:
    if not quiet and sys.stderr.isatty():
        click.echo(f"\r\033[K{line}", err=True, nl=False)
