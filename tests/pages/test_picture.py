"""The picture of a trace is well-formed, escaped SVG, light and dark, and is the picture in the README."""

from __future__ import annotations

import shlex
from pathlib import Path
from xml.etree import ElementTree

import pytest

from isrcheck.checker.report.pages.spacetime_diagram import picture
from tests.cli.running import run
from tests.scenarios.shipped import FOLDERS

ROOT = Path(__file__).parents[2]
SVG = "{http://www.w3.org/2000/svg}"
COMMAND = "replay counterexamples/kafka-replication/kip-101/trace.itf.json --control kip-279 --svg"


def texts(svg: str) -> list[str]:
    return [each.text or "" for each in ElementTree.fromstring(svg).iter(f"{SVG}text")]


def test_the_picture_of_the_readme_is_made_by_the_tool(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(ROOT)
    path = tmp_path / "kip-101.svg"
    assert run(*shlex.split(COMMAND), path).code == 12
    assert path.read_bytes() == (ROOT / "docs/kip-101.svg").read_bytes()
    assert "docs/kip-101.svg" in (ROOT / "README.md").read_text()


def test_a_picture_has_every_step_its_lane_and_its_reason(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(ROOT)
    svg = run(*shlex.split(COMMAND), "-").out
    said = texts(svg)
    assert said[:3] == ["controller", "broker 0", "broker 1"]
    assert [word for word in said if word.isdigit()] == [str(k) for k in range(2, 13)]
    # As the reasons of this trace are divided by hand: 2, 5 | 6 to 9 | 3, 4, 10 to 12.
    assert "".join(word for word in said if word in ("a", "b", "c")) == "accabbbbccc"
    assert any(line.startswith("The fix acts at step 12 ") for line in said)
    assert said.count("lost") == 2
    assert "prefers-color-scheme: dark" in svg


def test_nothing_of_a_trace_becomes_markup() -> None:
    hostile = "</text><script>alert(1)</script>\x00"
    lane = {"name": hostile, "kind": hostile, "title": hostile}
    step = {"sentence": hostile, "lane": hostile, "partners": [hostile], "outside": True, "logs": {}}
    svg = picture({"title": hostile, "lanes": [lane], "steps": [step, step], "falsified": []})
    root = ElementTree.fromstring(svg)
    assert not list(root.iter(f"{SVG}script"))
    assert "\x00" not in svg


@pytest.mark.parametrize("name", ["v3-unclean-election", "v2-two-leaders-share-an-epoch", "majority-forgets-its-vote"])
def test_nothing_is_drawn_beyond_the_edge(name: str) -> None:
    root = ElementTree.fromstring(run("replay", FOLDERS[name] / "trace.itf.json", "--svg", "-").out)
    width, height = float(root.get("width", 0)), float(root.get("height", 0))
    for each in root.iter():
        for key in ("x", "x1", "x2", "cx"):
            assert 0 <= float(each.get(key, 0)) <= width
        for key in ("y", "y1", "y2", "cy"):
            assert 0 <= float(each.get(key, 0)) <= height


def test_a_picture_and_a_page_are_two_files(tmp_path: Path) -> None:
    trace = FOLDERS["kip-101"] / "trace.itf.json"
    assert run("replay", trace, "--svg", tmp_path / "a.svg", "--html", tmp_path / "a.svg").code == 2
    assert run("replay", trace, "--svg", tmp_path / "a.png").code == 2
