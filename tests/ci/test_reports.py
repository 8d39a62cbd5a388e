"""Reports for continuous integration are valid by the formats' public schemas, and no text of a model breaks them."""

from __future__ import annotations

import ast
import json
import re
import shutil
import time
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import attr
import jsonschema
import junitparser
import pytest
import sarif_om
import xmlschema

from isrcheck.checker.report.github import LARGEST, escaped, fenced, summary
from isrcheck.checker.report.outputs import Output, outputs_of
from isrcheck.checker.report.sarif import sarif
from isrcheck.checker.report.test_cases import Case
from tests.ci import hostile
from tests.cli.running import Outcome, counter, run
from tests.scenarios.shipped import FOLDERS

HERE = Path(__file__).parent
ROOT = HERE.parent.parent
HOSTILE = HERE / "hostile.py"
KIP_101 = ("kip-101", "-s", "replicas=2")


def written(folder: Path, *arguments: str | Path) -> tuple[Outcome, str, dict[str, Any]]:
    """The outcome of a check, and its JUnit and SARIF reports."""
    junit, sarif = folder / "out.xml", folder / "out.sarif"
    outcome = run("check", *arguments, "--junit", junit, "--sarif", sarif)
    return outcome, junit.read_text(), json.loads(sarif.read_text())


CHECKS = {
    "violated": (12, KIP_101),
    "holds": (0, ("kip-320", "-s", "replicas=2")),
    "incomplete": (152, (*KIP_101, "--max-states", "10")),
    "hostile": (12, (HOSTILE,)),
    "mistake": (150, ("kip-101", "--invariant", "nothing")),
}


@pytest.fixture(params=CHECKS)
def reports(request: pytest.FixtureRequest, tmp_path: Path) -> tuple[str, dict[str, Any]]:
    code, arguments = CHECKS[request.param]
    outcome, junit, sarif = written(tmp_path, *arguments)
    assert outcome.code == code
    return junit, sarif


def test_junit_is_valid_by_the_schema_of_jenkins(reports: tuple[str, dict[str, Any]]) -> None:
    """The file junit-10.xsd is from Jenkins' xUnit plugin (MIT). pytest's own tests use it, too."""
    xmlschema.XMLSchema(str(HERE / "junit-10.xsd")).validate(reports[0])


def test_sarif_is_valid_by_its_schema_and_by_the_object_model_of_its_authors(
    reports: tuple[str, dict[str, Any]],
) -> None:
    jsonschema.validate(reports[1], json.loads((HERE / "sarif-2.1.0-reduced.json").read_text()))
    modelled(reports[1], sarif_om.SarifLog)


KINDS = {
    "runs": "Run", "tool": "Tool", "driver": "ToolComponent", "rules": "ReportingDescriptor", "results": "Result",
    "invocations": "Invocation", "message": "Message", "shortDescription": "MultiformatMessageString",
    "fullDescription": "MultiformatMessageString", "locations": "Location", "relatedLocations": "Location",
    "physicalLocation": "PhysicalLocation", "artifactLocation": "ArtifactLocation", "region": "Region",
    "codeFlows": "CodeFlow", "threadFlows": "ThreadFlow", "location": "Location",
}  # fmt: skip


def modelled(data: dict[str, Any], cls: Any) -> Any:
    """An object of `sarif_om`, which is generated from the schema: all properties are known, required ones given."""
    names = {f.metadata["schema_property_name"]: f.name.lstrip("_") for f in attr.fields(cls)}
    assert set(data) <= {*names, "$schema"}, f"{cls.__name__} has no {set(data) - set(names)}"
    given = {}
    for key, value in data.items():
        inner = "ThreadFlowLocation" if cls is sarif_om.ThreadFlow and key == "locations" else KINDS.get(key)
        if inner is not None:
            kind = getattr(sarif_om, inner)
            value = [modelled(x, kind) for x in value] if isinstance(value, list) else modelled(value, kind)
        given[names.get(key, "schema_uri")] = value
    return cls(**given)


def test_junit_says_what_was_found(tmp_path: Path) -> None:
    _, text, _ = written(tmp_path, *KIP_101)
    suites = junitparser.JUnitXml.fromstring(text.encode())
    (suite,) = suites
    cases = {case.name: case for case in suite}
    assert (suite.tests, suite.failures, suite.errors, suite.skipped) == (3, 2, 0, 1)
    (failure,) = cases["weak-isr"].result
    assert isinstance(failure, junitparser.Failure)
    assert "Counterexample: weak-isr" in failure.text
    assert "truncat" in failure.text or "become-follower" in failure.text
    (skipped,) = cases["leader-in-isr-or-none"].result
    assert isinstance(skipped, junitparser.Skipped)
    assert {p.name: p.value for p in suite.properties()}["replicas"] == "2"


