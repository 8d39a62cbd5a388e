"""Heat maps of sweeps, and plots with more names than colours."""

from __future__ import annotations

import io
import json
from pathlib import Path
from xml.etree import ElementTree

import pytest

from isrcheck.checker.results.drawing import COLOURS, Drawing, Panel, Rect, Text, plotted, png, svg
from tests.cli.running import run

SVG = "{http://www.w3.org/2000/svg}"
SWEEP = """
[[matrix]]
models = ["kip-101"]
settings = {replicas = 2, log_size = [1, 2], max_records = 2, max_leader_epoch = [1, 2]}
invariants = ["weak-isr"]
[[matrix]]
models = ["kip-320"]
settings = {log_size = 1, max_leader_epoch = 1}
max_states = 10
"""


def test_verdict_and_length_over_two_settings(tmp_path: Path) -> None:
    (tmp_path / "sweep.toml").write_text(SWEEP)
    words = ("--axes", "max_leader_epoch,log_size", "--json", tmp_path / "json", "--plot", tmp_path / "map.svg")
    assert run("sweep", tmp_path / "sweep.toml", *words).code == 12
    cells = json.loads((tmp_path / "json").read_text())["cells"]
    fields = [rect for rect in ElementTree.parse(tmp_path / "map.svg").iter(f"{SVG}rect") if len(rect)]
    reported = {rect[0].text for rect in fields}
    assert len(reported) == 5
    for cell in cells[:4]:
        settings, found = (
            cell["settings"],
            f"{cell['verdict']}: {cell['lengths'].get('weak-isr')}".removesuffix(": None"),
        )
        at = f"max_leader_epoch={settings['max_leader_epoch']}, log_size={settings['log_size']}"
        assert f"{at}: {found}, {cell['distinct']:,} states" in reported
    # Violated is what broken bounds make of kip-101; each verdict has a colour of its own, and place follows setting.
    assert {cell["verdict"] for cell in cells} == {"holds", "violated", "incomplete"}
    colours = {(str(rect[0].text).split(": ")[1].split(",")[0], rect.attrib["fill"]) for rect in fields}
    assert len({colour for _, colour in colours}) == 3
    at = {str(rect[0].text).split(": ")[0]: (float(rect.attrib["x"]), float(rect.attrib["y"])) for rect in fields[:4]}
    assert at["max_leader_epoch=1, log_size=1"][0] < at["max_leader_epoch=2, log_size=1"][0]
    assert at["max_leader_epoch=1, log_size=1"][1] < at["max_leader_epoch=1, log_size=2"][1]


@pytest.mark.parametrize(
    ("axes", "message"),
    [
        ("log_size", "a heat map has two axes; choose two settings with --axes"),
        ("log_size,lag", "no check of the sweep sets 'lag'; "),
        ("log_size,replicas,max_records", "a heat map has two axes"),
    ],
)
def test_axes_that_are_none(tmp_path: Path, axes: str, message: str) -> None:
    (tmp_path / "sweep.toml").write_text(SWEEP)
    said = run("sweep", tmp_path / "sweep.toml", "--plot", tmp_path / "map.svg", "--axes", axes)
    assert (said.code, message in said.err) == (150, True)
    assert run("sweep", tmp_path / "sweep.toml", "--axes", "log_size,replicas").code == 2


def test_fifty_actions_can_be_told_apart() -> None:
    """Each action has a row with its name beside it, and no colour is used twice."""
    names = [f"an-action-with-a-long-name-{number}" for number in range(50)]
    values = {name: [0, number, 2 * number + 1, 1000] for number, name in enumerate(names)}
    drawing = plotted([Panel("instances", ["1", "2", "3", "4"], values)])
    root = ElementTree.fromstring(svg(drawing))
    rows = {text.text: float(text.attrib["y"]) for text in root.iter(f"{SVG}text") if text.text in names}
    assert len(set(rows.values())) == len(rows) == 50
    assert min(b - a for a, b in zip(sorted(rows.values()), sorted(rows.values())[1:], strict=False)) >= 10
    cells = {str(rect[0].text): rect for rect in root.iter(f"{SVG}rect") if len(rect)}
    for name, counts in values.items():
        for label, count in zip("1234", counts, strict=True):
            hint = f"{name}, {label}: {count:,}"
            assert (hint in cells) == (count > 0)
            if count:
                assert 0 < rows[name] - float(cells[hint].attrib["y"]) < 14
    # The more, the darker.
    dark = [
        int(cells[f"{names[40]}, {label}: {count:,}"].attrib["fill"][1:3], 16)
        for label, count in zip("234", (40, 81, 1000), strict=True)
    ]
    assert dark == sorted(dark, reverse=True)
    assert len(set(dark)) == 3


@pytest.mark.parametrize("count", [1, 8])
def test_no_colour_stands_for_two_names(count: int) -> None:
    drawing = plotted([Panel("few", ["1"], {f"name-{number}": [number + 1] for number in range(count)})])
    bars = [shape for shape in drawing.shapes if isinstance(shape, Rect) and shape.hint]
    assert len({bar.colour for bar in bars}) == len(bars) == count
    assert {shape.words for shape in drawing.shapes if isinstance(shape, Text)} >= {f"name-{n}" for n in range(count)}


def test_a_png_shows_what_the_svg_shows() -> None:
    image = pytest.importorskip("PIL.Image")
    drawing = Drawing("x", 60, 40, (Rect(10, 5, 20, 10, COLOURS[0]), Text(45, 30, "words", "middle", 10)))
    found = image.open(io.BytesIO(png(drawing)))
    assert (found.format, found.size) == ("PNG", (120, 80))
    blue = tuple(int(COLOURS[0][i : i + 2], 16) for i in (1, 3, 5))
    assert {found.getpixel(at) for at in ((20, 10), (59, 29), (40, 20))} == {blue}
    assert {found.getpixel(at) for at in ((19, 10), (60, 29), (40, 9), (40, 30), (0, 0))} == {(255, 255, 255)}
    assert min(found.getpixel((x, y))[0] for x in range(70, 110) for y in range(44, 60)) < 100


def test_png_without_pillow_is_one_line(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from isrcheck.checker.results import drawing

    monkeypatch.setattr(drawing, "find_spec", lambda name: None)
    said = run("sweep", tmp_path / "sweep.toml", "--plot", tmp_path / "map.png")
    assert (said.code, said.err.count("\n")) == (153, 1)
    assert "PNG plots need Pillow, which is not installed; pip install 'isrcheck[png]'" in said.err


def test_a_plot_is_written_as_its_ending_says(tmp_path: Path) -> None:
    image = pytest.importorskip("PIL.Image")
    (tmp_path / "sweep.toml").write_text(SWEEP)
    words = ("--plot", tmp_path / "map.PNG", "--axes", "log_size,max_leader_epoch")
    assert run("sweep", tmp_path / "sweep.toml", *words).code == 12
    assert image.open(io.BytesIO((tmp_path / "map.PNG").read_bytes())).format == "PNG"
