"""`isrcheck check`: explores a model and reports whether its invariants hold.

`isrcheck check --watch`: checks a file again whenever it is saved.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import click

from isrcheck.checker.cli import options as completing
from isrcheck.checker.cli.cache import no_cache_option
from isrcheck.checker.cli.console import say
from isrcheck.checker.cli.exit_status import tell
from isrcheck.checker.cli.help import HeadedCommand, headed
from isrcheck.checker.cli.options import (
    checkpoint_options,
    checkpointing_of,
    cluster_of,
    cluster_options,
    fairness_of,
    fitting_options,
    fixed_version_option,
    limits_options,
    liveness_options,
    profile_option,
    settings_option,
    state_store_of,
    state_store_options,
    workers_option,
)
from isrcheck.checker.cli.result_output import Outputs, deliver, output_options
from isrcheck.checker.registry.capabilities import ENGINES, refusal_of_options
from isrcheck.checker.registry.profile_settings import release_of, settings_of
from isrcheck.checker.report.outputs import Answered, Unfinished
from isrcheck.checker.results.errors import command_error
from isrcheck.model.language.settings import BARE, profiles_of

if TYPE_CHECKING:
    from isrcheck.checker.registry.loader import LoadedModel
    from isrcheck.checker.results.result import Result
    from isrcheck.checker.scenarios.scenario import Scenario
    from isrcheck.checker.trace.fixed_run import FixedVersion
    from isrcheck.model.language.model import Model


LOOK = 50
"""Milliseconds between two looks for saved files."""


def watched(model: str | None, check: Callable[[], None]) -> None:
    """Checks a model's file. Checks it again after each change of a Python file in the same folder, until Ctrl-C.

    Raises a usage error if the model is not a file.
    """
    path = Path((model or "").partition(":")[0])
    if path.suffix != ".py":
        raise click.UsageError("--watch requires a model file: isrcheck check --watch my_model.py")
    from watchfiles import PythonFilter, watch

    first = True
    # `watch` also yields empty sets. The first set shows that watching has begun, so the first check misses no change.
    for changed in watch(
        path.resolve().parent,
        watch_filter=PythonFilter(),
        recursive=False,
        yield_on_timeout=True,
        rust_timeout=LOOK,
        debounce=LOOK,
        step=LOOK // 2,
    ):
        if not (first or changed):
            continue
        if changed:
            names = ", ".join(sorted({Path(name).name for _, name in changed}))
            say(f"\n{names}: changed")
        first = False
        _once(check)


def _once(check: Callable[[], None]) -> None:
    """Runs one check. Its outcome, even an error, does not end the watching."""
    try:
        check()
    except click.exceptions.Exit:
        pass
    except click.ClickException as error:
        error.show()
    except (Exception, SystemExit) as error:
        tell(error)


OF_SPARK: Final = ("master", "partitions", "spark_threshold", "checkpoint", "resume", "conf", "transitions")
OF_LIMITS: Final = ("max_states", "max_seconds", "max_memory", "depth")
OF_REPORT: Final = ("model", "scenario", "settings", "quiet", "plain", "fixed_versions", "fixes")
"""Options that are not for the search. All options that are not listed here are arguments of `check`."""


@dataclass(frozen=True)
class Question:
    """The options of `isrcheck check`. `arguments` are those for the function `check`, by their names."""

    model: str | None
    scenario: str | None
    settings: dict[str, str]
    quiet: bool
    plain: bool
    fixed_versions: tuple[str, ...]
    fixes: bool
    outputs: Outputs
    arguments: dict[str, Any]


@fitting_options
@click.command("check", cls=HeadedCommand, short_help="Explores a model and reports violations.")
@click.argument("model", required=False, shell_complete=completing.models)
@headed(
    "What to check",
    click.option(
        "--scenario",
        metavar="NAME",
        shell_complete=completing.scenarios,
        help="Check a scenario: a name in ./counterexamples, a shipped one, or a folder.",
    ),
    settings_option,
    profile_option,
    click.option(
        "--invariant",
        "invariants",
        multiple=True,
        metavar="NAME|TEXT",
        shell_complete=completing.invariants,
        help="Check only these invariants, given by name or as a condition such as 'every b: s.log[b].length < 3'.",
    ),
    click.option("--continue", "keep_going", is_flag=True, help="Do not stop at the first violation."),
    click.option("--deadlock", is_flag=True, help="Also look for deadlocks: states without a successor."),
    click.option(
        "--fail-on-vacuity",
        is_flag=True,
        help="Exit with 10 if an action never fires, a goal is never reached, or a property or a change shows nothing.",
    ),
    click.option("--watch", is_flag=True, help="Check the file again whenever it is saved."),
)
@liveness_options
@headed(
    "Search",
    click.option("--engine", type=click.Choice(ENGINES), default="local", show_default=True, help="The engine."),
    click.option(
        "--symmetry",
        is_flag=True,
        help="Explore only one of several states that differ by a permutation of brokers (symmetry reduction).",
    ),
    workers_option,
    no_cache_option,
)
@headed(
    "Bounds and limits",
    limits_options,
    click.option(
        "--depth",
        type=click.IntRange(min=1),
        metavar="N",
        help="The last level to search. Default: 20, or no limit with --max-seconds.",
    ),
)
@headed(
    "Report",
    fixed_version_option,
    click.option("--fixes", is_flag=True, help="Look for single settings whose change prevents the violation."),
    click.option("--plain", is_flag=True, help="Show traces as variable changes, without sentences."),
    click.option(
        "--quiet",
        is_flag=True,
        help="Print only the verdict and any actions and goals that never occurred; no progress.",
    ),
)
@output_options("check")
@headed("Large spaces", state_store_options, checkpoint_options)
@cluster_options
def command(watch: bool, **options: Any) -> None:
    """Explores MODEL (a name, my_model.py or my_model.py:Class) and checks its invariants in all reachable states.

    With --scenario, the scenario determines what is checked. -s overrides the settings of the scenario. A MODEL that
    inherits from the scenario's model replaces it.
    """
    if watch:
        watched(options["model"], lambda: _check(dict(options)))
    else:
        _check(options)


def _check(options: dict[str, Any]) -> None:
    if (refusal := refusal_of_options(options["engine"], options)) is not None:
        raise click.UsageError(refusal)
    from isrcheck.checker.results.exploration import Limits

    outputs, engine = Outputs("check", options), options["engine"]
    own = {name: options.pop(name) for name in OF_REPORT}
    spark = {name: options.pop(name) for name in OF_SPARK}
    combined = {
        "checkpointing": checkpointing_of(
            engine, spark["checkpoint"], spark["resume"], options.pop("checkpoint_every")
        ),
        "fairness": fairness_of(options),
        "state_store": state_store_of(options.pop("store"), options.pop("store_folder")),
        "cluster": cluster_of(engine, spark),
        "limits": Limits(*(options.pop(name) for name in OF_LIMITS)),
    }
    question = Question(**own, outputs=outputs, arguments={**options, **combined})
    _require_one_question(question)
    outputs.require_different()
    scenario = None
    try:
        scenario = _scenario(question)
        answered = _answer(question, scenario)
    except (Exception, KeyboardInterrupt, SystemExit) as error:
        failure = command_error(error)
        if failure is not None:
            model = question.model or question.scenario or ""
            outputs.write_unfinished(Unfinished(model, question.settings, engine, failure))
        raise
    _deliver(question, answered, scenario)


def _require_one_question(question: Question) -> None:
    if question.scenario is None and question.model is None:
        raise click.UsageError("Missing argument 'MODEL', or --scenario.")
    options = {
        "--profile": question.arguments["profile"],
        "--invariant": question.arguments["invariants"],
        "--liveness": question.arguments["liveness"],
        "--continue": question.arguments["keep_going"],
        "--deadlock": question.arguments["deadlock"],
    }
    given = [name for name, value in options.items() if value]
    if question.scenario is not None and given:
        raise click.UsageError(f"--scenario already determines what to check; remove {', '.join(given)}")


def _scenario(question: Question) -> Scenario | None:
    if question.scenario is None:
        return None
    from isrcheck.checker.scenarios.collection import one

    return one(question.scenario)


def _answer(question: Question, scenario: Scenario | None) -> Answered:
    """Answers the question by a search. Mistakes in the question are reported before the search begins."""
    question.outputs.require_writable()
    from isrcheck.checker.registry.loader import blaming, load_model_class

    loaded = load_model_class(scenario.specification() if scenario and not question.model else question.model or "")
    settings = settings_of(loaded.cls, loaded.name, question.settings)
    arguments = {**question.arguments, "invariants": question.arguments["invariants"] or None}
    own: dict[str, Any] = {}
    if scenario is not None:
        own = scenario.settings
        if question.model:
            from isrcheck.checker.scenarios.controls import settings_for

            own = settings_for(scenario, loaded)
        settings, names = ({**own, **settings}, ("invariants", "liveness", "fairness", "keep_going", "deadlock"))
        arguments |= {"profile": BARE} | {name: getattr(scenario, name) for name in names}
    from isrcheck.checker.analysis.change_effects import base_of
    from isrcheck.checker.analysis.check import check, resolved

    loaded = loaded.with_text_conditions(arguments["invariants"] or ())
    with blaming(loaded.source_file):
        loaded.chosen(arguments["invariants"])
        loaded.asked(arguments["liveness"])
    _, model, begins_with = resolved(loaded, settings, arguments["profile"])
    profiles = profiles_of(base_of(loaded.cls))
    start = profiles[begins_with].settings if begins_with in profiles else {}
    release = release_of(loaded.cls, question.settings)
    chosen = model.releases.settings(release) if model.releases is not None and release is not None else {}
    arguments["start"] = {**(start if scenario is None else scenario.settings), **chosen}
    with blaming(loaded.source_file):
        fixed_versions = _fixed_versions(question, loaded, model)
    from isrcheck.checker.cli.progress import Watcher

    with Watcher(quiet=question.quiet) as watcher:
        result = check(loaded, settings, **arguments, report=watcher.report, stage=watcher.stage)
    if model.releases is not None and release is not None:
        result.system = model.releases.described(model, release)
    if scenario is not None:
        from isrcheck.checker.scenarios.derived_files import settle

        if not _is_replaced(question, scenario):
            settle(scenario, loaded, settings_of(loaded.cls, loaded.name, question.settings), result)
    from isrcheck.checker.analysis.compare_with_fix import keeping_violations

    with keeping_violations(result), blaming(loaded.source_file):
        _compare_with_fixes(question, scenario, loaded, result, fixed_versions)
    return Answered(result, loaded)


def _is_replaced(question: Question, scenario: Scenario) -> bool:
    """Whether the question names another model than the scenario's."""
    return question.model is not None and not scenario.is_about(question.model)


