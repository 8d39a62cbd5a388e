"""Words that are not isrcheck's give no orders to a terminal or to a CI service, whatever command prints them."""

from __future__ import annotations

import ast
import io
import json
import re
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from isrcheck.checker.cli.console import harmless
from isrcheck.checker.cli.progress import Watcher
from isrcheck.checker.results.text_layout import Ink, printable
from tests.cli.running import COUNTER, Outcome, run

ROOT = Path(__file__).parents[2]
ESCAPES = "\x1b]0;title\x07\x1b[2J\x1b[8m\x9b1A\x1b]8;;http://x\x1b\\\r"
TURNED = "\u202ereversed\u2066\u200f\u2028\x85"
COMMANDS = "\n::error::forged\n  ::add-mask::x\n\u3000::stop-commands::x\n##[error]forged ##vso[task.complete]"
HOSTILE = ESCAPES + TURNED + COMMANDS
LINE = HOSTILE.replace("\n", " ").replace("\r", "").replace("\u2028", "").replace("\x85", "")
ORDERS = re.compile(r"^\s*::|##[a-zA-Z]*\[", re.M)


def require_harmless(text: str) -> None:
    for line in text.split("\n"):
        assert all(each.isprintable() or each == "\t" for each in line), line
    assert not ORDERS.search(text), text


def require_said(outcome: Outcome, *words: str) -> None:
    """The outcome is harmless, and yet has the hostile words."""
    require_harmless(outcome.out)
    require_harmless(outcome.err)
    for word in words:
        assert word in outcome.out + outcome.err


@given(st.text(st.sampled_from(HOSTILE + "::##[]ab \t\n0m1"), max_size=40))
def test_every_text_is_harmless_on_its_way(text: str) -> None:
    require_harmless(harmless(text))
    require_harmless(re.sub("\x1b\\[(0|1|31|32|33)m", "", harmless(text, colour=True)))
    assert "\n" not in printable(text)
    assert harmless(harmless(text)) == harmless(text)


def test_only_our_own_colours_are_kept() -> None:
    ink = Ink(colour=True)
    assert harmless(ink("bad", "VIOLATED") + "\x1b[8mhidden", colour=True) == ("\x1b[31mVIOLATED\x1b[0m\\x1b[8mhidden")
    assert harmless(ink("bad", "VIOLATED")) == "\\x1b[31mVIOLATED\\x1b[0m"


def test_ordinary_text_stays_as_it_is() -> None:
    text = "Broker 0 → {1, 2}: é, 日本, ✓\n\tlog[0][1:2]  a::b  # [x]\n"
    assert harmless(text) == text


def test_nothing_else_prints() -> None:
    """So that a new command cannot forget it."""
    found = []
    for path in sorted((ROOT / "checker").rglob("*.py")):
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.Call):
                name = ast.unparse(node.func)
                if name in ("click.echo", "click.secho", "print", "sys.stdout.write", "sys.stderr.write", "os.write"):
                    found.append((path.relative_to(ROOT).as_posix(), name))
    assert sorted(set(found)) == [
        ("checker/analysis/sweep/cells.py", "print"),  # to another process of isrcheck
        ("checker/cli/console.py", "click.echo"),
        ("checker/cli/progress.py", "print"),  # tested below
    ]


def test_the_progress_is_harmless() -> None:
    stream = io.StringIO()
    with Watcher(stream, interval=0.01) as watcher:
        watcher.stage(HOSTILE)
        while not stream.getvalue().endswith("\n"):
            pass
    require_harmless(stream.getvalue().split("\n")[-2])


# --- commands -------------------------------------------------------------------------------------------------------


def recording(tmp_path: Path) -> Path:
    path = tmp_path / "recording.ndjson"
    rows = [
        {"recording": 1, "lanes": [HOSTILE, "other"], "hidden": []},
        {"lane": HOSTILE, "order": 1, "event": "start-again", "text": HOSTILE},
        {"lane": "other", "order": 1, "event": "start-again", "text": COMMANDS},
    ]
    path.write_text("\n".join(map(json.dumps, rows)) + "\n")
    return path


def own_model(tmp_path: Path) -> Path:
    path = tmp_path / "counter.py"
    path.write_text(COUNTER.replace('"""One more."""', f'"""One more{ascii(HOSTILE)[1:-1]}."""'))
    return path


def scenario(tmp_path: Path) -> Path:
    folder = tmp_path / "scenarios" / "small"
    folder.mkdir(parents=True)
    own_model(folder)
    text = {"title": LINE, "model": "counter.py", "expect": "violated", "source": [LINE], "story": HOSTILE}
    (folder / "scenario.toml").write_text("\n".join(f"{k} = {json.dumps(v)}" for k, v in text.items()))
    return folder


@pytest.mark.parametrize("plain", [[], ["--plain"], ["--quiet"]])
def test_a_recording(tmp_path: Path, plain: list[str]) -> None:
    done = run("conform", own_model(tmp_path), "--recording", recording(tmp_path), *plain)
    assert done.code == 15
    require_said(done, r"\x1b]0;title", r"\n::error::forged")


def test_a_scenario(tmp_path: Path) -> None:
    folder = scenario(tmp_path)
    require_said(run("scenarios", folder), r"\x1b]0;title")
    require_said(run("check", "--scenario", folder), r"\x1b]0;title")
    require_said(run("regress", tmp_path), "NOT AS EXPECTED")
    listed = run("scenarios", folder, "--json")
    require_harmless(listed.out)
    assert json.loads(listed.out)[0]["title"] == LINE


def test_a_report_with_the_sentences_of_a_model(tmp_path: Path) -> None:
    done = run("check", own_model(tmp_path), "-s", "least=2", "--json", tmp_path / "r.json")
    assert done.code == 12
    require_said(done, r"\x1b]0;title")
    require_said(run("replay", tmp_path / "r.json", "--model", own_model(tmp_path)), r"\x1b]0;title")
    to_stdout = run("check", own_model(tmp_path), "-s", "least=2", "--json", "-")
    require_harmless(to_stdout.out + to_stdout.err)
    assert json.loads(to_stdout.out)["exit_code"] == 12


def test_names_and_values_of_the_command_line(tmp_path: Path) -> None:
    model = own_model(tmp_path)
    for words in (
        ("check", HOSTILE),
        ("check", model, "-s", f"top={HOSTILE}"),
        ("check", model, "-s", f"{HOSTILE}=1"),
        ("check", model, "--invariant", HOSTILE),
        ("check", model, "--engine", HOSTILE),
        ("check", model, "--workers", HOSTILE),
        ("check", model, "--json", f"/nowhere/{HOSTILE}"),
        ("check", "--scenario", HOSTILE),
        ("replay", HOSTILE),
        ("models", HOSTILE),
        ("scenarios", HOSTILE),
        ("conform", "--recording", HOSTILE),
        ("analyze", HOSTILE),
        (HOSTILE,),
        ("check", f"--{LINE}"),
    ):
        done = run(*words)
        assert done.code in (2, 150, 153), words
        require_said(done)


def test_commands_for_github_are_only_ours(tmp_path: Path) -> None:
    done = run("check", own_model(tmp_path), "-s", "least=2", "--github", "--quiet")
    lines = [line for line in done.out.split("\n") if ORDERS.search(line)]
    assert len(lines) == 1
    assert lines[0].startswith("::error file=")
    require_harmless(done.out.replace(lines[0], ""))
