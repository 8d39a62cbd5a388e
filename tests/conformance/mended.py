"""kraft with the two rules mended in which it is known to differ from Kafka, so that tests see the others.

docs/conformance.md tells of both. What is here does nothing any more where the model has them itself.
"""

from __future__ import annotations

from typing import Any

from isrcheck.model.designs import epoch_cache
from isrcheck.model.designs.kraft import Kraft


class Mended(Kraft):
    """kraft, with restarted brokers and empty logs as in Kafka."""

    def stop(self, s: Any, b: Any, on_disk: int | None, kept: int | None = None) -> None:
        """LogLoader.load: a log that is loaded knows no epoch that starts at its end."""
        super().stop(s, b, on_disk, self.log_size if kept is None else kept)

    def latest_epoch(self, s: Any, p: int, b: Any) -> Any:
        """A fetch names the last epoch of the cache, also for an empty log."""
        return epoch_cache.latest_epoch(s.epoch_cache[p][b])
