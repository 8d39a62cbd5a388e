"""The outputs: what commands write about a result beside the printed report, in one table.

The options of the command line, `isrcheck.render`, the tests and the table in docs/how-to/ci.md come from `OUTPUTS`. To
add an output, write a function that makes its text from a result, and add a row.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Final

from isrcheck.checker.results.text_layout import content_text
from isrcheck.model.language.errors import UnknownName, nearest

if TYPE_CHECKING:
    from isrcheck.checker.registry.loader import LoadedModel
    from isrcheck.checker.report.test_cases import Verdicts
    from isrcheck.checker.results.errors import CommandError
    from isrcheck.checker.results.result import Result
    from isrcheck.model.language.model import Model

SUMMARY: Final = "GITHUB_STEP_SUMMARY"
"""The environment variable that names the file to which `Printed.summary` is added."""


@dataclass(frozen=True)
class Printed:
    """The content of an output that is printed and not written to a file."""

    lines: list[str]
    summary: str


@dataclass(frozen=True)
class Output:
    """An output, and how to make it.

    `commands` names the commands whose results it can show; None stands for every command with a result. `ending` is
    the usual ending of the file's name, and empty for an output that is printed. `writer` makes the content from the
    subject of a command, such as `Answered`; without a writer, the subject has a method for the output (`to_html`). The
    content is text, data that is written as JSON, a drawing, or `Printed`. It is None if `of_trace` is true and there
    is no counterexample. If `unfinished` is true, the output is also written about a check that gave no result.
    """

    name: str
    ending: str
    meaning: str
    commands: tuple[str, ...] | None
    writer: Callable[[Any], Any] | None = None
    of_trace: bool = False
    unfinished: bool = False

    @property
    def option(self) -> str:
        return f"--{self.name}"

    def content(self, subject: Any) -> Any:
        return getattr(subject, f"to_{self.name}")() if self.writer is None else self.writer(subject)

    @property
    def is_file(self) -> bool:
        return self.ending != ""

    @property
    def help(self) -> str:
        return f"{self.meaning}; - is standard output." if self.is_file else f"{self.meaning}."


@dataclass
class Answered:
    """The result of a check as the subject of outputs. `loaded` is its model.

    `shown` is the result that a page shows. `isrcheck refine` adds the states of the specification to its traces.
    """

    result: Result
    loaded: LoadedModel = field(repr=False)
    shown: Result | None = field(default=None, repr=False)

    @property
    def exit_code(self) -> int:
        return self.result.exit_code

    @property
    def failure(self) -> CommandError | None:
        """What failed beside the search, such as the writing of a checkpoint."""
        from isrcheck.checker.results.errors import CommandError

        result = self.result
        return None if result.failure is None else CommandError(result.failure, result.exit_code)

    def fail(self, failure: CommandError) -> None:
        """Notes that a part of the output failed."""
        result = self.result
        result.exit_code = failure.code
        result.reason = failure.message if result.reason is None else f"{result.reason}; {failure.message}"

    def to_json(self) -> dict[str, Any]:
        return self.result.to_json()

    def to_html(self) -> str:
        from isrcheck.checker.registry.loader import blaming
        from isrcheck.checker.report.pages.report_page import report_page

        with blaming(self.loaded.source_file):
            return report_page(self.shown or self.result, self.loaded)

    def verdicts(self) -> Verdicts:
        from isrcheck.checker.report.result_text import verdict_line
        from isrcheck.checker.report.test_cases import Verdicts, cases_of

        result = self.result
        cases, title = cases_of(result, self.loaded), f"isrcheck: {result.model}"
        return Verdicts(cases, result.exit_code, result.settings, title, verdict_line(result))


@dataclass(frozen=True)
class Unfinished:
    """A check that gave no result, as the subject of outputs. `settings` are as the user wrote them."""

    model: str
    settings: dict[str, str]
    engine: str
    failure: CommandError

    def to_json(self) -> dict[str, Any]:
        from isrcheck.checker.results.result import Result

        return Result(
            model=self.model,
            settings=self.settings,
            engine=self.engine,
            verdict="incomplete",
            exit_code=self.failure.code,
            reason=self.failure.message,
            initial_states=0,
            levels=[],
            generated={},
            rejected=0,
            left=0,
            invariants={},
            bounds={},
            actions_never_fired=[],
            goals_never_reached=[],
            unrolled=0 if self.engine in ("symbolic", "simulation") else None,
        ).to_json()

    def verdicts(self) -> Verdicts:
        from isrcheck.checker.report.test_cases import Verdicts, unfinished

        case = unfinished(self.model, self.failure.message, self.failure.code)
        title = f"isrcheck: {self.model}"
        return Verdicts([case], self.failure.code, self.settings, title, self.failure.message)


def _itf(answered: Answered) -> str | None:
    from isrcheck.checker.trace.itf import as_text, itf_of

    data = itf_of(answered.result)
    return None if data is None else as_text(data)


def _mermaid(answered: Answered) -> str | None:
    from isrcheck.checker.report.mermaid import mermaid_of

    return mermaid_of(answered.result)


def _junit(subject: Any) -> str:
    from isrcheck.checker.report.junit import junit

    found: Verdicts = subject.verdicts()
    settings = {name: str(v).lower() if isinstance(v, bool) else str(v) for name, v in found.settings.items()}
    return junit(found.cases, settings)


def _sarif(subject: Any) -> dict[str, Any]:
    from isrcheck.checker.report.sarif import sarif

    found: Verdicts = subject.verdicts()
    return sarif(found.cases, found.exit_code, found.settings)


def _github(subject: Any) -> Printed:
    from isrcheck.checker.report.github import commands, summary

    found: Verdicts = subject.verdicts()
    return Printed(commands(found.cases), summary(found.cases, found.title, found.headline))


CI: Final = ("check", "refine", "regress")
OUTPUTS: Final = (
    Output("json", ".json", "Write the result as JSON", None, unfinished=True),
    Output("itf", ".itf.json", "Write the shortest counterexample in ITF",
           ("check", "refine", "simulate"), _itf, of_trace=True),
    Output("html", ".html", "Write the report as an HTML page",
           ("check", "refine", "regress", "replay", "conform", "review")),
    Output("markdown", ".md", "Write the report as Markdown, for a pull request comment", ("review",)),
    Output("svg", ".svg", "Write the first trace as an SVG picture", ("replay",)),
    Output("plot", ".svg", "Plot the counts, in SVG or PNG", ("sweep", "analyze")),
    Output("mermaid", ".mmd", "Write the shortest counterexample as a sequence diagram",
           ("check", "refine"), _mermaid, of_trace=True),
    Output("junit", ".xml", "Write the verdicts as JUnit XML", CI, _junit, unfinished=True),
    Output("sarif", ".sarif", "Write the verdicts as SARIF", CI, _sarif, unfinished=True),
    Output("github", "", "Print GitHub annotations, and add the verdicts to the job summary",
           CI, _github, unfinished=True),
)  # fmt: skip


def outputs_of(command: str) -> list[Output]:
    """The outputs that can show the results of a command."""
    return [each for each in OUTPUTS if each.commands is None or command in each.commands]


def render(result: Result, output: str, model: str | type[Model] | Model | LoadedModel | None = None) -> str | None:
    """The text of an output of a check: `json`, `itf`, `html`, `mermaid`, `junit` or `sarif`.

    It is the text that `isrcheck check` writes with the option of this name.
    `model` is the model that was given to `check`. It can be left out for a shipped model. Returns None if the output
    shows a counterexample and the result has none. Raises `UnknownName` for another output.

    >>> import isrcheck
    >>> result = isrcheck.check("kip-101", {"replicas": 2}, ["weak-isr"])
    >>> print(isrcheck.render(result, "mermaid").splitlines()[0])
    sequenceDiagram
    """
    known = {each.name: each for each in outputs_of("check") if each.is_file}
    if output not in known:
        raise UnknownName(f"a check has no output {output!r}; {nearest(output, known)}")
    content = known[output].content(Answered(result, model_of(result, model)))
    return None if content is None else content_text(content)


def model_of(result: Result, model: str | type[Model] | Model | LoadedModel | None) -> LoadedModel:
    """The model of a result. Raises the errors of `load_model_class`, and `UnknownName` if `model` is another model."""
    from isrcheck.checker.analysis.check import loaded_of
    from isrcheck.model.language.model import Model

    loaded = loaded_of(type(model) if isinstance(model, Model) else result.model if model is None else model)
    if loaded.name != result.model:
        raise UnknownName(f"the result is for model {result.model}, not {loaded.name}")
    return loaded


def as_lines() -> list[str]:
    """The table of outputs as lines of Markdown."""
    rows = [
        f"| `{each.option}{' FILE' if each.is_file else ''}` | {each.meaning} "
        f"| {'all with a result' if each.commands is None else ', '.join(f'`{x}`' for x in each.commands)} |"
        for each in OUTPUTS
    ]
    return ["| option | what it does | commands |", "|---|---|---|", *rows]
