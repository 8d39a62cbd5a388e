"""The tests of docs/findings on Kafka's own classes: tests of findings fail as the page says, and the others pass."""

from __future__ import annotations

import re
import shutil
import subprocess
from pathlib import Path
from xml.etree import ElementTree

import pytest

FINDINGS = Path(__file__).parents[2] / "docs" / "findings"
SAID = dict(re.findall(r"^(\w+Test\.\w+)\n  (.+)$", (FINDINGS / "reports.md").read_text(encoding="utf-8"), re.M))
SINCE_4_3 = {"EligibleLeaderReplicasTest.replicaThatIsMadeAnewIsNotElectedBeforeItHasFetched"}
"""In 4.2.0 the ELR is cleared earlier (apache/kafka#20716)."""


def test_each_page_names_its_tests() -> None:
    tests = {f"{path.stem}.{x}" for path in FINDINGS.glob("*.java") for x in _methods(path)}
    pages = "".join(path.read_text(encoding="utf-8") for path in FINDINGS.glob("*.md"))
    assert len(SAID) == 11
    assert set(SAID) < tests
    assert set(re.findall(r"(\w+Test\.[a-z]\w+)", pages)) <= tests


def _methods(path: Path) -> list[str]:
    return re.findall(r"@Test\n    public void (\w+)\(", path.read_text(encoding="utf-8"))


@pytest.mark.exhaustive
@pytest.mark.skipif(shutil.which("mvn") is None, reason="Maven is not installed")
@pytest.mark.parametrize("earlier", [[], ["-P", "kafka-4.3"], ["-P", "kafka-4.2"]])
def test_kafka_does_as_the_findings_say(tmp_path: Path, earlier: list[str]) -> None:
    command = ["mvn", "-B", "-q", *earlier, "-f", str(FINDINGS / "pom.xml"), f"-Dbuild.folder={tmp_path}", "test"]
    try:
        done = subprocess.run(
            command, capture_output=True, text=True, timeout=540, stdin=subprocess.DEVNULL, check=False
        )
    except subprocess.TimeoutExpired:
        pytest.skip("Maven has not come to an end: what it fetches comes too slowly here")
    if any(words in done.stdout for words in ("Could not transfer", "Unknown host", "could not be resolved")):
        pytest.skip("Maven Central cannot be reached")
    failed, passed = dict[str, str](), set[str]()
    for report in tmp_path.glob("surefire-reports/*.xml"):
        for case in ElementTree.parse(report).iter("testcase"):
            name = f"{case.get('classname', '').rpartition('.')[2]}.{case.get('name')}"
            failure = case.find("failure")
            if failure is None:
                passed.add(name)
            else:
                failed[name] = failure.get("message", "").partition(" ==>")[0]
    others = SINCE_4_3 if "kafka-4.2" in earlier else set()
    assert failed == {name: said for name, said in SAID.items() if name not in others}, done.stdout[-2000:]
    assert len(passed) == 14 + len(others)
