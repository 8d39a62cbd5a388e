"""The user's choices for exploring with Spark. No part of Spark is needed to state them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Final

THRESHOLD: Final = 300_000
"""The driver expands levels with at most this many states.

The driver expands this many in the quarter of a second that a job takes even without states
(`spark_engine.py threshold`).
"""


@dataclass(frozen=True)
class Cluster:
    """Where Spark runs and what it keeps.

    If `master` is None, Spark runs where the platform says (spark-submit, spark-defaults, a running session), else on
    this machine. `partitions` is the number of owners of states (None: one for each core). `checkpoint` is the folder
    of a new dataset, `resume` the folder of one to continue. Without either, the states lie in a temporary folder.
    `conf` are settings of Spark. `transitions` keeps the steps too. `session` is an existing Spark session.
    """

    master: str | None = None
    partitions: int | None = None
    threshold: int = THRESHOLD
    checkpoint: str | None = None
    resume: str | None = None
    conf: Mapping[str, str] = field(default_factory=dict)
    transitions: bool = False
    session: Any = None

    @property
    def on_this_machine(self) -> bool:
        """Spark on this machine, unless the platform names another."""
        return self.master is None or self.master.startswith("local")