def _fixed_versions(question: Question, loaded: LoadedModel, model: Model) -> list[FixedVersion]:
    """The fixed versions that --fixed-version names. Raises `UnknownName` or `ModelError` if one cannot be made."""
    if not question.fixed_versions:
        return []
    from isrcheck.checker.scenarios.controls import named

    return [named(text, loaded, model) for text in question.fixed_versions]


def _compare_with_fixes(
    question: Question,
    scenario: Scenario | None,
    loaded: LoadedModel,
    result: Result,
    fixed_versions: list[FixedVersion],
) -> None:
    """Compares the trace of each violated invariant with the fixed versions, and adds the step at which each differs.

    Fixed versions come from the scenario or from --fixed-version. With --quiet, fixed versions are compared only if
    there is another output than the report. With --fixes, other values of single settings are also tried.
    """
    from isrcheck.checker.analysis.compare_with_fix import compare_all_with_fixes
    from isrcheck.checker.scenarios.controls import fixed_versions_of

    # The report of --quiet does not show fixed versions, so they are compared only for another output.
    if result.verdict == "violated" and (question.outputs.chosen or not question.quiet):
        changed = settings_of(loaded.cls, loaded.name, question.settings)
        beside = (
            [] if scenario is None or _is_replaced(question, scenario) else fixed_versions_of(scenario, loaded, changed)
        )
        compare_all_with_fixes(result, loaded, [*beside, *fixed_versions])
    if question.fixes:
        _add_fix_search(result, loaded, question)


