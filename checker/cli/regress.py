"""`isrcheck regress`: checks scenarios again and explains what has changed."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, TypeAlias

import click

from isrcheck.checker.cli.cache import no_cache_option
from isrcheck.checker.cli.help import HeadedCommand
from isrcheck.checker.cli.options import meant, seconds_of, shipped_option
from isrcheck.checker.cli.result_output import Outputs, output_options
from isrcheck.checker.results.errors import CommandError, command_error
from isrcheck.checker.results.result import FORMAT, Exit

if TYPE_CHECKING:
    from isrcheck.checker.report.test_cases import Case, Verdicts
    from isrcheck.checker.results.exploration import Limits
    from isrcheck.checker.scenarios.derived_files import Derived
    from isrcheck.checker.scenarios.overview import PageRow
    from isrcheck.checker.scenarios.scenario import Scenario

    Answer: TypeAlias = tuple[Derived | tuple[str, int], float]
    """The generated files of a scenario, and the seconds that the scenario took.

    If the scenario could not run, a pair (reason, exit code) takes the place of the files.
    """

ORDER: Final = (*Exit.PRECEDENCE[:-2], Exit.UNKNOWN, *Exit.PRECEDENCE[-2:])
"""`Exit.PRECEDENCE`, with `UNKNOWN` (a damaged scenario) before `DIFFERENCE`.

The exit code of the command is the first code in this order that a scenario has.
"""


@dataclass
class Regression:
    """The outcome of one scenario. `drift` says how the generated files differ from the recorded files.

    `unmet` lists the expectations in `scenario.toml` that are not met, and the controls that do not fit the scenario.
    `reason` says why the scenario could not run. `rewritten` names the files that were updated. `seconds` is the time
    that the scenario took in its process.
    """

    name: str
    folder: str
    code: int = Exit.HOLDS
    summary: dict[str, Any] | None = None
    drift: list[str] = field(default_factory=list)
    unmet: list[str] = field(default_factory=list)
    rewritten: list[str] = field(default_factory=list)
    reason: str | None = None
    scenario: Scenario | None = None
    story: dict[str, Any] | None = None
    """The data of a page about the scenario's trace."""
    seconds: float = 0.0

    @property
    def status(self) -> str:
        if self.reason is not None:
            return "NOT RUN"
        return "NOT AS EXPECTED" if self.unmet else "DRIFT" if self.drift else "as recorded"

    def to_json(self) -> dict[str, Any]:
        shown = ("name", "folder", "status", "reason", "unmet", "drift", "rewritten", "summary")
        return {key: getattr(self, key) for key in shown} | {"exit_code": self.code}


@dataclass
class Regressions:
    """The outcomes of all scenarios, as the subject of outputs. `failure` is the error that ended the command."""

    outcomes: list[Regression]
    exit_code: int
    failure: CommandError | None

    def fail(self, failure: CommandError) -> None:
        self.exit_code, self.failure = failure.code, failure

    def to_json(self) -> dict[str, Any]:
        reason, scenarios = self.failure and self.failure.message, [outcome.to_json() for outcome in self.outcomes]
        return {"format": FORMAT, "exit_code": self.exit_code, "reason": reason, "scenarios": scenarios}

    def to_html(self) -> str:
        from isrcheck.checker.scenarios.overview import overview_page

        return overview_page(_total(self.outcomes), [_shown(outcome) for outcome in self.outcomes])

    def verdicts(self) -> Verdicts:
        """Each scenario is a test case at line 1 of its `scenario.toml`."""
        from isrcheck.checker.report.test_cases import Verdicts, unfinished

        cases = [_case(outcome) for outcome in self.outcomes]
        if self.failure is not None:
            cases.append(unfinished("scenarios", self.failure.message, self.failure.code))
        return Verdicts(cases, self.exit_code, {}, "isrcheck regress", _total(self.outcomes))


