"""One Spark session for all tests of a process: it takes seconds to begin."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest


@pytest.fixture(scope="session")
def session() -> Iterator[Any]:
    """A session of two cores, as this project makes it."""
    from checker.engines.spark.cluster import Cluster
    from checker.engines.spark.session import Spark

    spark = Spark(Cluster(master="local[2]"))
    yield spark.session
    spark.context.stop()
