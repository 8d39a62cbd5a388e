"""The report of a check, byte for byte: of a violation, of a check that holds, and of an unfinished search."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from isrcheck.checker.analysis.check import check
from isrcheck.checker.report.result_text import brief, report, verdict_line
from isrcheck.checker.results.exploration import Limits
from isrcheck.checker.results.result import Result
from isrcheck.checker.results.state_text import data_text
from isrcheck.checker.results.text_layout import Ink
from isrcheck.model.language import broker, enum, flag, messages, number, optional, per, record, sequence, set_of
from isrcheck.model.language.domains import resolved
from tests.cli.running import counter, mistaken
from tests.traces.recorded import shelf

COST = """
Cost
  time         search 1.50 s
  peak memory  1.0 MiB
  states       2.0 KiB, {bytes} bytes a state
  speed        {speed} states/s
"""


def reported(result: Result) -> str:
    """The report without its costs, which are set to fixed values before."""
    result.seconds, result.peak_rss_bytes, result.store_bytes = {"search": 1.5}, 2**20, 2048
    costs = COST.format(bytes=round(2048 / result.distinct), speed=round(result.distinct / 1.5))
    text = report(result)
    assert costs in text
    return text.replace(costs, "")


def counted(folder: Path, **options: object) -> Result:
    settings = options.pop("settings", {})
    return check(str(counter(folder)), settings, engine="reference", **options)  # type: ignore[arg-type]


def test_a_violation(tmp_path: Path) -> None:
    result = check(str(shelf(tmp_path)), {"high": 2}, engine="reference", limits=Limits())
    assert reported(result) == (Path(__file__).parent / "violated.txt").read_text()


def test_a_search_that_holds(tmp_path: Path) -> None:
    assert reported(counted(tmp_path, deadlock=True)) == (Path(__file__).parent / "holds.txt").read_text()


def test_a_search_that_does_not_finish(tmp_path: Path) -> None:
    result = counted(tmp_path, settings={"top": 9}, limits=Limits(states=5))
    result.partial = {"level": 7, "distinct": 1, "generated": 2}
    assert reported(result) == (Path(__file__).parent / "incomplete.txt").read_text()


def test_an_evaluation_error(tmp_path: Path) -> None:
    result = check(str(mistaken(tmp_path, '"""Acts."""\ns.x = s.x + 1')), engine="reference")
    assert reported(result) == (Path(__file__).parent / "evaluation.txt").read_text()


def test_vacuity_is_named_in_the_verdict_where_it_is_a_failure(tmp_path: Path) -> None:
    result = counted(tmp_path, settings={"wraps": False}, fail_on_vacuity=True)
    assert verdict_line(result) == (
        "HOLDS  counter: is-small; all of 4 states, depth 4; vacuous, never seen: action start-again, goal is-seven"
    )


def test_a_brief_report_says_what_was_never_seen(tmp_path: Path) -> None:
    """Without wrapping, the counter never starts again. Its top is below seven, but nine in the second run."""
    result = counted(tmp_path, settings={"wraps": False})
    holds = "HOLDS  counter: is-small; all of 4 states, depth 4\n"
    assert brief(result) == f"{holds}warning: never seen: action start-again, goal is-seven\n"
    everything = counted(tmp_path, settings={"top": 9}, invariants=["half"])
    assert brief(everything) == "HOLDS  counter: half; all of 10 states, depth 10\n"
    violated = counted(tmp_path, settings={"least": 0})
    assert brief(violated).count("\n") == 1


def leaving_out(folder: Path, **settings: object) -> Result:
    """Checks the counter with settings that leave something out: a top of seven, and never starting again."""
    model = counter(folder)
    text = model.read_text().replace('meaning="where it ends"', 'meaning="where it ends", leaves_out={7: "eight"}')
    again = 'meaning="whether it starts again"'
    model.write_text(text.replace(again, f'{again}, leaves_out={{False: "a second time"}}'))
    assert model.read_text().count("leaves_out=") == 2
    return check(str(model), settings, engine="reference")  # type: ignore[arg-type]


def test_what_a_setting_leaves_out_is_said_of_what_holds(tmp_path: Path) -> None:
    """All reports name what both settings leave out. The long report also says that the bound of the top was hit."""
    result = leaving_out(tmp_path, top=7, wraps=False)
    assert result.verdict == "holds"
    assert brief(result).splitlines()[-1] == "left out: eight, a second time"
    assert re.search(r"^  top +7 +leaves out eight; bound hit$", report(result), re.M)
    assert re.search(r"^  wraps +false +leaves out a second time$", report(result), re.M)
    assert result.to_json()["settings_that_leave_out"] == {"top": "eight", "wraps": "a second time"}


def test_a_value_that_leaves_nothing_out_is_not_spoken_of(tmp_path: Path) -> None:
    result = leaving_out(tmp_path, top=8, wraps=True)
    assert "left out" not in brief(result)
    assert "leaves out" not in report(result)
    assert result.to_json()["settings_that_leave_out"] == {}


def test_what_is_violated_does_not_hold_because_something_was_left_out(tmp_path: Path) -> None:
    assert "left out" not in brief(leaving_out(tmp_path, least=0, wraps=False))


@pytest.mark.parametrize("states", [1, 2, 3])
def test_nothing_is_called_holding_or_ok_before_the_search_is_done(tmp_path: Path, states: int) -> None:
    text = report(counted(tmp_path, limits=Limits(states=states), deadlock=True))
    assert re.search(r"\bhold|\bok\b", text, re.IGNORECASE) is None


def test_colour_adds_nothing_but_colour(tmp_path: Path) -> None:
    result = counted(tmp_path, settings={"least": 2})
    coloured = report(result, Ink(True))
    assert coloured.startswith("\x1b[31mVIOLATED\x1b[0m  counter")
    assert re.sub(r"\x1b\[\d+m", "", coloured) == report(result)


VALUES = [
    (flag, True, "true"),
    (number(-1, 3), -1, "-1"),
    (enum("a", "b"), "b", "b"),
    (optional(broker), None, "none"),
    (broker, 1, "1"),
    (set_of(broker), frozenset(), "{}"),
    (set_of(broker), frozenset({1, 0}), "{0, 1}"),
    (record(id=number(0, 3), epoch=number(0, 3)), (0, 1), "(id 0, epoch 1)"),
    (sequence(record(id=number(0, 3)), 2), ((2,), (3,)), "[0: (id 2), 1: (id 3)]"),
    (messages(record(to=broker)), frozenset({(1,), (0,)}), "{(to 0), (to 1)}"),
    (per(number(1, 2), flag), (True, False), "<1: true, 2: false>"),
]


@pytest.mark.parametrize("case", range(len(VALUES)))
def test_values_as_people_read_them(case: int) -> None:
    domain, value, text = VALUES[case]
    assert resolved(domain, {"broker": 2}).text(value) == text


def test_what_an_invariant_reads_is_rendered_by_its_domain() -> None:
    domain = resolved(per(broker, record(isr=set_of(broker), log=sequence(number(0, 3), 2))), {"broker": 2})
    variables = [("replica", domain)]
    assert data_text(variables, "replica[1].isr", [0, 1]) == "{0, 1}"
    assert data_text(variables, "replica[0].log", [3]) == "[0: 3]"
    assert data_text(variables, "elsewhere", [3]) == "[3]"


TABLE = '''\
from isrcheck.model.language import Model, action, enum, flag, for_all, invariant, number, per


class Table(Model):
    """A table with an index that does not count from zero."""

    invariants = ("is-low",)

    def variables(self):
        return {"table": per(enum("red", "green"), number(0, 3)), "lit": per(number(3, 5), flag)}

    @action(colour=enum("red", "green"), actor="someone")
    def up(self, s, colour):
        """One more, and a light."""
        s.require(s.table[colour] < 3)
        s.table[colour] += 1
        s.lit[4] = True

    @invariant
    def is_low(self, s):
        """What is lit is low."""
        return for_all(lambda colour: (s.table[colour] < 2) | ~s.lit[4], colour=["red", "green"])
'''


def test_indices_are_named_by_their_values(tmp_path: Path) -> None:
    (tmp_path / "table.py").write_text(TABLE)
    text = report(check(str(tmp_path / "table.py"), engine="reference"))
    assert "  for colour red, where\n     table[red]  2\n     lit[4]      true\n" in text