@click.command("regress", cls=HeadedCommand, short_help="Checks scenarios again, and explains what has changed.")
@click.argument("paths", nargs=-1, metavar="[PATH]...")
@shipped_option
@click.option("--update", is_flag=True, help="Rewrite the generated files after showing the difference.")
@output_options("regress")
@click.option("--workers", type=click.IntRange(min=1), metavar="N", help="Number of processes. Default: one per core.")
@click.option("--max-states", type=click.IntRange(min=1), metavar="N", help="Stop checking a scenario after N states.")
@click.option("--max-seconds", type=seconds_of, metavar="S", help="Stop checking a scenario after S seconds.")
@no_cache_option
def command(
    paths: tuple[str, ...],
    shipped: bool,
    update: bool,
    workers: int | None,
    max_states: int | None,
    max_seconds: float | None,
    **options: Any,
) -> None:
    """Checks the scenarios in PATH again, and compares the generated files with the recorded ones byte by byte.

    Without PATH, the scenarios in ./counterexamples are checked. If there is no such folder, or with --shipped, those
    that ship with isrcheck are checked.

    Exit codes: 0 if every scenario is as recorded and as expected, otherwise 10. If a scenario could not run, the exit
    code gives the reason (for example: 75 if its model cannot be evaluated, 150 if the scenario is damaged, 152 if a
    limit is reached). With --update, a difference from the recorded files does not lead to exit code 10.
    """
    outputs = Outputs("regress", options)
    outputs.require_different()
    outputs.require_writable()
    from isrcheck.checker.engines.explicit.search import processors
    from isrcheck.checker.results.exploration import Limits
    from isrcheck.checker.scenarios.collection import OWN, folders

    if update and (shipped or not (paths or OWN.is_dir())):
        raise click.UsageError(
            "--update does not rewrite the scenarios that ship with isrcheck; choose your own folder"
        )

    outcomes: list[Regression] = []
    failure: CommandError | None = None
    try:
        derive = partial(_derived, limits=Limits(max_states, max_seconds), with_story=outputs["html"] is not None)
        for outcome in _regressions(folders(meant(paths, shipped)), derive, workers or processors(), update):
            outcomes.append(outcome)
            outputs.print("\n".join(_text(outcome)))
            if outcome.code == Exit.INTERRUPTED:
                raise KeyboardInterrupt
        outputs.print(_total(outcomes))
    except (Exception, KeyboardInterrupt) as error:
        failure = command_error(error)
        if failure is None or isinstance(error, BrokenPipeError):
            raise
    code = next(c for c in ORDER if c in {o.code for o in outcomes}) if failure is None else failure.code
    if not outcomes:
        outputs.chosen.pop("html", None)
    failure = outputs.write(Regressions(outcomes, code, failure)) or failure
    raise failure or click.exceptions.Exit(code)


# --- running --------------------------------------------------------------------------------------------------------


def _regressions(
    found: list[tuple[Path, Path]], derive: Callable[[Scenario], Answer], workers: int, update: bool
) -> Iterator[Regression]:
    """Yields the outcomes in the order of the folders. A scenario that cannot run does not stop the others."""
    from isrcheck.checker.analysis.process_pool import in_order

    readable = [_read(pair) for pair in found]
    scenarios = [each for each in readable if not isinstance(each, Regression)]
    answers = in_order(derive, scenarios, workers, _killed)
    for each in readable:
        yield each if isinstance(each, Regression) else _regression(each, next(answers), update)


def _read(pair: tuple[Path, Path]) -> Scenario | Regression:
    from isrcheck.checker.scenarios.scenario import name_of, read

    try:
        return read(*pair)
    except Exception as error:
        return _not_run(Regression(name_of(pair[0]), str(pair[0])), *_blame(error))


def _derived(scenario: Scenario, limits: Limits, with_story: bool) -> Answer:
    """The generated files of a scenario (or a reason and an exit code), and the seconds that the scenario took.

    This function runs in a separate process, so it returns plain data.
    """
    from isrcheck.checker.scenarios.derived_files import derive

    began = time.perf_counter()
    try:
        found: Derived | tuple[str, int] = derive(scenario, limits, with_story)
    except (Exception, SystemExit) as error:
        found = _blame(error)
    return found, time.perf_counter() - began


def _killed(scenario: Scenario) -> Answer:
    return ("its process ended: out of memory, or the model calls sys.exit()", Exit.LIMIT), 0.0


def _blame(error: BaseException) -> tuple[str, int]:
    failure = command_error(error)
    if failure is None:
        words = " ".join(f"{type(error).__name__}: {error}".split())
        failure = CommandError(f"this is a bug in isrcheck: {words}; please report it", Exit.BUG)
    return failure.message, failure.code


# --- comparing ------------------------------------------------------------------------------------------------------


