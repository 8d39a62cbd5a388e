"""The search with workers and a store, also for small state spaces."""

from __future__ import annotations

from functools import partial

from isrcheck.checker.engines.explicit.search import search as either

search = partial(either, small=0)
