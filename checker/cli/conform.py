"""`isrcheck conform`: compares a model with a real system: with Kafka's own classes, or with a recorded run."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import click

from isrcheck.checker.cli import options as completing
from isrcheck.checker.cli.cache import no_cache_option
from isrcheck.checker.cli.console import say, say_live
from isrcheck.checker.cli.explain import recording_options, validated
from isrcheck.checker.cli.help import HeadedCommand, headed
from isrcheck.checker.cli.options import require_absent, settings_option
from isrcheck.checker.cli.result_output import Outputs, output_options

if TYPE_CHECKING:
    from isrcheck.checker.conformance.conformance_run import Report


OF_RECORDINGS: Final = ("at_most", "max_states", "max_seconds", "html")
OF_CLASSES: Final = ("version", "scenarios", "walks", "depth", "seed", "cover", "keep_going", "coverage")


@dataclass(frozen=True)
class Question:
    """The options of `isrcheck conform` about paths through Kafka's classes."""

    model: str
    settings: dict[str, str]
    quiet: bool
    version: str | None
    scenarios: tuple[str, ...]
    walks: int | None
    depth: int
    seed: int
    cover: bool
    keep_going: bool
    coverage: str | None


@click.command("conform", cls=HeadedCommand, short_help="Compares a model with Kafka's classes or a recorded run.")
@click.argument("model", required=False, shell_complete=completing.models)
@settings_option
@click.option("--plain", is_flag=True, help="Show variable changes, without sentences.")
@click.option("--quiet", is_flag=True, help="Print only the outcome in one line; no progress.")
@no_cache_option
@headed(
    "Kafka's classes",
    click.option(
        "--kafka", "version", metavar="VERSION", help="The version of Kafka. Default: the latest known version."
    ),
    click.option(
        "--scenario", "scenarios", multiple=True, metavar="NAME", help="Run only scenario NAME; may be repeated."
    ),
    click.option(
        "--walks",
        type=click.IntRange(min=0),
        metavar="N",
        help="Number of random walks. Default: 100, or 0 with --scenario.",
    ),
    click.option(
        "--depth", type=click.IntRange(min=1), metavar="N", default=40, show_default=True, help="Steps per walk."
    ),
    click.option("--seed", type=int, metavar="N", default=1, show_default=True, help="The seed of the walks."),
    click.option(
        "--cover", is_flag=True, help="Prefer the actions taken least often, and use settings that enable all actions."
    ),
    click.option("--keep-going", is_flag=True, help="Continue after a path that differs."),
    click.option("--coverage", metavar="FOLDER", help="Write the JaCoCo coverage of Kafka's classes to this folder."),
)
@recording_options
@output_options("conform")
def command(model: str | None, recording: str | None, plain: bool, **options: Any) -> None:
    """Runs paths of MODEL step by step against Kafka's own classes, and compares the state after each step.

    The paths are the recorded traces of the model's scenarios, then random walks. -s changes settings of the walks. A
    path ends before the first action that cannot be carried out on these classes. The command needs Java 17 or later,
    and Maven. It builds a Java program and caches it, unless ISRCHECK_CACHE is set to the empty string.

    Exit codes: 0 if every path conforms as far as it was run, 14 if a path differs, 150 for an unknown name or version,
    153 if Java or Maven is missing or fails. The exit code stays 0 for known differences, and for differences caused by
    a setting that does not describe this version of Kafka (docs/how-to/real-systems.md).

    --recording looks for a behaviour of the model that contains all lines of FILE, with hidden (unrecorded) steps
    between them. MODEL is required if FILE does not name a shipped model. Each line of FILE
    (docs/how-to/real-systems.md) belongs to a lane, the log of one process. Lines of one lane are ordered. Lines of
    different lanes are not, unless a line says that it comes after another one. The answer is a story with all lines.
    If there is no such story, the answer is a story with as many lines as possible. Then the answer also has the next
    line of each lane, and the reason why the line cannot happen.

    Exit codes with --recording: 0 if FILE is explained, 12 if it is explained but an invariant is false in the story,
    15 if it is not explained, 75 if the model is undefined in a state, 150 for a damaged file or an unknown name, 152
    if a limit was reached first.
    """
    outputs = Outputs("conform", options)
    if recording is not None:
        require_absent(OF_CLASSES, "cannot be combined with --recording")
        limits = {name: options[name] for name in ("at_most", "max_states", "max_seconds")}
        validated(outputs, recording, model, options["settings"], plain, options["quiet"], **limits)
    require_absent(OF_RECORDINGS, "requires --recording")
    if model is None:
        raise click.UsageError("Missing argument 'MODEL', or --recording.")
    outputs.require_writable()
    from isrcheck.checker.conformance.conformance_text import headline, report_text

    question = Question(model, **{name: value for name, value in options.items() if name not in OF_RECORDINGS})
    found = _found(question)
    lines = [headline(found)] if question.quiet else report_text(found, plain)
    outputs.print("\n".join(lines))
    outputs.finish(found, found.exit_code)


def _found(question: Question) -> Report:
    from isrcheck.checker.conformance.conformance_run import Conforming, Report, mapping_of, with_traces
    from isrcheck.checker.conformance.harness_build import NEWEST, classpath, known_version
    from isrcheck.checker.conformance.harness_process import running
    from isrcheck.checker.registry.loader import load_model_class
    from isrcheck.checker.registry.profile_settings import settings_of

    loaded, quiet = load_model_class(question.model), question.quiet
    mapping = mapping_of(loaded.name)
    chosen = with_traces(loaded.name, question.scenarios)
    version = known_version(question.version or NEWEST)
    own = {name: values[0] for name, values in mapping.of_kafka(version).items()}
    more = mapping.covering if question.cover else {}
    settings = {**own, **mapping.walks, **more, **settings_of(loaded.cls, loaded.name, question.settings)}
    known = tuple(loaded.cls(**settings).actions())
    report = Report(loaded.name, version, settings, question.seed, unreached=mapping.unreached, known=known)
    jars = classpath(report.kafka, lambda line: _tell(line, quiet))
    seen = None
    if question.coverage is not None:
        from isrcheck.checker.conformance.code_coverage import Coverage, summary

        seen = Coverage(Path(question.coverage), mapping.classes, jars, lambda line: _tell(line, quiet))
    with running(jars, () if seen is None else seen.options) as harness:
        run = Conforming(harness, loaded, mapping, report, question.keep_going, lambda line: _progress(line, quiet))
        run.scenarios(chosen)
        walks = (0 if question.scenarios else 100) if question.walks is None else question.walks
        run.walks(walks, question.depth, question.cover)
    if seen is not None:
        report.reached = summary(seen.report())
    return report


def _tell(line: str, quiet: bool) -> None:
    if not quiet:
        say(f"isrcheck: {line}", err=True)


def _progress(line: str, quiet: bool) -> None:
    if not quiet:
        say_live(line)