def _regression(scenario: Scenario, timed: Answer, update: bool) -> Regression:
    answer, seconds = timed
    outcome = Regression(scenario.name, str(scenario.folder), scenario=scenario, seconds=seconds)
    if isinstance(answer, tuple):
        return _not_run(outcome, *answer)
    outcome.story = answer.story
    if answer.unfinished is not None:
        return _not_run(outcome, *answer.unfinished)
    try:
        _compare(outcome, scenario, answer, update)
    except (OSError, CommandError) as error:
        return _not_run(outcome, *_blame(error))
    return outcome


def _compare(outcome: Regression, scenario: Scenario, derived: Derived, update: bool) -> None:
    from isrcheck.checker.scenarios.collection import unmet, unpaired
    from isrcheck.checker.scenarios.drift import drift, recorded

    old = recorded(scenario.folder)
    outcome.summary = derived.summary
    outcome.unmet = [*unmet(scenario, derived.summary), *unpaired(scenario)]
    outcome.drift = drift(old, derived)
    if update:
        for name in _rewrite(scenario.folder, old, derived.files):
            outcome.rewritten.append(name)
    if outcome.unmet or (outcome.drift and not update):
        outcome.code = Exit.DIFFERENCE


def _rewrite(folder: Path, old: dict[str, bytes], files: dict[str, str]) -> Iterator[str]:
    from isrcheck.checker.cli.output_files import write_bytes

    for name in sorted(old.keys() | files.keys()):
        path, text = folder / name, files.get(name)
        if text is None:
            path.unlink()
        elif old.get(name) != text.encode():
            write_bytes(str(path), text.encode())
        else:
            continue
        yield name


def _not_run(outcome: Regression, reason: str, code: int) -> Regression:
    outcome.reason, outcome.code = reason, code
    return outcome


# --- telling --------------------------------------------------------------------------------------------------------


def _text(outcome: Regression) -> list[str]:
    what = outcome.reason if outcome.summary is None else _verdict(outcome.summary)
    lines = [f"{outcome.status.ljust(15)}  {outcome.name}: {what}"]
    unwritten = [outcome.reason] if outcome.summary is not None and outcome.reason is not None else []
    lines += [f"  {line}" for line in (*unwritten, *outcome.unmet, *outcome.drift)]
    return lines + ([f"  rewritten: {', '.join(outcome.rewritten)}"] if outcome.rewritten else [])


def _verdict(summary: dict[str, Any]) -> str:
    from isrcheck.checker.results.text_layout import plural

    lengths = [f"{name} {f['length']}" for name, f in sorted(summary["invariants"].items()) if "length" in f]
    found = f"{summary['verdict']}: {', '.join(lengths)}" if lengths else summary["verdict"]
    return f"{found}; {plural(summary['distinct'], 'state')}, depth {summary['depth']}"


def _total(outcomes: list[Regression]) -> str:
    from isrcheck.checker.results.text_layout import plural

    counted = [(status, sum(o.status == status for o in outcomes)) for status in sorted({o.status for o in outcomes})]
    return f"{plural(len(outcomes), 'scenario')}: {', '.join(f'{n} {status}' for status, n in counted)}"


def _case(outcome: Regression) -> Case:
    from isrcheck.checker.report.test_cases import Case, Location, Outcome
    from isrcheck.checker.results.text_layout import repository_path
    from isrcheck.checker.scenarios.scenario import FILE

    words: dict[str, Outcome] = {"NOT RUN": "error", "NOT AS EXPECTED": "failed", "DRIFT": "failed"}
    first, *rest = _text(outcome)
    place = Location(repository_path(str(Path(outcome.folder) / FILE)), 1, 1)
    message = " ".join([" ".join(first.split()), *rest[:1]])
    rule = "The scenario is as recorded and as expected."
    status = words.get(outcome.status, "passed")
    text = "\n".join([first, *rest])
    return Case("scenarios", outcome.name, status, message, rule, text, place, seconds=outcome.seconds)


def _shown(outcome: Regression) -> PageRow:
    from isrcheck.checker.scenarios.overview import PageRow

    return PageRow(
        name=outcome.name,
        folder=outcome.folder,
        status=outcome.status,
        found=outcome.reason or "" if outcome.summary is None else _verdict(outcome.summary),
        verdict="" if outcome.summary is None else outcome.summary["verdict"],
        lines=[*outcome.unmet, *outcome.drift],
        scenario=outcome.scenario,
        story=outcome.story,
    )
