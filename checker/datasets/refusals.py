"""The errors of a dataset, or of exploring on a cluster. Each message is one line with the remedy."""

from __future__ import annotations


class DatasetRefused(ValueError):
    """A dataset is damaged or in use, or does not fit this model, these options, this kernel or this version."""


class MissingTool(OSError):
    """A tool or a package is missing or too old."""


class ClusterFailed(OSError):
    """Spark could not do the work."""


class Unreachable(OSError):
    """A folder has an unknown scheme, or its file system cannot be opened."""
