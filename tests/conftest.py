"""Settings shared by all tests: outside tools, and how long hypothesis searches."""

from __future__ import annotations

import gc
import os
import shutil
import signal
import threading

import pytest


def pytest_runtest_setup(item: pytest.Item) -> None:
    """Skips a test whose outside tool is absent; fails it where ISRCHECK_REQUIRE names the tool."""
    for marker in item.iter_markers("needs"):
        (tool,) = marker.args
        if shutil.which(tool) is None:
            if tool in os.environ.get("ISRCHECK_REQUIRE", "").split(","):
                pytest.fail(f"{tool} is required (ISRCHECK_REQUIRE) and not installed")
            pytest.skip(f"{tool} is not installed")


FIRST = (
    "tests/operators/", "tests/smallest/", "tests/wording/", "tests/test_architecture.py", "tests/language/",
    "tests/invariants/",
)  # fmt: skip
"""What breaks here breaks much elsewhere: these say in seconds which operation, model, invariant or import it is."""


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """The pointed tests first, those of a question together, and all others in the order of their files."""
    questions: dict[str, int] = {}

    def place(item: pytest.Item) -> tuple[int, int]:
        first = next((i for i, start in enumerate(FIRST) if item.nodeid.startswith(start)), len(FIRST))
        question = item.callspec.params.get("question") if hasattr(item, "callspec") else None
        return first, questions.setdefault(str(question), len(questions)) if first == 1 else 0

    items.sort(key=place)


def pytest_collection_finish() -> None:
    """Python looks for garbage less often: what a process of tests holds is alive until its end."""
    gc.set_threshold(50_000)


def pytest_configure(config: pytest.Config) -> None:
    """Tests keep compiled code for each other, and apart from that of the user who runs them.

    They hear Ctrl-C also where a shell has started them in the background: some ask what it does to a process.
    """
    if signal.getsignal(signal.SIGINT) is signal.SIG_IGN and threading.current_thread() is threading.main_thread():
        signal.signal(signal.SIGINT, signal.default_int_handler)
    if hasattr(config, "cache"):  # a worker of pytest-xdist has what its controller has set
        os.environ.setdefault("ISRCHECK_CACHE", str(config.cache.mkdir("compiled")))