@pytest.mark.parametrize(
    "arguments",
    [pytest.param(KIP_101, marks=pytest.mark.exhaustive), ("v3", "--profile", "bare", "--liveness", "isr-settles")],
)
def test_the_times_of_the_cases_are_those_of_the_check(tmp_path: Path, arguments: tuple[str, ...]) -> None:
    """Invariants share the time of the search; properties share the time after it."""
    out = tmp_path / "out.json"
    _, text, _ = written(tmp_path, *arguments, "--json", str(out))
    (suite,) = junitparser.JUnitXml.fromstring(text.encode())
    data = json.loads(out.read_text())
    seconds, times = data["seconds"], {case.name: case.time for case in suite}
    after = {name: t for name, t in times.items() if name in data.get("liveness", {})}
    assert suite.time == pytest.approx(seconds["total"], abs=0.002)
    assert sum(times.values()) == pytest.approx(seconds["total"], abs=0.001 * len(times))
    assert sum(after.values()) == pytest.approx(seconds.get("liveness", 0.0), abs=0.001 * len(times))
    assert min(times.values()) > 0


def test_what_is_not_finished_is_an_error_never_a_pass(tmp_path: Path) -> None:
    _, text, sarif = written(tmp_path, *KIP_101, "--max-states", "10")
    (suite,) = junitparser.JUnitXml.fromstring(text.encode())
    assert (suite.failures, suite.errors) == (0, 3)
    assert {r["level"] for r in sarif["runs"][0]["results"]} == {"warning"}


def test_sarif_points_at_the_lines_of_the_actions(tmp_path: Path) -> None:
    """The location is the method of the action that ends the trace, with its decorator, in this repository."""
    _, _, sarif = written(tmp_path, *KIP_101)
    (result,) = [r for r in sarif["runs"][0]["results"] if r["ruleId"] == "weak-isr"]
    flow = result["codeFlows"][0]["threadFlows"][0]["locations"]
    assert len(flow) == 11  # a trace of 12 states
    for step in flow:
        place, action = step["location"]["physicalLocation"], step["location"]["message"]["text"].split()[2]
        path, region = ROOT / place["artifactLocation"]["uri"], place["region"]
        (method,) = methods(path, region["startLine"])
        assert action.startswith(method.name.replace("_", "-") + "(")
        assert method.end_lineno == region["endLine"]
    assert result["locations"][0]["physicalLocation"] == flow[-1]["location"]["physicalLocation"]


def methods(path: Path, line: int) -> list[ast.FunctionDef]:
    """The functions of a file whose first decorator is on a line."""
    found = [n for n in ast.walk(ast.parse(path.read_text())) if isinstance(n, ast.FunctionDef)]
    return [n for n in found if n.decorator_list and n.decorator_list[0].lineno == line]


def test_fingerprints_tell_questions_apart_and_not_answers(tmp_path: Path) -> None:
    def prints(*arguments: str) -> set[str]:
        results = written(tmp_path, *arguments)[2]["runs"][0]["results"]
        return {r["partialFingerprints"]["isrcheck/v1"] for r in results}

    assert prints(*KIP_101) == prints(*KIP_101, "--continue")
    assert not prints(*KIP_101) & prints(*KIP_101, "-s", "log_size=1")


def test_no_word_of_a_model_leaves_its_place_in_xml(tmp_path: Path) -> None:
    _, text, _ = written(tmp_path, HOSTILE)
    root = ElementTree.fromstring(text)
    assert [e.tag for e in root.iter()] == ["testsuites", "testsuite", "properties", "property", "testcase", "failure"]
    failure = root.find(".//failure")
    assert failure is not None
    assert failure.text is not None
    assert hostile.TRAP in failure.text
    assert (root.find(".//property").attrib["value"]) == hostile.TRAP  # type: ignore[union-attr]


def test_control_characters_are_replaced_in_xml() -> None:
    from isrcheck.checker.report.junit import junit
    from isrcheck.checker.report.test_cases import Case

    text = junit([Case("a\x00", "b\x1b[31m", "failed", "c\ud800\x0b", text="d\uffff")], {"e\x08": "f"})
    assert ElementTree.fromstring(text).find(".//testcase").attrib["name"] == "b\ufffd[31m"  # type: ignore[union-attr]


