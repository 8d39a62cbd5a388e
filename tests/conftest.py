"""Settings for all tests: outside tools, the order of tests, garbage collection, and the cache of compiled code."""

from __future__ import annotations

import gc
import os
import shutil
import signal
import threading

import pytest


def pytest_runtest_setup(item: pytest.Item) -> None:
    """Skips a test if its outside tool is missing, or fails the test if ISRCHECK_REQUIRE names the tool."""
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
"""Tests that run first. In seconds they show the broken operation, model, invariant or import behind other failures."""


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Sorts the tests: first those of `FIRST`, tests of the same question together, others in the order of files."""
    questions: dict[str, int] = {}

    def place(item: pytest.Item) -> tuple[int, int]:
        first = next((i for i, start in enumerate(FIRST) if item.nodeid.startswith(start)), len(FIRST))
        question = item.callspec.params.get("question") if hasattr(item, "callspec") else None
        return first, questions.setdefault(str(question), len(questions)) if first == 1 else 0

    items.sort(key=place)


def pytest_collection_finish() -> None:
    """Makes Python collect garbage less often, because most objects of a test process live until its end."""
    gc.set_threshold(50_000)


def pytest_configure(config: pytest.Config) -> None:
    """Sets a cache of compiled code that tests share, apart from the user's own cache.

    Also restores Ctrl-C if a shell has started the tests in the background, because some tests send it to a process.
    """
    if signal.getsignal(signal.SIGINT) is signal.SIG_IGN and threading.current_thread() is threading.main_thread():
        signal.signal(signal.SIGINT, signal.default_int_handler)
    if hasattr(config, "cache"):  # a worker of pytest-xdist has what its controller has set
        os.environ.setdefault("ISRCHECK_CACHE", str(config.cache.mkdir("compiled")))
