"""Serves a model like `isrcheck explore`, in a thread of this process."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from threading import Thread
from typing import Any

from isrcheck.checker.registry.loader import load_model_class
from isrcheck.checker.report.explorer.server import Server
from isrcheck.checker.report.explorer.walk import Walking


@contextmanager
def serving(spec: str | Path, **settings: Any) -> Iterator[Server]:
    """A running server for exploring a model."""
    loaded = load_model_class(str(spec))
    with served(Walking(loaded, loaded.cls(**settings))) as server:
        yield server


@contextmanager
def served(walking: Walking) -> Iterator[Server]:
    """A running server for a walk through a model."""
    with Server(walking, 0) as server:
        thread = Thread(target=server.serve_forever, kwargs={"poll_interval": 0.02})
        thread.start()
        try:
            yield server
        finally:
            server.shutdown()
            thread.join()
