"""The place of a dataset: a local folder, or a URI of a file system that pyarrow knows.

Spark sends this module to executors as code (by value), so the module imports nothing of this project.
"""

from __future__ import annotations

import re
import sys
import types
from typing import Any

import pyarrow.fs as pafs


def is_uri(path: str) -> bool:
    """Whether a path has a scheme (`s3://bucket/x`, `hdfs:/x`). A single letter is a drive, not a scheme."""
    return re.match(r"[A-Za-z][A-Za-z0-9+.-]+:/", path) is not None


def located(root: str, name: str = "") -> tuple[Any, str]:
    """The file system of a root, and the path of a name in that file system."""
    if not is_uri(root):
        return pafs.LocalFileSystem(), f"{root}/{name}" if name else root
    # Connecting to an object store takes requests, so each process connects only once. The connection is kept in a
    # module made for this purpose, because functions that are sent by value have no module of their own.
    kept = sys.modules.setdefault("isrcheck_places", types.ModuleType("isrcheck_places")).__dict__
    if root not in kept:
        kept[root] = pafs.FileSystem.from_uri(root)
    filesystem, place = kept[root]
    return filesystem, f"{place}/{name}" if name else place
