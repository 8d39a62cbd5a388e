"""Models with wrong declarations: each ends in one line that names the author's code and says what to write."""

from __future__ import annotations

from pathlib import Path

import pytest
from click.testing import CliRunner

from isrcheck.checker.cli import main

MODEL = """\
from isrcheck.model.language import *
BEFORE
class Mine(Model):
    '''Mine.'''
    BODY
    def variables(self):
        return {"n": number(0, 9), VARIABLES}
    def initial(self, s):
        s.n = 0
    ACTION
    def go(self, sPARAMETERS):
        '''It goes.'''
        s.require(s.n < 9)
        s.n += 1
    @invariant
    def ok(self, s):
        '''n is small.'''
        return s.n <= INVARIANT
AFTER
"""
FIXED = {
    "BEFORE": "", "BODY": "", "VARIABLES": "", "ACTION": '@action(actor="clock")', "PARAMETERS": "", "AFTER": "",
    "INVARIANT": "9",
}  # fmt: skip


def written(tmp_path: Path, changes: dict[str, str]) -> Path:
    text = MODEL
    for place, words in {**FIXED, **changes}.items():
        text = text.replace(place, words)
    path = tmp_path / "mine.py"
    path.write_text(text, encoding="utf-8")
    return path


def test_without_a_mistake_it_holds(tmp_path: Path) -> None:
    done = CliRunner().invoke(main, ["check", str(written(tmp_path, {})), "--quiet"])
    assert (done.exit_code, done.stdout) == (0, "HOLDS  mine: ok; all of 10 states, depth 10\n")


