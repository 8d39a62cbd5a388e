"""One Spark session for all tests of a process, because a session takes seconds to start."""

from __future__ import annotations

import os
from collections.abc import Iterator
from typing import Any

import pytest

MASTER = "ISRCHECK_TEST_MASTER"
"""The environment variable for a master other than `local[2]`."""


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Tests that need a session come first: with `--dist worksteal` the first tests all go to one worker."""
    items.sort(key=lambda item: "session" not in getattr(item, "fixturenames", ()))


@pytest.fixture(scope="session")
def session() -> Iterator[Any]:
    """A session with two cores, made by this project's code."""
    from isrcheck.checker.engines.spark.cluster import Cluster
    from isrcheck.checker.engines.spark.session import Spark

    spark = Spark(Cluster(master=os.environ.get(MASTER, "local[2]")))
    yield spark.session
    spark.context.stop()
