"""How the user wants Spark to explore; no part of Spark is needed to say so."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Final

THRESHOLD: Final = 300_000
"""Levels with at most so many states are expanded by the driver.

It does so many in the quarter of a second that a job takes before any state (`spark_engine.py threshold`).
"""


@dataclass(frozen=True)
class Cluster:
    """Where Spark runs and what it keeps.

    If `master` is None, Spark runs where the platform says (spark-submit, spark-defaults, a session that runs), else on
    this machine. `partitions` is the number of owners of states (None: one for each core). `checkpoint` is the folder
    of a new dataset, `resume` that of one to go on with; without either the states lie in a temporary folder. `conf`
    are settings of Spark, `transitions` keeps the steps too. `session` is a Spark session that exists already.
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
        """The Spark of this machine, unless the platform says otherwise."""
        return self.master is None or self.master.startswith("local")
