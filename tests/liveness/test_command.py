"""`isrcheck check --liveness`: its files, and lassos that are replayed or refused."""

from __future__ import annotations

import json
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import pytest
from jsonschema import Draft202012Validator

import isrcheck.checker
from isrcheck.checker.analysis.check import check
from isrcheck.checker.analysis.liveness import liveness_verdicts, region
from isrcheck.checker.results.exploration import Limits
from isrcheck.model.language.fairness import Fairness
from isrcheck.testing import assert_holds
from tests.cli.running import run

SCHEMA = json.loads((Path(isrcheck.checker.__file__).parent / "schema.json").read_text())
LAMP = '''
"""A lamp in a room with a window."""

from isrcheck import *


class Lamp(Model):
    """A lamp."""

    most = setting(2, at_least=1, at_most=9, meaning="days", bound=lambda m, s: s.day == m.most)

    def variables(self):
        return {"lit": flag, "day": number(0, self.most), "open": flag}

    @action(actor="hand")
    def turn(self, s):
        """The lamp is turned on or off."""
        s.lit = ~s.lit

    def describe_turn(self, old, new):
        return "the hand turns the lamp"

    @action(actor="sun")
    def rise(self, s):
        """Another day begins while the lamp is lit."""
        s.require(s.lit, s.room(s.day < self.most))
        s.day += 1

    @action(actor="hand", fair="none")
    def shut(self, s):
        """The window is shut."""
        s.require(s.open)
        s.open = False

    @invariant
    def first_day(self, s):
        """It is the first day."""
        return s.day == 0

    @invariant
    def is_shut(self, s):
        """The window is shut."""
        return ~s.open

    invariants = ("is-shut",)


@leads_to
def gets_open(m, s):
    """The window is opened in the end."""
    return ~s.open, s.open


@leads_to
def shines(m, s):
    """The lamp shines in the end."""
    return for_each(lambda day: ((s.day == day) & ~s.lit, s.lit), day=[0, 1])


@eventually
def second_day(m, s):
    """The second day comes."""
    return s.day == 1


@stable
def stays_dark(m, s):
    """It stays dark."""
    return ~s.lit
'''


@pytest.fixture
def lamp(tmp_path: Path) -> Path:
    file = tmp_path / "lamp.py"
    file.write_text(LAMP)
    return file


def read(path: Path) -> dict[str, Any]:
    """The JSON of a file, which the schema must allow."""
    data = json.loads(path.read_text())
    Draft202012Validator(SCHEMA).validate(data)
    assert isinstance(data, dict)
    return data


def test_what_never_happens_exits_13_and_is_told(lamp: Path, tmp_path: Path) -> None:
    out = tmp_path / "lamp.json"
    outcome = run("check", lamp, "--liveness", "second-day", "--json", out)
    assert outcome.code == 13
    first, *rest = outcome.out.splitlines()
    assert first == "VIOLATED  lamp: second-day after 1 state in a cycle of 2 steps"
    assert "Liveness (weak fairness of healing actions unless the model declares otherwise)" in rest
    reported = rest[rest.index("Counterexample: second-day") :]
    assert "From here on, for ever:" in reported
    assert "  2  hand  The hand turns the lamp." in reported
    assert reported[-4:] == [
        "This is state 1 again, and so on.",
        "",
        "second-day is false of that: The second day comes.",
        "  rise() cannot happen in state 1",
    ]
    data = read(out)
    assert (data["verdict"], data["exit_code"], data["invariants"]["is-shut"]) == ("violated", 13, {"verdict": "holds"})
    assert data["fairness"] == {"default": "weak", "strong": [], "weak": [], "unfair": []}
    invariant_outcome = data["liveness"]["second-day"]
    assert (
        invariant_outcome["verdict"],
        invariant_outcome["kind"],
        invariant_outcome["asked"],
        invariant_outcome["fair_components"],
    ) == (
        "violated",
        "eventually",
        1,
        1,
    )
    lasso = invariant_outcome["lasso"]
    assert (lasso["loop"], len(lasso["prefix"]), [x["action"] for x in lasso["cycle"]]) == (0, 1, ["turn", "turn"])
    assert lasso["kept"] == [{"obligation": "rise()", "disabled_in": 1}]


