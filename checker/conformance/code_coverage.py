"""Measures with JaCoCo which methods and branches of Kafka's classes a run has reached.

JaCoCo's agent watches the harness (the Java program that drives Kafka's classes), and JaCoCo's command makes the
report. The agent and the command come from Maven Central. Branches are counted in byte code, so they include branches
that the Scala compiler adds, for example for pattern matching.
"""

from __future__ import annotations

import csv
import os
import re
import subprocess
import tempfile
import zipfile
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final
from xml.etree import ElementTree

from isrcheck.checker.conformance.harness_build import Tell, jacoco, java
from isrcheck.checker.results.errors import CommandError, os_words
from isrcheck.checker.results.result import Exit

JARS: Final = ("kafka_2.13-", "kafka-metadata-", "kafka-server-", "kafka-storage-")
"""Classes are looked for only in jars whose names begin with one of these texts."""
RECORD: Final = "jacoco.exec"
METHODS: Final = "methods.csv"
REPORT_SECONDS: Final = 300


LAMBDA: Final = re.compile(r"(?:lambda|\$anonfun)\$(.+?)(?:\$\d+)*(?:\$adapted)?")
"""The names that the compilers of Java and Scala give to a function that is written inside a method."""


@dataclass(frozen=True)
class Reached:
    """A method of Kafka. `instructions` and `branches` are pairs: how many were reached, and how many there are.

    `owner` is the class of the method, without its package. An inner class counts as its outermost class. All methods
    with the same owner and name count as one method, and `line` is the least of their line numbers. A function that is
    written inside a method belongs to that method.
    """

    owner: str
    method: str
    line: int
    instructions: tuple[int, int]
    branches: tuple[int, int]

    @property
    def is_reached(self) -> bool:
        return self.instructions[0] > 0


class Coverage:
    """A folder with JaCoCo's data. A new run adds to the data of earlier runs with the same version of Kafka."""

    def __init__(self, folder: Path, names: Iterable[str], classpath: str, tell: Tell) -> None:
        self.folder = folder
        try:
            folder.mkdir(parents=True, exist_ok=True)
        except OSError as error:
            raise CommandError(f"cannot write {folder}: {os_words(error)}", Exit.OUTPUT) from None
        self.classes = dict(sorted(_classes(classpath, frozenset(names))))
        self._agent, self._command = jacoco(tell)

    @property
    def options(self) -> tuple[str, ...]:
        """The options of Java with which JaCoCo's agent watches the harness."""
        watched = ":".join(name.removesuffix(".class").replace("/", ".") for name in self.classes)
        record = (self.folder / RECORD).resolve()
        return (f"-javaagent:{self._agent}=destfile={record},includes={watched}",)

    def report(self) -> list[Reached]:
        """Writes `methods.csv`, `coverage.xml` and HTML pages, and returns every method.

        The harness must have ended, because JaCoCo's agent writes its data when Java ends.
        """
        with tempfile.TemporaryDirectory(prefix="isrcheck-") as work:
            for name, jar in self.classes.items():
                zipfile.ZipFile(jar).extract(name, work)
            written = ["--xml", str(self.folder / "coverage.xml"), "--html", str(self.folder / "html")]
            command = [java(), "-jar", str(self._command), "report", str(self.folder / RECORD), *written]
            try:
                done = subprocess.run(
                    [*command, "--classfiles", work], capture_output=True, text=True, timeout=REPORT_SECONDS
                )
            except subprocess.TimeoutExpired:
                raise CommandError(
                    f"JaCoCo did not finish its report within {REPORT_SECONDS} seconds", Exit.OUTPUT
                ) from None
        if done.returncode:
            said = (done.stderr or done.stdout).strip().split("\n")
            raise CommandError(f"the JaCoCo report failed: {said[0][:300]}", Exit.OUTPUT)
        found = sorted(_methods(self.folder / "coverage.xml"), key=lambda x: (x.owner, x.line, x.method))
        self._write(found)
        return found

    def _write(self, found: list[Reached]) -> None:
        with (self.folder / METHODS).open("w", encoding="utf-8", newline="") as file:
            table = csv.writer(file)
            table.writerow(["class", "method", "line", "instructions", "of", "branches", "of"])
            table.writerows([x.owner, x.method, x.line, *x.instructions, *x.branches] for x in found)


def summary(found: list[Reached]) -> list[dict[str, Any]]:
    """For each class with its inner classes, the numbers of methods and branches, and how many of them were reached."""
    rows: dict[str, dict[str, Any]] = {}
    for x in found:
        row = rows.setdefault(
            x.owner, {"class": x.owner, "methods": 0, "of_methods": 0, "branches": 0, "of_branches": 0}
        )
        row["methods"] += x.is_reached
        row["of_methods"] += 1
        row["branches"] += x.branches[0]
        row["of_branches"] += x.branches[1]
    return list(rows.values())


def _classes(classpath: str, names: frozenset[str]) -> Iterator[tuple[str, Path]]:
    """The class files of the classes with these names and of their inner classes, each with its jar."""
    for jar in map(Path, classpath.split(os.pathsep)):
        if jar.name.startswith(JARS):
            with zipfile.ZipFile(jar) as archive:
                for name in archive.namelist():
                    if name.endswith(".class") and _simple(name.removesuffix(".class")) in names:
                        yield name, jar


def _simple(name: str) -> str:
    """The name of a class without its package; for an inner class, the name of the outermost class."""
    return name.rpartition("/")[2].partition("$")[0]


def _methods(report: Path) -> Iterator[Reached]:
    found: dict[tuple[str, str], list[Reached]] = {}
    for owner in ElementTree.parse(report).iter("class"):
        for method in owner.iter("method"):
            each = _counted(_simple(owner.get("name", "")), method)
            found.setdefault((each.owner, each.method), []).append(each)
    for (name, called), parts in found.items():
        instructions, branches = _total(x.instructions for x in parts), _total(x.branches for x in parts)
        yield Reached(name, called, min(x.line for x in parts), instructions, branches)


def _counted(owner: str, method: ElementTree.Element) -> Reached:
    counted = {
        x.get("type"): (int(x.get("covered", 0)), int(x.get("covered", 0)) + int(x.get("missed", 0)))
        for x in method.iter("counter")
    }
    name, nothing = method.get("name", ""), (0, 0)
    inside = LAMBDA.fullmatch(name)
    return Reached(
        owner,
        name if inside is None else inside[1],
        int(method.get("line", 0)),
        counted.get("INSTRUCTION", nothing),
        counted.get("BRANCH", nothing),
    )


def _total(parts: Iterable[tuple[int, int]]) -> tuple[int, int]:
    covered, of = zip(*parts, strict=True)
    return sum(covered), sum(of)
