"""Verdicts as SARIF 2.1.0.

A violation is located at the last action of its trace, or at the invariant if the trace has no action. The code flow
of a violation has the actions of the whole trace.

Standard: https://docs.oasis-open.org/sarif/sarif/v2.1.0/
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Sequence
from importlib.metadata import PackageNotFoundError, version
from typing import Any, Final

from isrcheck.checker.report.test_cases import Case, Location
from isrcheck.checker.results.result import Exit

SCHEMA: Final = "https://docs.oasis-open.org/sarif/sarif/v2.1.0/errata01/os/schemas/sarif-schema-2.1.0.json"
ROOT: Final = "SRCROOT"
LEVELS: Final = {"failed": "error", "error": "warning", "skipped": "note", "passed": "none"}
FINISHED: Final = (
    Exit.HOLDS,
    Exit.DIFFERENCE,
    Exit.DEADLOCK,
    Exit.VIOLATED,
    Exit.NOT_LIVE,
    Exit.NONCONFORMING,
    Exit.UNEXPLAINED,
)
"""The exit codes of a run that gave its answer."""
KINDS: Final = {"failed": "fail", "error": "fail", "skipped": "notApplicable", "passed": "pass"}


def sarif(cases: Sequence[Case], exit_code: int, settings: dict[str, Any]) -> dict[str, Any]:
    """Test cases as one SARIF run. `settings` are part of the fingerprints, which identify an alert in later runs."""
    names = list(dict.fromkeys(case.name for case in cases))
    rules = [_rule(name, next(case for case in cases if case.name == name)) for name in names]
    return {
        "$schema": SCHEMA,
        "version": "2.1.0",
        "runs": [
            {
                "tool": {"driver": {"name": "isrcheck", "semanticVersion": _version(), "rules": rules}},
                "invocations": [{"executionSuccessful": exit_code in FINISHED, "exitCode": exit_code}],
                "originalUriBaseIds": {ROOT: {"description": {"text": "The root of the repository."}}},
                "columnKind": "unicodeCodePoints",
                "results": [_result(case, names.index(case.name), settings) for case in cases],
            }
        ],
    }


def _rule(name: str, case: Case) -> dict[str, Any]:
    sentence = case.rule or name
    return {"id": name, "shortDescription": {"text": sentence}, "fullDescription": {"text": sentence}}


def _result(case: Case, rule: int, settings: dict[str, Any]) -> dict[str, Any]:
    found: dict[str, Any] = {
        "ruleId": case.name,
        "ruleIndex": rule,
        "kind": KINDS[case.outcome],
        "level": LEVELS[case.outcome] if KINDS[case.outcome] == "fail" else "none",
        "message": {"text": case.message},
        "partialFingerprints": {"isrcheck/v1": _fingerprint(case, settings)},
    }
    if case.location is not None:
        found["locations"] = [_location(case.location)]
    if case.about is not None and case.about != case.location:
        found["relatedLocations"] = [{"id": 0, **_location(case.about)}]
    if case.path:
        steps = [{"location": _location(place), "executionOrder": i} for i, place in enumerate(case.path, 1)]
        found["codeFlows"] = [{"message": {"text": case.rule or case.name}, "threadFlows": [{"locations": steps}]}]
    return found


def _location(place: Location) -> dict[str, Any]:
    found: dict[str, Any] = {
        "physicalLocation": {
            "artifactLocation": {"uri": _uri(place.file), "uriBaseId": ROOT},
            "region": {"startLine": place.line, "endLine": place.end_line},
        }
    }
    return {**found, "message": {"text": place.message}} if place.message else found


def _uri(path: str) -> str:
    from urllib.parse import quote

    return quote(path)


def _fingerprint(case: Case, settings: dict[str, Any]) -> str:
    """A text that depends only on the suite, the case's name and the settings, and not on the verdict."""
    words = json.dumps([case.suite, case.name, settings], sort_keys=True)
    return hashlib.sha256(words.encode()).hexdigest()[:32]


def _version() -> str:
    try:
        return version("isrcheck")
    except PackageNotFoundError:
        return "0.0.0"
