"""Mermaid's sequence diagrams satisfy the part of its documented grammar that they use.

https://mermaid.js.org/syntax/sequenceDiagram.html: a line is a title, a participant, a message or a note. Text
continues to the end of the line. In text, `;` and `#` must be entity codes, and the word `end` must not be alone.
"""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from isrcheck.checker.report.mermaid import escaped
from tests.cli.running import counter, run

HOSTILE = Path(__file__).parent.parent / "ci" / "hostile.py"
TEXT = r"(?:[A-Za-z0-9 _.,()=+/\[\]-]|#\d+;|<br/>)*"
LINES = (
    rf"title {TEXT}",
    rf"participant P\d+ as {TEXT}",
    rf"P\d+->>P\d+: {TEXT}",
    rf"Note over P\d+: {TEXT}",
    rf"loop {TEXT}",
    "end",
)


def diagram(folder: Path, *arguments: str | Path) -> list[str]:
    out = folder / "out.mmd"
    assert run("check", *arguments, "--quiet", "--mermaid", out).code == 12
    first, *lines = out.read_text().splitlines()
    assert first == "sequenceDiagram"
    return [line.strip() for line in lines]


@pytest.mark.parametrize("model", ["kip-101", HOSTILE])
def test_every_line_is_one_of_the_grammar(tmp_path: Path, model: str | Path) -> None:
    settings = ["-s", "replicas=2"] if model == "kip-101" else []
    for line in diagram(tmp_path, model, *settings):
        assert any(re.fullmatch(form, line) for form in LINES), line
        assert not re.search(r"\bend\b", line.partition(":")[2], re.IGNORECASE), line


def test_each_step_is_a_message_and_what_it_changes(tmp_path: Path) -> None:
    lines = diagram(tmp_path, counter(tmp_path), "-s", "least=2")
    assert lines == [
        "title counter#58; is-small",
        "participant P0 as hand",
        "P0->>P0: 2. count()",
        "Note over P0: value #8594; 1",
        "P0->>P0: 3. count()",
        "Note over P0: value #8594; 2",
    ]


def test_a_message_goes_to_the_other_broker(tmp_path: Path) -> None:
    lines = diagram(tmp_path, "kip-101", "-s", "replicas=2")
    lifelines = dict(re.fullmatch(r"participant (P\d+) as (.*)", x).groups() for x in lines if "participant" in x)  # type: ignore[union-attr,misc]
    fetches = [x for x in lines if "follower-replicate(follower=1, leader=0)" in x]
    assert fetches
    for line in fetches:
        a, b = re.findall(r"P\d+", line)[:2]
        assert (lifelines[a], lifelines[b]) == ("broker 1", "broker 0")


def test_without_a_counterexample_nothing_is_written(tmp_path: Path) -> None:
    outcome = run("check", counter(tmp_path), "--quiet", "--mermaid", tmp_path / "out.mmd")
    assert outcome.code == 0
    assert outcome.err == f"isrcheck: no counterexample; {tmp_path / 'out.mmd'} was not written\n"
    assert not (tmp_path / "out.mmd").exists()


def test_words_and_signs_of_mermaid_are_entity_codes() -> None:
    assert escaped("x; end #1: {a}") == "x#59; #101;nd #35;1#58; #123;a#125;"
    assert escaped("END\nbackend") == "#69;ND backend"


LASSOS = '''\
"""A counter that goes round, or stops."""

from isrcheck import *


class Rounds(Model):
    """Counts up, then round for ever."""

    stops = setting(False, meaning="whether it stops at three")

    def variables(self):
        return {"x": number(0, 3)}

    @action(actor="hand")
    def up(self, s):
        """One more."""
        s.require(s.x < 3)
        s.x += 1

    @action(actor="hand")
    def back(self, s):
        """Back to two."""
        s.require(s.x == 3, not self.stops)
        s.x = 2

    @always_eventually
    def is_zero(self, s):
        """It is zero infinitely often."""
        return s.x == 0
'''


@pytest.mark.parametrize("stops", [False, True])
def test_a_lasso_has_a_loop(tmp_path: Path, stops: bool) -> None:
    model, out = tmp_path / "rounds.py", tmp_path / "out.mmd"
    model.write_text(LASSOS)
    asked = (model, "-s", f"stops={stops}".lower(), "--liveness", "is-zero", "--quiet", "--mermaid", out)
    assert run("check", *asked).code == 13
    to_three = [
        "title rounds#58; is-zero",
        "participant P0 as hand",
        "P0->>P0: 2. up()",
        "Note over P0: x #8594; 1",
        "P0->>P0: 3. up()",
        "Note over P0: x #8594; 2",
    ]
    round_ = ["P0->>P0: 4. up()", "Note over P0: x #8594; 3", "P0->>P0: 5. back()", "Note over P0: x #8594; 2"]
    last = [*round_[:2], "Note over P0: from here on nothing happens, for ever"] if stops else []
    lines = [line.strip() for line in out.read_text().splitlines()[1:]]
    assert lines == [*to_three, *(last or ["loop for ever", *round_, "end"])]
