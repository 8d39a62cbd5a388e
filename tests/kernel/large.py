"""The search with workers and a store, also where a space is small."""

from __future__ import annotations

from functools import partial

from isrcheck.checker.engines.local import search as either

search = partial(either, small=0)
