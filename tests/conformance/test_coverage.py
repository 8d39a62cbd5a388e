"""JaCoCo's numbers for methods are summed in the way that a reader of Kafka's source expects."""

from __future__ import annotations

import os
import zipfile
from pathlib import Path

import pytest

from isrcheck.checker.conformance import code_coverage
from isrcheck.checker.conformance.code_coverage import Coverage, Reached, summary

REPORT = """<report name="JaCoCo">
  <package name="kafka/cluster">
    <class name="kafka/cluster/Partition">
      <method name="makeLeader" desc="()V" line="20">
        <counter type="INSTRUCTION" missed="1" covered="9"/><counter type="BRANCH" missed="3" covered="1"/>
      </method>
      <method name="$anonfun$makeLeader$2$adapted" desc="()V" line="25">
        <counter type="INSTRUCTION" missed="4" covered="0"/>
      </method>
    </class>
    <class name="kafka/cluster/Partition$Inner">
      <method name="lambda$delete$1" desc="()V" line="7">
        <counter type="INSTRUCTION" missed="6" covered="0"/><counter type="BRANCH" missed="2" covered="0"/>
      </method>
    </class>
  </package>
</report>"""


def test_functions_in_a_method_and_classes_in_a_class_count_with_it(tmp_path: Path) -> None:
    (tmp_path / "coverage.xml").write_text(REPORT)
    found = list(code_coverage._methods(tmp_path / "coverage.xml"))
    assert found == [
        Reached("Partition", "makeLeader", 20, (9, 14), (1, 4)),
        Reached("Partition", "delete", 7, (0, 6), (0, 2)),
    ]
    assert [x.is_reached for x in found] == [True, False]
    assert summary(found) == [
        {"class": "Partition", "methods": 1, "of_methods": 2, "branches": 1, "of_branches": 6},
    ]


def test_classes_are_found_by_their_names_in_the_jars_of_kafka(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    ours, other = tmp_path / "kafka_2.13-9.9.9.jar", tmp_path / "library-1.jar"
    for jar in (ours, other):
        with zipfile.ZipFile(jar, "w") as archive:
            for name in ("a/Partition.class", "a/Partition$x$1.class", "a/PartitionTest.class", "a/Partition.txt"):
                archive.writestr(name, "")
    monkeypatch.setattr(code_coverage, "jacoco", lambda tell: (Path("agent.jar"), Path("cli.jar")))
    jars = os.pathsep.join([str(ours), str(other)])
    found = Coverage(tmp_path / "new" / "folder", ("Partition",), jars, lambda line: None)
    assert found.classes == {"a/Partition$x$1.class": ours, "a/Partition.class": ours}
    (option,) = found.options
    assert option == (
        f"-javaagent:agent.jar=destfile={tmp_path}/new/folder/jacoco.exec,includes=a.Partition$x$1:a.Partition"
    )