def test_what_happens_names_the_promises_that_it_rests_on(lamp: Path, tmp_path: Path) -> None:
    outcome = run("check", lamp, "--liveness", "shines", "--liveness", "second-day", "--strong", "rise")
    assert outcome.code == 0
    assert outcome.out.startswith("HOLDS  lamp: is-shut, second-day, shines; all of 6 states, depth 5")
    lines = [" ".join(line.split()) for line in outcome.out.splitlines()]
    at = lines.index("second-day holds")
    assert lines[at + 1 : at + 3] == [
        "2 states in which it is pending; 0 fair ends, 0 fair components, 1 unfair",
        "because of the fairness of rise, turn",
    ]
    at = lines.index("shines holds")
    assert lines[at + 1].startswith("2 choices of parameters, 2 states in which it is pending")


def test_where_it_stays_is_told(lamp: Path) -> None:
    outcome = run("check", lamp, "--liveness", "shines", "--unfair", "turn")
    assert outcome.code == 13
    assert "shines for day 0 stuck after 1 state" in outcome.out.splitlines()[0]
    assert "From here on nothing happens, for ever." in outcome.out
    assert "no action with fairness can happen there" in outcome.out


def test_what_is_stable_is_broken_by_a_step(lamp: Path, tmp_path: Path) -> None:
    out = tmp_path / "lamp.json"
    outcome = run("check", lamp, "--liveness", "stays-dark", "--json", out)
    assert (outcome.code, outcome.out.splitlines()[0]) == (13, "VIOLATED  lamp: stays-dark in 2 states")
    assert read(out)["liveness"]["stays-dark"]["lasso"]["loop"] is None
    assert run("replay", out, "--model", lamp, "--quiet").code == 13


def test_of_a_search_that_stopped_only_a_lasso_is_said(lamp: Path, tmp_path: Path) -> None:
    out = tmp_path / "lamp.json"
    asked = ("check", lamp, "--invariant", "first-day", "--liveness", "second-day", "--json", out)
    outcome = run(*asked, "--liveness", "shines")
    assert outcome.code == 12
    assert "second-day after 1 state in a cycle of 2 steps (not canonical)" in outcome.out.splitlines()[0]
    assert "1 state in which it is pending, of those explored" not in outcome.out
    assert "2 states in which it is pending, of those explored" in outcome.out
    found = read(out)["liveness"]
    assert (found["second-day"]["verdict"], found["second-day"]["lasso"]["canonical"]) == ("violated", False)
    why = "liveness needs a complete exploration: an invariant is violated; --continue explores further"
    assert (found["shines"]["verdict"], found["shines"]["reason"]) == ("incomplete", why)
    assert run("replay", out, "--model", lamp, "--quiet").code in (12, 13)
    assert run(*asked, "--continue").code == 12
    assert read(out)["liveness"]["second-day"]["lasso"]["canonical"]
    one, two = (("check", lamp, "--liveness", "second-day", "--max-states", n, "--json", out) for n in ("1", "2"))
    assert run(*one).code == 152
    assert read(out)["liveness"]["second-day"]["verdict"] == "incomplete"
    assert run(*two).code == 13
    data = read(out)
    assert (data["verdict"], data["liveness"]["second-day"]["verdict"]) == ("violated", "violated")
    assert data["reason"] is not None


def test_an_evaluation_error_leaves_it_open(lamp: Path, tmp_path: Path) -> None:
    lamp.write_text(lamp.read_text().replace("s.room(s.day < self.most)", "s.day < 9"))
    out = tmp_path / "lamp.json"
    assert run("check", lamp, "--liveness", "second-day", "--json", out).code == 75
    assert read(out)["liveness"]["second-day"]["verdict"] == "incomplete"


