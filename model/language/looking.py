"""What a model's file prints goes to standard error: standard output is for answers, which programs read."""

from __future__ import annotations

import sys
from typing import Any


def print_apart(*values: object, file: Any = None, **options: Any) -> None:
    """Python's `print`, but for where it prints unless it is told."""
    print(*values, file=sys.stderr if file is None else file, **options)