def test_annotations_are_one_line_each_with_their_place(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("GITHUB_STEP_SUMMARY", str(tmp_path / "summary.md"))
    outcome = run("check", HOSTILE, "--github", "--quiet")
    lines = [line for line in outcome.out.splitlines() if line.startswith("::")]
    assert len(lines) == 1
    found = re.fullmatch(r"::error (.*?)::(.*)", lines[0])
    assert found is not None
    properties = dict(each.split("=", 1) for each in found[1].split(","))
    assert properties["file"] == "tests/ci/hostile.py"
    assert {"line", "endLine", "title"} < set(properties)
    assert "%250A" in found[2]  # its per cent sign is no command


def test_the_summary_shows_a_diagram_and_no_markup_of_the_model(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    summary = tmp_path / "summary.md"
    summary.write_text("before\n")
    monkeypatch.setenv("GITHUB_STEP_SUMMARY", str(summary))
    assert run("check", HOSTILE, "--github", "--quiet").code == 12
    text = summary.read_text()
    assert text.startswith("before\n")
    blocks = re.findall(r"^(`{3,})(\w+)\n(.*?)^\1$", text, re.S | re.M)
    assert [language for _, language, _ in blocks] == ["mermaid", "text"]
    outside = text
    for fence, language, block in blocks:
        outside = outside.replace(f"{fence}{language}\n{block}{fence}", "")
    assert not re.search(r"<(?!/?details>|/?summary>)", outside)
    rows = [line for line in outside.splitlines() if line.startswith("|")]
    assert {len(re.findall(r"(?<!\\)\|", row)) for row in rows} == {4}


def test_a_summary_that_cannot_be_written_is_told(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("GITHUB_STEP_SUMMARY", str(tmp_path))
    assert run("check", *KIP_101, "--github", "--quiet").code == 153


def test_fences_and_cells() -> None:
    assert fenced("a ```` b", "text") == "`````text\na ```` b\n`````\n"
    assert escaped("a|b\nc <d> [e](f) `g`") == r"a\|b c &lt;d> \[e\](f) \`g\`"


def test_regress_has_a_test_case_for_each_scenario(tmp_path: Path) -> None:
    junit, sarif = tmp_path / "out.xml", tmp_path / "out.sarif"
    folder = FOLDERS["kip-101"]
    began = time.perf_counter()
    outcome = run("regress", folder, "--workers", "1", "--junit", junit, "--sarif", sarif)
    elapsed = time.perf_counter() - began
    assert outcome.code == 0
    xmlschema.XMLSchema(str(HERE / "junit-10.xsd")).validate(str(junit))
    (suite,) = junitparser.JUnitXml.fromfile(str(junit))
    assert [case.name for case in suite] == ["kip-101"]
    assert 0 < suite.time <= elapsed
    data = json.loads(sarif.read_text())
    jsonschema.validate(data, json.loads((HERE / "sarif-2.1.0-reduced.json").read_text()))
    (result,) = data["runs"][0]["results"]
    assert result["kind"] == "pass"
    place = result["locations"][0]["physicalLocation"]["artifactLocation"]["uri"]
    assert place == f"{folder.relative_to(ROOT)}/scenario.toml"


@pytest.mark.parametrize(
    ("code", "finished"), [(0, True), (12, True), (13, True), (14, True), (75, False), (152, False)]
)
def test_a_run_that_gave_its_answer_is_successful(code: int, finished: bool) -> None:
    (one,) = sarif([], code, {})["runs"][0]["invocations"]
    assert one == {"executionSuccessful": finished, "exitCode": code}


def test_an_outcome_that_nobody_expected_is_a_case_of_its_own(tmp_path: Path) -> None:
    shutil.copytree(FOLDERS["kip-101"], tmp_path / "other")
    scenario = tmp_path / "other/scenario.toml"
    before, after = scenario.read_text().split("[lengths]")
    scenario.write_text(f"{before}[lengths]{re.sub('= [0-9]+', '= 99', after)}")
    outcome, junit, _ = written(tmp_path, "--scenario", tmp_path / "other")
    failed = {c.get("name"): c.find("failure") for c in ElementTree.fromstring(junit).iter("testcase")}
    reported = failed["expectation"]
    assert reported is not None
    assert outcome.code == 12
    assert re.search(r"violated in \d+ states, expected violated in 99", reported.get("message", ""))


def test_two_options_do_not_name_one_file(tmp_path: Path) -> None:
    out = tmp_path / "out"
    outcome = run("check", *KIP_101, "--junit", out, "--sarif", out)
    assert outcome.code == 2
    assert "--junit and --sarif name the same file" in outcome.err
    assert run("check", *KIP_101, "--junit", tmp_path / "no" / "where").code == 153


def test_one_report_goes_to_standard_output(tmp_path: Path) -> None:
    outcome = run("check", counter(tmp_path), "--junit", "-")
    assert outcome.out.startswith("<?xml")
    assert outcome.err.startswith("HOLDS")


def test_a_summary_is_never_larger_than_github_takes() -> None:
    """The table alone may be too large, or a counterexample after it."""
    long = [Case("suite", f"case {n}", "failed", "m" * 1_000, "A rule.", text="t" * 400_000) for n in range(4)]
    found = summary(long, "title", "headline")
    assert found.endswith("\nThe rest exceeds GitHub's size limit.\n")
    assert found.count("<details>") == 2
    assert len(found.encode()) < 1 << 20
    many = [Case("suite", f"case {n}", "failed", "m" * 1_000, "A rule.", text="text") for n in range(1_100)]
    assert len(summary(many, "title", "headline").encode()) == LARGEST


@pytest.mark.parametrize("output", [pytest.param(each, id=each.name) for each in outputs_of("check") if each.is_file])
def test_each_output_of_a_hostile_model_goes_to_a_file_or_to_standard_output(output: Output, tmp_path: Path) -> None:
    path = tmp_path / f"out{output.ending}"
    assert run("check", HOSTILE, output.option, path, "--quiet").code == 12
    outcome = run("check", HOSTILE, output.option, "-", "--quiet")
    assert outcome.code == 12
    assert outcome.err.startswith("VIOLATED")
    assert (len(outcome.out) > 0, outcome.out.count("\n")) == (True, path.read_text().count("\n"))
