"""A plugin for pytest. It can collect scenarios as tests, and it adds properties to the reports of failed assertions.

With `--isrcheck-scenarios`, each `scenario.toml` below the paths of the command line is one test. The test passes if
`isrcheck.testing.assert_as_recorded` passes. If `assert_holds` or `assert_violated` fails in a test, the test's report
gets properties: the model, the verdict, and the length of the trace of each violated invariant. pytest's own
--junit-xml writes these properties.

The plugin is loaded by `-p isrcheck.pytest_plugin`. It has no entry point, because an entry point would
make pytest rewrite all modules of this distribution. Rewritten modules cannot be sent to Spark's executors.
"""

from __future__ import annotations

import sys
from collections.abc import Generator, Iterator
from pathlib import Path
from typing import Any

import pytest

FILE = "scenario.toml"


def pytest_addoption(parser: pytest.Parser) -> None:
    group = parser.getgroup("isrcheck")
    group.addoption("--isrcheck-scenarios", action="store_true", help="Collect each scenario.toml as a test.")


def pytest_collect_file(file_path: Path, parent: pytest.Collector) -> ScenarioFile | None:
    if file_path.name == FILE and parent.config.getoption("--isrcheck-scenarios"):
        found: ScenarioFile = ScenarioFile.from_parent(parent, path=file_path)
        return found
    return None


class ScenarioFile(pytest.File):
    """A file `scenario.toml`. It gives one test."""

    def collect(self) -> Iterator[ScenarioItem]:
        yield ScenarioItem.from_parent(self, name=self.path.parent.name)


class ScenarioItem(pytest.Item):
    """The test of one scenario. If the scenario's model is in a file, this file must be below pytest's root folder."""

    def runtest(self) -> None:
        from isrcheck.checker.scenarios.scenario import read
        from isrcheck.testing import assert_as_recorded

        assert_as_recorded(read(self.path.parent, self.config.rootpath))

    def repr_failure(self, excinfo: pytest.ExceptionInfo[BaseException], style: Any = None) -> Any:
        from isrcheck.checker.results.errors import command_error

        if isinstance(excinfo.value, AssertionError):
            return str(excinfo.value)
        failure = command_error(excinfo.value)
        return super().repr_failure(excinfo) if failure is None else failure.message

    def reportinfo(self) -> tuple[Path, int, str]:
        return self.path, 0, f"scenario {self.name}"


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(
    item: pytest.Item, call: pytest.CallInfo[None]
) -> Generator[None, pytest.TestReport, pytest.TestReport]:
    report = yield
    # `isrcheck.testing` is not imported here, because most projects never use it. The class of the exception is tested,
    # because an exception of another class may have a `result` of another kind.
    testing: Any = sys.modules.get("isrcheck.testing")
    if testing is not None and call.excinfo is not None and isinstance(call.excinfo.value, testing.NotAsAsserted):
        result = call.excinfo.value.result
        violated = {name: f.trace.length for name, f in result.invariants.items() if f.trace is not None}
        found = [("isrcheck.model", result.model), ("isrcheck.verdict", result.verdict)]
        found += [(f"isrcheck.length.{name}", str(length)) for name, length in sorted(violated.items())]
        report.user_properties += found
        item.user_properties += found  # --junit-xml writes the teardown's report; pytest copies these into it
    return report