def _add_fix_search(result: Result, loaded: LoadedModel, question: Question) -> None:
    """Tries the other values of each setting that is boolean or has choices, one change at a time.

    Adds the outcomes to the violated invariant with the shortest trace. Does nothing if no invariant is violated.
    """
    from isrcheck.checker.analysis.fix_search import search_fixes
    from isrcheck.checker.results.result import violated

    named = [name for name, _ in violated(result) if name in result.invariants]
    if named:
        limits = replace(question.arguments["limits"], depth=None)
        invariant_outcome = result.invariants[named[0]]
        found = search_fixes(result, named[0], loaded, limits)
        result.invariants[named[0]] = replace(invariant_outcome, fix_search=found)


def _deliver(question: Question, answered: Answered, scenario: Scenario | None) -> None:
    """Prints the report, writes the outputs, and ends the command."""
    from isrcheck.checker.report.result_text import brief, report
    from isrcheck.checker.results.text_layout import Ink

    result = answered.result

    def text(ink: Ink) -> str:
        body = brief(result, ink) if question.quiet else report(result, ink, question.plain)
        if scenario is not None:
            from isrcheck.checker.scenarios.derived_files import expectation_lines

            loaded = answered.loaded
            if _is_replaced(question, scenario):
                nothing = f"  nothing is expected of another model than the scenario's, {scenario.model}"
                lines = [ink("head", f"Scenario {scenario.name}"), f"  {scenario.title}", nothing]
            else:
                given = settings_of(loaded.cls, loaded.name, question.settings)
                lines = expectation_lines(scenario, loaded, given, result, ink)
            body += "\n".join(lines if question.quiet else ["", *lines]) + "\n"
        return body

    deliver(question.outputs, answered, text)