def test_a_limit_or_an_interruption_leaves_it_open(lamp: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def asked(error: BaseException) -> tuple[str, str, int]:
        def take(self: region.Allowance, size: int) -> None:
            raise error

        monkeypatch.setattr(region.Allowance, "take", take)
        result = check(str(lamp), liveness=["second-day"], limits=Limits(memory=1 << 30))
        invariant_outcome = result.liveness["second-day"]
        assert (invariant_outcome.verdict, result.verdict) == ("incomplete", "incomplete")
        return invariant_outcome.verdict, invariant_outcome.why or "", result.exit_code

    needs = "it needs 12 more bytes than allowed (--max-memory)"
    assert asked(region.NotAllowed("memory", 12)) == ("incomplete", needs, 152)
    assert asked(region.NotAllowed("time")) == ("incomplete", "the time limit is reached (--max-seconds)", 152)
    assert asked(KeyboardInterrupt()) == ("incomplete", "interrupted", 130)


def test_the_memory_of_a_run_is_that_with_its_questions(lamp: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(liveness_verdicts, "peak_memory", lambda: 1 << 50)
    assert check(str(lamp), liveness=["second-day"]).to_json()["peak_rss_bytes"] == 1 << 50


@pytest.mark.parametrize("error", [region.NotAllowed("memory", 12), MemoryError(), KeyboardInterrupt()], ids=repr)
def test_wherever_it_ends_nothing_holds_and_what_was_found_stays(
    error: BaseException, lamp: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A check may end while it judges states, follows steps or finds components: wherever it takes memory."""
    asked: dict[str, Any] = {"invariants": ["is-shut"], "liveness": ["shines"]}
    whole, taken, refused = check(str(lamp), **asked), [0], [0]
    assert (whole.liveness["shines"].verdict, whole.exit_code) == ("holds", 0)
    take = region.Allowance.take

    def counted(self: region.Allowance, size: int) -> None:
        taken[0] += 1
        if taken == refused:
            raise error
        take(self, size)

    monkeypatch.setattr(region.Allowance, "take", counted)
    check(str(lamp), **asked)
    most = taken[0]
    assert most >= 2 * 3  # of two questions, as each is judged, followed and decomposed
    for place in range(1, most + 1):
        taken[0], refused[0] = 0, place
        result = check(str(lamp), **asked)
        assert (result.invariants["is-shut"].verdict, result.levels) == ("holds", whole.levels)
        assert (result.liveness["shines"].verdict, result.verdict) == ("incomplete", "incomplete")
        assert result.exit_code == (130 if isinstance(error, KeyboardInterrupt) else 152)


def test_an_allowance_is_of_bytes_and_of_time() -> None:
    region.Allowance().take(1 << 60)
    allowance = region.Allowance(memory=100)
    allowance.take(60)
    with pytest.raises(region.NotAllowed) as stop:
        allowance.take(60)
    assert (stop.value.reason, stop.value.missing) == ("memory", 20)
    allowance.begin()
    allowance.take(100)
    with pytest.raises(region.NotAllowed):
        region.Allowance(until=0.0).take(0)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["--unfair", "turn"], "--unfair requires --liveness"),
        (["--fairness", "strong"], "--fairness requires --liveness"),
        (["--liveness", "shines", "--engine", "spark"], "cannot check liveness"),
    ],
)
def test_a_line_that_does_not_parse(lamp: Path, options: list[str], message: str) -> None:
    outcome = run("check", lamp, *options)
    assert outcome.code == 2
    assert message in outcome.err


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["--liveness", "shine"], "has no property 'shine'; did you mean shines?"),
        (["--liveness", "shines", "--strong", "turns"], "has no action 'turns'; did you mean turn?"),
    ],
)
def test_what_cannot_be_asked_exits_150_with_a_line(lamp: Path, options: list[str], message: str) -> None:
    outcome = run("check", lamp, *options)
    assert (outcome.code, outcome.out) == (150, "")
    assert message in outcome.err
    assert outcome.err.count("\n") == 1


# --- walked again -------------------------------------------------------------------------------------------------


def recorded(lamp: Path, *options: str) -> tuple[Path, Path]:
    """The JSON result and the ITF file of a lasso."""
    out, itf = lamp.parent / "lamp.json", lamp.parent / "lamp.itf.json"
    run("check", lamp, "--json", out, "--itf", itf, *options)
    return out, itf


def test_a_lasso_is_written_as_itf_with_its_loop_and_walked_again(lamp: Path) -> None:
    out, itf = recorded(lamp, "--liveness", "second-day")
    data = json.loads(itf.read_text())
    assert (data["loop"], len(data["states"]), data["#meta"]["isrcheck"]["claim"]) == (0, 3, "liveness")
    for file in (out, itf):
        outcome = run("replay", file, "--model", lamp)
        assert outcome.code == 13
        assert outcome.out.startswith("VALID  second-day: 3 states, a fair behaviour that violates second-day\n")
        assert "From here on, for ever:" in outcome.out
        assert run("replay", file, "--model", lamp, "--expect-violation", "--quiet").code == 0
        assert "This is state 1 again, and so on." in run("replay", file, "--model", lamp).out


def changed(file: Path, change: Callable[[dict[str, Any]], None]) -> Path:
    data = json.loads(file.read_text())
    change(data)
    file.write_text(json.dumps(data))
    return file


def promises(data: dict[str, Any]) -> dict[str, Any]:
    found = data["fairness"]
    assert isinstance(found, dict)
    return found


def lasso(data: dict[str, Any]) -> dict[str, Any]:
    found = data["liveness"]["second-day"]["lasso"]
    assert isinstance(found, dict)
    return found


REFUSED: dict[str, tuple[Callable[[dict[str, Any]], Any], str]] = {
    "a step is left out": (lambda d: lasso(d)["cycle"].pop(0), "INVALID  second-day: state 2 of 2 cannot follow"),
    "its last step is another": (
        lambda d: lasso(d)["cycle"][-1].update(action="rise"),
        "INVALID  second-day: state 3 of 3 cannot follow",
    ),
    "it does not come back": (
        lambda d: lasso(d)["cycle"].pop(),
        "INVALID  second-day: state 2 does not equal state 1, where the loop begins",
    ),
    "it is not fair": (
        lambda d: promises(d).update(strong=["rise"]),
        "INVALID  second-day: it is not fair: rise() is enabled infinitely often, but never happens",
    ),
    "it stays where something must happen": (
        lambda d: lasso(d).update(cycle=[]),
        "INVALID  second-day: it is not fair: turn() is enabled continuously, but never happens",
    ),
    "no loop": (lambda d: lasso(d).update(loop=None), "INVALID  second-day: it does not say where it repeats"),
    "no such choice": (
        lambda d: d["liveness"]["second-day"].update(choice={"day": 3}),
        "INVALID  second-day: property second-day has no such choice of its parameters",
    ),
}


@pytest.mark.parametrize("name", REFUSED)
def test_what_is_no_lasso_of_the_model_is_refused(name: str, lamp: Path) -> None:
    change, message = REFUSED[name]
    outcome = run("replay", changed(recorded(lamp, "--liveness", "second-day")[0], change), "--model", lamp)
    assert outcome.code == 10
    assert message in outcome.out


def test_a_cycle_of_kip_320_that_a_fair_fetch_leaves_is_refused(tmp_path: Path) -> None:
    out = tmp_path / "out.json"
    sizes = ("--profile", "bare", "-s", "replicas=2", "--invariant", "weak-isr", "--quiet")
    asked = ("--liveness", "true-leader-commits-its-log", "--unfair", "fenced-follower-fetch", "--json", out)
    assert run("check", "kip-320", *sizes, *asked).code == 13
    data = json.loads(out.read_text())
    cycle = data["liveness"]["true-leader-commits-its-log"]["lasso"]["cycle"]
    assert [step["action"] for step in cycle] == ["fenced-leader-shrink-isr", "fenced-leader-expand-isr"]
    assert run("replay", out, "--quiet").code == 13
    outcome = run("replay", changed(out, lambda d: promises(d).update(unfair=[])), "--quiet")
    assert outcome.code == 10
    assert "it is not fair: fenced-follower-fetch(follower=1, leader=0) is enabled continuously" in outcome.out


def test_a_lasso_that_stops_at_the_wall_of_the_search_is_refused(lamp: Path) -> None:
    """Only the bound of the search stops the sun from rising again, so the lasso is no violation of the model."""
    text = lamp.read_text()
    lamp.write_text(text.replace("s.room(s.day < self.most)", "s.day < self.most").replace("s.lit, ", ""))
    out, _ = recorded(lamp, "--liveness", "gets-open", "--unfair", "turn")
    assert run("replay", out, "--model", lamp, "--quiet").code == 13
    lamp.write_text(text.replace("s.lit, ", ""))
    outcome = run("replay", out, "--model", lamp, "--quiet")
    assert (outcome.code, outcome.out) == (
        10,
        "INVALID  gets-open: it is not fair: rise() is enabled continuously, but never happens\n",
    )


def test_a_damaged_lasso_exits_150(lamp: Path) -> None:
    for change in (
        lambda d: lasso(d).update(loop=7),
        lambda d: d.update(fairness={"default": "some"}),
        lambda d: d["liveness"]["second-day"].pop("choice"),
        lambda d: lasso(d).pop("prefix"),
    ):
        outcome = run("replay", changed(recorded(lamp, "--liveness", "second-day")[0], change), "--model", lamp)
        assert (outcome.code, outcome.out, outcome.err.count("\n")) == (150, "", 1)


# --- pages and reports of CI ----------------------------------------------------------------------------------------


def test_a_page_marks_where_it_goes_on_for_ever(lamp: Path, tmp_path: Path) -> None:
    page = tmp_path / "lamp.html"
    run("check", lamp, "--liveness", "second-day", "--html", page)
    text = page.read_text()
    assert "From here on, for ever: The hand turns the lamp." in text
    assert "The hand turns the lamp. This is state 1 again, and so on." in text
    assert '<strong class="bad">second-day</strong> is false of that: The second day comes.' in text
    out, _ = recorded(lamp, "--liveness", "second-day")
    run("replay", out, "--model", lamp, "--html", page)
    assert "From here on, for ever: The hand turns the lamp." in page.read_text()


def test_a_report_of_ci_fails_with_the_property(lamp: Path, tmp_path: Path) -> None:
    junit, sarif = tmp_path / "lamp.xml", tmp_path / "lamp.sarif"
    run("check", lamp, "--liveness", "all", "--junit", junit, "--sarif", sarif)
    cases = {case.get("name"): case for case in ElementTree.parse(junit).getroot().iter("testcase")}
    failed = {name for name, case in cases.items() if case.find("failure") is not None}
    assert (failed, set(cases) - failed) == ({"gets-open", "second-day", "stays-dark"}, {"is-shut", "shines"})
    results = json.loads(sarif.read_text())["runs"][0]["results"]
    reported = {result["ruleId"]: result["message"]["text"] for result in results}
    assert "after 1 state in a cycle of 2 steps: The second day comes." in reported["second-day"]


def test_an_interruption_while_properties_are_asked_keeps_the_search(
    lamp: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder, out = tmp_path / "kept", tmp_path / "lamp.json"
    asked = ("check", lamp, "--liveness", "second-day", "--json", out)

    def take(self: region.Allowance, size: int) -> None:
        raise KeyboardInterrupt

    with monkeypatch.context() as patched:
        patched.setattr(region.Allowance, "take", take)
        assert run(*asked, "--checkpoint", folder).code == 130
    data = read(out)
    assert (data["invariants"]["is-shut"]["verdict"], data["verdict"], data["left"]) == ("holds", "incomplete", 0)
    assert data["liveness"]["second-day"]["reason"] == "interrupted"
    assert run(*asked, "--resume", folder).code == 13
    again = read(out)
    assert (again["levels"], again["liveness"]["second-day"]["verdict"]) == (data["levels"], "violated")


def test_a_checkpoint_is_of_the_properties_asked(lamp: Path, tmp_path: Path) -> None:
    folder = tmp_path / "kept"
    assert run("check", lamp, "--checkpoint", folder, "--quiet").code == 0
    outcome = run("check", lamp, "--liveness", "shines", "--resume", folder)
    assert outcome.code == 150
    assert "use the same options, or start over" in outcome.err


# --- TLA+ -----------------------------------------------------------------------------------------------------------


def test_tla_has_the_properties_and_what_is_promised(lamp: Path, tmp_path: Path) -> None:
    target = tmp_path / "lamp.tla"
    asked = ["--liveness", "shines", "--liveness", "second-day", "--liveness", "stays-dark", "--strong", "rise"]
    assert run("export", lamp, *asked, "--to", "tla", "--output", target).code == 0
    text, lines = target.read_text(), target.read_text().splitlines()
    at = lines.index("Fair ==")
    assert lines[at + 1 : at + 3] == ["  /\\ SF_vars(Action_rise_0)", "  /\\ WF_vars(Action_turn_0)"]
    assert "Spec == Init /\\ [][Next]_vars /\\ Fair" in lines
    assert "Live_second_day_0 == <>~Live_second_day_0_region" in lines
    assert "Live_shines_1 == Live_shines_1_source ~> ~Live_shines_1_region" in lines
    assert "\\* shines for day 0" in lines
    assert "Live_stays_dark_3 == [](Live_stays_dark_3_region => []Live_stays_dark_3_region)" in lines
    properties = [f"PROPERTY Live_{name}" for name in ("second_day_0", "shines_1", "shines_2", "stays_dark_3")]
    assert [x for x in (tmp_path / "lamp.cfg").read_text().splitlines() if "PROPERTY" in x] == properties
    tree_sitter = pytest.importorskip("tree_sitter")
    grammar = pytest.importorskip("tree_sitter_tlaplus")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)  # how the grammar hands itself over
        language = tree_sitter.Language(grammar.language())
    parser = tree_sitter.Parser(language)
    assert not parser.parse(text.encode()).root_node.has_error


def test_other_languages_have_no_such_fairness(lamp: Path) -> None:
    outcome = run("export", lamp, "--liveness", "shines", "--to", "promela")
    assert outcome.code == 2
    assert "--liveness requires --to tla" in outcome.err


def test_an_assertion_tells_the_lasso(lamp: Path) -> None:
    assert assert_holds(str(lamp), liveness=["shines"]).liveness["shines"].verdict == "holds"
    with pytest.raises(AssertionError, match="From here on, for ever:"):
        assert_holds(str(lamp), liveness=["second-day"])
    strong = Fairness(strong=frozenset({"rise"}))
    assert assert_holds(str(lamp), liveness=["second-day"], fairness=strong).exit_code == 0
