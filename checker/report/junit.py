"""JUnit XML in the form that Jenkins, GitLab and most test reporters read.

There is no standard for this format. This form follows the schema junit-10.xsd of Jenkins' xUnit plugin.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final
from xml.etree.ElementTree import Element, SubElement, indent, tostring

from isrcheck.checker.report.test_cases import Case
from isrcheck.checker.results.text_layout import clean

ELEMENTS: Final = {"failed": "failure", "error": "error", "skipped": "skipped"}


def junit(cases: Sequence[Case], properties: dict[str, str], name: str = "isrcheck") -> str:
    """JUnit XML with one test suite for each value of `suite` in the cases, such as a model's name or `scenarios`.

    `properties` are the settings of the check. They are written into each test suite.
    """
    root = Element("testsuites", {key: value for key, value in _counts(cases, name).items() if key != "skipped"})
    for suite in dict.fromkeys(case.suite for case in cases):
        mine = [case for case in cases if case.suite == suite]
        node = SubElement(root, "testsuite", _counts(mine, f"{name}.{suite}"))
        if properties:
            holder = SubElement(node, "properties")
            for key, value in properties.items():
                SubElement(holder, "property", {"name": clean(key), "value": clean(value)})
        for case in mine:
            _testcase(node, case, f"{name}.{suite}")
    indent(root, " ")
    return '<?xml version="1.0" encoding="UTF-8"?>\n' + tostring(root, encoding="unicode") + "\n"


def _counts(cases: Sequence[Case], name: str) -> dict[str, str]:
    outcomes = [case.outcome for case in cases]
    return {
        "name": clean(name),
        "tests": str(len(cases)),
        "failures": str(outcomes.count("failed")),
        "errors": str(outcomes.count("error")),
        "skipped": str(outcomes.count("skipped")),
        "time": _seconds(sum(case.seconds for case in cases)),
    }


def _testcase(suite: Element, case: Case, classname: str) -> None:
    node = SubElement(
        suite,
        "testcase",
        {"name": clean(case.name), "classname": clean(classname), "time": _seconds(case.seconds)},
    )
    if case.outcome in ELEMENTS:
        inner = SubElement(node, ELEMENTS[case.outcome], {"message": clean(case.message)})
        if case.outcome != "skipped":
            inner.set("type", "violation" if case.outcome == "failed" else "incomplete")
            place = f"{case.location.file}:{case.location.line}\n" if case.location is not None else ""
            inner.text = clean(f"{place}{case.text or case.message}")
    elif case.remark:
        SubElement(node, "system-out").text = clean(case.remark)


def _seconds(value: float) -> str:
    return f"{value:.3f}"
