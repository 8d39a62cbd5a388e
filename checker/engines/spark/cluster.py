"""The user's choices for exploring with Spark. This module does not import Spark."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Final

THRESHOLD: Final = 300_000
"""The largest level, in states, that the driver expands itself.

The driver expands this many states in a quarter of a second. A Spark job without any states takes the same time
(measured by `benchmarks/spark_engine.py threshold`).
"""


@dataclass(frozen=True)
class Cluster:
    """Where Spark runs, and what is stored.

    If `master` is None, Spark runs where the platform says (spark-submit, spark-defaults, a running session). If the
    platform says nothing either, Spark runs on this machine. `partitions` is the number of *owners*, the parts into
    which states are divided (None: one for each core). `checkpoint` is the folder of a new dataset, and `resume` is the
    folder of a dataset to continue. If both are None, the dataset is in a temporary folder. `conf` has settings of
    Spark. With `transitions`, the steps are stored, too. `session` is an existing Spark session to use.
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
        """True if the user names no other machine for Spark. The platform may still name another machine."""
        return self.master is None or self.master.startswith("local")
