"""All mistakes in a dataset, or in the needs of exploring on a cluster; each is one line with the remedy."""

from __future__ import annotations


class DatasetRefused(ValueError):
    """A dataset that is damaged, or not of this model, these settings, this kernel or this version."""


class MissingTool(OSError):
    """A tool or a package that is not installed, or too old."""


class ClusterFailed(OSError):
    """Spark could not run what it was given."""


class Unreachable(OSError):
    """A folder whose scheme is not known, or whose file system does not begin."""