DOMAIN = "use a domain, such as number(0, 3)"
GIVE_IT = "use a domain, such as number(0, 3)"
PARTS = "the limit is 10,000; use smaller domains"
OWN_INIT = "defines __init__ (as a dataclass does); remove it, or accept **settings and call"
WHO = '@action without an actor; write @action(actor="controller"), or name a parameter'
TAKEN = "; choose another name"
FEW = "choices of its parameters; the limit is 10,000; use smaller domains"
MISTAKES: dict[str, tuple[dict[str, str], str]] = {
    "where-that-is-no-function": (
        {"ACTION": '@action(actor="clock", where=True)'},
        "10: the where of @action is True; write a function of (model) of your own",
    ),
    "where-that-takes-the-state": (
        {"ACTION": '@action(actor="clock", where=lambda m, s: True)'},
        "10: the where of @action takes (m, s); take (model)",
    ),
    "domain-of-a-type": ({"VARIABLES": '"x": bool'}, f"6: variable 'x' is <class 'bool'>; {GIVE_IT}"),
    "ends-of-a-number": ({"VARIABLES": '"x": number(0, 2.5)'}, "7: number(0, 2.5); write two integers"),
    "ends-that-are-flags": (
        {"VARIABLES": '"x": number(False, True)'}, "7: number(False, True); write two integers",
    ),
    "ends-too-far-apart": (
        {"VARIABLES": '"x": number(-1, 2**63 - 1)'},
        "7: number(-1, 9223372036854775807) has more values than fit in 63 bits; use a smaller range",
    ),
    "element-of-per": ({"VARIABLES": '"x": per(flag, 5)'}, f"7: 5 per something; {DOMAIN}"),
    "field-of-a-record": ({"VARIABLES": '"x": record(a=5)'}, f"7: 5 as field 'a' of a record; {DOMAIN}"),
    "element-of-a-sequence": ({"VARIABLES": '"x": sequence(5, 2)'}, f"7: 5 in a sequence; {DOMAIN}"),
    "capacity": ({"VARIABLES": '"x": sequence(flag, "a")'}, "7: a sequence of capacity 'a'; write an integer"),
    "element-of-messages": ({"VARIABLES": '"x": messages(5)'}, f"7: 5 in a set of messages; {DOMAIN}"),
    "members-of-an-enum": ({"VARIABLES": '"x": enum(1, 2)'}, "7: enum(1, 2); write names as strings"),
    "name-of-a-variable": ({"VARIABLES": "5: flag"}, "6: variable 5 is not a valid name; use a valid name"),
    "long-sequence": ({"VARIABLES": '"x": sequence(flag, 10**6)'}, f"6: variable 'x' has 1,000,001 parts; {PARTS}"),
    "large-index": (
        {"VARIABLES": '"x": per(number(1, 10**9), flag)'}, f"6: variable 'x' has 1,000,000,000 parts; {PARTS}",
    ),
    "setting-of-a-fraction": (
        {"BODY": 'x = setting(2.5, meaning="x")'}, "5: a setting of 2.5; use an integer, True, False or a string",
    ),
    "ends-of-a-text": (
        {"BODY": 'x = setting("a", at_least=1, meaning="x")'},
        "5: a setting of 'a' with bounds; use a number, or choices",
    ),
    "what-a-setting-counts": (
        {"BODY": 'x = setting(2, counts=5, meaning="x")'}, "5: a setting that counts 5; write counts=broker",
    ),
    "bound-that-is-none": (
        {"BODY": 'x = setting(2, bound=5, meaning="x")'},
        "5: the bound of a setting is 5; write a function of (model, s) of your own",
    ),
    "bound-of-too-little": (
        {"BODY": 'x = setting(2, bound=lambda m: True, meaning="x")'},
        "5: the bound of a setting takes (m); take (model, s)",
    ),
    "invariants": ({"BODY": "invariants = 5"}, "3: Mine.invariants is 5; write a tuple of names"),
    "names-of-invariants": ({"BODY": "invariants = (5,)"}, "3: Mine.invariants is (5,); write a tuple of names"),
    "profiles": ({"BODY": "profiles = 5"}, "3: Mine.profiles is 5; write a dict of profiles"),
    "environment": (
        {"ACTION": '@action(actor="clock", environment=1)'}, "10: environment=1; write True or False",
    ),
    "setting-constraints": (
        {"BODY": "setting_constraints = 5"},
        "3: Mine.setting_constraints is 5; write a tuple of conflict(...) and inert(...)",
    ),
    "name": ({"BODY": 'name = "mine"'}, f"3: Mine.name is 'mine', but every model already has a name{TAKEN}"),
    "brokers": ({"BODY": "brokers = 3"}, f"3: Mine.brokers is 3, but every model already has a brokers{TAKEN}"),
    "settings": ({"BODY": "settings = {}"}, f"3: Mine.settings is {{}}, but every model already has a settings{TAKEN}"),
    "lifeline": (
        {"BODY": "def lifeline(self, actor): return actor"},
        "5: lifeline takes (self, actor); take (self, actor, parameters)",
    ),
    "check-settings": ({"BODY": "def check_settings(self, s): pass"}, "5: check_settings takes (self, s); take (self)"),
    "own-init": ({"BODY": "def __init__(self, x): pass"}, f"3: Mine {OWN_INIT} super().__init__(**settings)"),
    "init-of-nothing": ({"BODY": "def __init__(self): pass"}, f"3: Mine {OWN_INIT} super().__init__(**settings)"),
    "dataclass": (
        {"BEFORE": "from dataclasses import dataclass\n@dataclass"}, f"4: Mine {OWN_INIT} super().__init__(**settings)",
    ),
    "action-of-nobody": ({"ACTION": "@action"}, f"10: {WHO}"),
    "action-in-brackets": ({"ACTION": "@action()"}, f"10: {WHO}"),
    "actor": ({"ACTION": "@action(actor=5)"}, f"10: {WHO}"),
    "parameter": (
        {"ACTION": '@action(actor="clock", b=5)', "PARAMETERS": ", b"}, f"10: parameter b of action go is 5; {DOMAIN}",
    ),
    "domain-of-nothing": (
        {"ACTION": '@action(actor="clock", b=lambda: flag)', "PARAMETERS": ", b"},
        "10: the domain of parameter b of action go takes (); take (model)",
    ),
    "no-domain": (
        {"ACTION": '@action(actor="clock", b=lambda m: 5)', "PARAMETERS": ", b"},
        "10: the domain of parameter b of go is 5; return a domain, such as number(0, 3)",
    ),
    "many-instances": (
        {"ACTION": '@action(actor="clock", b=number(1, 10**9))', "PARAMETERS": ", b"},
        f"10: go has 1,000,000,000 {FEW}",
    ),
    "very-many-instances": (
        {"ACTION": '@action(actor="clock", b=sequence(flag, 10**6))', "PARAMETERS": ", b"},
        f"10: go has too many to count {FEW}",
    ),
    "invariant-of-the-module": (
        {"AFTER": "@invariant\ndef two(s):\n    '''Two.'''\n    return True"},
        "19: invariant two takes (s); take (self, s)",
    ),
    "goal": ({"BODY": "@goal\n    def g(self):\n        '''G.'''"}, "5: goal g takes (self); take (self, s)"),
    "an-exception-of-any-kind": ({"BEFORE": "raise BaseException('x')"}, "2: BaseException: x; fix the model"),
}  # fmt: skip
"""The change of the model, and the message after the file's name."""


@pytest.mark.parametrize("name", MISTAKES)
def test_a_mistake_ends_in_one_line(tmp_path: Path, name: str) -> None:
    changes, line = MISTAKES[name]
    done = CliRunner().invoke(main, ["check", str(written(tmp_path, changes)), "--quiet"])
    assert (done.exit_code, done.stdout) == (150, "")
    assert done.stderr == f"isrcheck: mine.py:{line}\n"


def test_a_model_without_variables(tmp_path: Path) -> None:
    path = written(tmp_path, {})
    path.write_text(path.read_text().replace("variables", "variable"), encoding="utf-8")
    done = CliRunner().invoke(main, ["check", str(path), "--quiet"])
    assert done.exit_code == 150
    assert done.stderr == "isrcheck: mine.py:3: model Mine has no variables; define variables(self)\n"


@pytest.mark.parametrize(
    ("body", "said"),
    [
        ("return None", "returned None instead of a name"),
        ("raise KeyError(3)", "failed: KeyError: 3"),
        ("return 5", "returned 5 instead"),
    ],
)
def test_a_wrong_lane_costs_no_verdict(tmp_path: Path, body: str, said: str) -> None:
    lane = {"BODY": f"def lifeline(self, actor, parameters): {body}", "INVARIANT": "3"}
    done = CliRunner().invoke(main, ["check", str(written(tmp_path, lane))])
    assert done.exit_code == 12
    assert f"clock [lifeline {said}" in " ".join(done.stdout.split())
