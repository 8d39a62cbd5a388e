"""`explore --terminal`: each line of the input is a step or a question, and its answer is text."""

from __future__ import annotations

from pathlib import Path

import pytest
from click.testing import CliRunner
from hypothesis import given
from hypothesis import strategies as st

from isrcheck.checker.analysis.replay import replay
from isrcheck.checker.cli import main
from isrcheck.checker.registry.loader import load_model_class
from isrcheck.checker.report.explorer.terminal import Terminal
from isrcheck.checker.report.explorer.walk import Walking
from isrcheck.checker.results.state_text import label_text
from tests.agreement.profiles import examples
from tests.cli.running import counter
from tests.scenarios.shipped import FOLDERS


def typed(*lines: str, model: str = "kip-101", of: tuple[str, ...] = ("-s", "replicas=2")) -> str:
    arguments = ["explore", model, *of, "--terminal"]
    result = CliRunner().invoke(main, arguments, input="\n".join(lines) + "\n", catch_exceptions=False)
    assert result.exit_code == 0, result.output
    return result.stdout


def test_a_walk_with_its_questions() -> None:
    said = typed("1", "= quorum.leader", "=quorum.isr", "w leader-write(replica=0)", "s", "p", "u", "q", "1")
    head, *walk = said.split("\n\n")
    assert head.startswith("kip-101: ")
    assert "       controller-elect-leader(leader=0)" in walk[1]
    assert "     quorum.leader        none -> 0" in walk[2]
    # The first replica is the leader of the quorum's state, and has not heard of it: so it does not write.
    rest = walk[3].splitlines()
    assert rest[rest.index("     0") + 1] == "     {0, 1}"
    assert "     leader-write(replica=0): it requires self.presumes_leadership(s, replica)" in walk[3]
    assert "         replica[0].leader  none" in rest
    assert "     quorum             (leader_epoch 0, leader 0, isr {0, 1})" in rest
    assert len(walk) == 6, "after q nothing is answered"


def test_a_recorded_trace_can_be_walked_to_its_violation() -> None:
    (recorded,) = replay(FOLDERS["kip-101"] / "trace.itf.json")[:1]
    loaded = load_model_class("kip-101")
    terminal = Terminal(Walking(loaded, loaded.cls(**recorded_settings())))
    lines = terminal.begin()
    for step in recorded.outcome.trace.steps[1:]:
        assert step.label is not None
        text = " " * 7 + label_text(step.label)
        below = [i for i, line in enumerate(lines) if line == text]
        number = next(line.split()[0] for line in reversed(lines[: below[0]]) if line.strip()[:1].isdigit())
        lines = terminal.answer(number) or []
    false = next(line for line in lines if "FALSE: " in line)
    assert "weak-isr" in false
    assert recorded.recorded.name is not None
    assert recorded.invariant_result is not None
    assert recorded.invariant_result.instance is not None
    evaluated = terminal.answer("i") or []
    at = evaluated.index(f"  FALSE       {recorded.recorded.name}")
    choice = ", ".join(f"{name} {value}" for name, value in recorded.invariant_result.instance.choice)
    assert evaluated[at + 1].strip() == f"for {choice}"


def recorded_settings() -> dict[str, object]:
    from isrcheck.checker.scenarios.collection import one

    return dict(one("kip-101").settings)


@pytest.mark.parametrize(
    ("line", "words"),
    [
        ("99", "there is no step 99; there are 4"),
        ("0", "there is no step 0; there are 4"),
        ("foo", "'foo' is neither a step nor a command; ? shows help"),
        ("-1", "'-1' is neither a step nor a command; ? shows help"),
        ("r 7", "there is no initial state 7; the model has 1 initial state, counted from 0"),
        ("u", "this is the initial state"),
        ("w nothing", "no disabled action begins with 'nothing'; write the name of an action"),
        ("= quorum.leder", "'quorum.leder', column 1: quorum has no field 'leder'; did you mean leader?"),
        ("=", "write an expression, such as s.quorum.isr"),
    ],
)
def test_what_cannot_be_answered_is_said_and_moves_nobody(line: str, words: str) -> None:
    first, *rest = typed(line, "2", "p").split("controller-shrink-isr(replica=1)\n")[1:]
    assert first.startswith(words)
    reported = rest[-1].splitlines()
    assert reported[0] == "  1  The initial state."
    assert reported[1].startswith("  2  The controller makes broker 1 the leader")


KIP_101 = load_model_class("kip-101")


@given(
    lines=st.lists(
        st.text(max_size=12) | st.sampled_from(["1", "2", "3", "u", "r", "i", "s", "p", "?", "w b"]), max_size=6
    )
)
@examples(80)
def test_any_line_is_answered(lines: list[str]) -> None:
    terminal = Terminal(Walking(KIP_101, KIP_101.cls(replicas=2, log_size=1, max_records=1)))
    terminal.begin()
    for line in lines:
        said = terminal.answer(line)
        if said is None:
            assert line.split()[0] == "q"
            return
        assert said
        assert all(isinstance(x, str) for x in said)


def test_a_step_without_meaning_is_said_and_not_taken(tmp_path: Path) -> None:
    path = counter(tmp_path)
    path.write_text(path.read_text().replace('"value": number(0, 9)', '"value": number(0, 1)'))
    said = typed("1", "1", "= value", model=str(path), of=())
    assert said.rstrip().endswith("     1")
    assert "it is undefined here: counter.py:22: value: the value 2 is not a number from 0 to 1" in said


def test_a_page_and_a_terminal_at_once_are_refused() -> None:
    result = CliRunner().invoke(main, ["explore", "kip-101", "--terminal", "--port", "8080"])
    assert result.exit_code == 2
    assert "--terminal does not serve a page; remove --port and --no-browser" in result.output
