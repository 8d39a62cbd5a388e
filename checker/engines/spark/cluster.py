"""The requirements of the Spark engine: Java and three packages, each with the command that installs it.

The user's choices for exploring with Spark. This module does not import Spark.
"""

from __future__ import annotations

import glob
import importlib
import importlib.util
import os
import re
import shutil
import subprocess
import sys
from collections.abc import Mapping
from dataclasses import dataclass, field
from importlib import metadata
from typing import Any, Final

from isrcheck.checker.results.errors import MissingTool

LEAST: Final = {"pyspark": (4, 1), "pandas": (2, 2), "pyarrow": (18, 0)}
LEAST_JAVA: Final = 17
INSTALL: Final = "pip install 'isrcheck[spark]'"
INSTALL_JAVA: Final = (
    "install a Java runtime (Debian and Ubuntu: apt install openjdk-17-jre-headless; macOS: brew install openjdk@17) "
    "or set JAVA_HOME"
)


def require() -> dict[str, str]:
    """The versions of the requirements. Raises `MissingTool` if one is missing or too old."""
    return {**{name: _package(name) for name in LEAST}, "java": _java()}


def _package(name: str) -> str:
    least = ".".join(map(str, LEAST[name]))
    version = _version(name)
    if version is None:
        raise MissingTool(f"the Spark engine needs {name} {least} or later, which is not installed; {INSTALL}")
    if tuple(int(x) for x in re.findall(r"\d+", version)[:2]) < LEAST[name]:
        raise MissingTool(f"the Spark engine needs {name} {least} or later, not {version}; {INSTALL}")
    return version


def _version(name: str) -> str | None:
    """The version of a package, or None if it is missing.

    If SPARK_HOME is set, PySpark is imported to find its version, because pip does not know the PySpark in SPARK_HOME.
    """
    try:
        if name != "pyspark" or "SPARK_HOME" not in os.environ:
            return metadata.version(name)
    except metadata.PackageNotFoundError:
        pass
    if name == "pyspark":
        _look_in_spark_home()
    try:
        return str(importlib.import_module(name).__version__)
    except ModuleNotFoundError:
        return None


def _look_in_spark_home() -> None:
    """Makes PySpark importable from $SPARK_HOME/python, if it cannot be imported otherwise."""
    python = os.path.join(os.environ.get("SPARK_HOME", ""), "python")
    if importlib.util.find_spec("pyspark") is None and os.path.isdir(python):
        sys.path += [python, *sorted(glob.glob(os.path.join(python, "lib", "*.zip")))]


def _java() -> str:
    home = os.environ.get("JAVA_HOME")
    java = os.path.join(home, "bin", "java") if home else shutil.which("java")
    try:
        if java is None:
            raise FileNotFoundError
        said = subprocess.run([java, "-version"], capture_output=True, text=True, timeout=60, check=True).stderr
    except (OSError, subprocess.SubprocessError):
        where = f" in JAVA_HOME ({home})" if home else ""
        raise MissingTool(
            f"the Spark engine needs Java {LEAST_JAVA}, which was not found{where}; {INSTALL_JAVA}"
        ) from None
    found = re.search(r'version "(\d+)([^"]*)"', said)
    if found is None or int(found[1]) < LEAST_JAVA:
        version = found[1] + found[2] if found else "an unknown version"
        raise MissingTool(f"the Spark engine needs Java {LEAST_JAVA} or later, not {version}; {INSTALL_JAVA}")
    return found[1] + found[2]


THRESHOLD: Final = 300_000
"""The largest level, in states, that the driver expands itself.

The driver expands this many states in a quarter of a second. A Spark job without any states takes the same time
(measured by `benchmarks/spark_engine.py threshold`).
"""


@dataclass(frozen=True)
class Cluster:
    """Where Spark runs, and what is stored.

    If `master` is None, Spark runs where the platform says (spark-submit, spark-defaults, a running session). If the
    platform says nothing either, Spark runs on this machine. `partitions` is the number of *partitions*, the parts into
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
