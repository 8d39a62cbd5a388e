"""Redirects a model file's prints to standard error, so that standard output has only isrcheck's own output."""

from __future__ import annotations

import sys
from typing import Any


def print_apart(*values: object, file: Any = None, **options: Any) -> None:
    """Python's `print`, with standard error as the default `file`."""
    print(*values, file=sys.stderr if file is None else file, **options)
