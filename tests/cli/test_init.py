"""The files that `isrcheck init` writes run unchanged."""

from __future__ import annotations

from pathlib import Path

import pytest

from isrcheck.checker.registry.loader import load_model_class, model_names
from tests.cli.running import run
from tests.marks import EXHAUSTIVE, one_in


def test_a_model_to_begin_with_holds(tmp_path: Path) -> None:
    file = tmp_path / "lamps.py"
    assert run("init", "model", file).code == 0
    # Each of three lamps is lit or not, and the count follows from that.
    assert run("check", file, "--quiet", "--deadlock").out == (
        "HOLDS  lamps: a-lamp-is-counted, no deadlock; all of 8 states, depth 4\n"
    )


@pytest.mark.parametrize("name", one_in(3, model_names(), EXHAUSTIVE))
def test_a_variant_of_each_model_has_its_actions_as_they_are(name: str, tmp_path: Path) -> None:
    file, actions = tmp_path / "my_variant.py", load_model_class(name).cls.actions()
    assert run("init", "variant-of", name, file, *(x for each in actions for x in ("--action", each))).code == 0
    text = file.read_text()
    assert "class MyVariant(" in text
    assert max(map(len, text.splitlines())) <= 120
    assert load_model_class(str(file)).cls.actions().keys() == actions.keys()


def test_a_variant_without_a_change_has_the_same_states(tmp_path: Path) -> None:
    file = tmp_path / "same.py"
    run("init", "variant-of", "kip-101", file, "--action", "leader-write", "--action", "controller-shrink-isr")
    small = ("-s", "replicas=2", "-s", "max_records=1", "-s", "max_leader_epoch=1", "--quiet")
    same, original = (run("check", model, *small).out.partition(": ")[2] for model in (file, "kip-101"))
    assert same == original.rstrip("\n") + "; your change never acts at these settings: nothing was asked about it\n"


def test_what_cannot_be_begun_is_said_in_a_line(tmp_path: Path) -> None:
    there = tmp_path / "there.py"
    there.write_text("")
    for words, code, message in (
        (("model", there), 153, "already exists"),
        (("model", tmp_path / "a-b.py"), 2, "is not a Python file name"),
        (("variant-of", "kip-32", tmp_path / "x.py"), 150, "did you mean kip-320"),
        (("variant-of", "kip-320", tmp_path / "x.py", "--action", "write"), 150, "has no action 'write'"),
        (("model", tmp_path / "no" / "such" / "x.py"), 153, "cannot write"),
    ):
        outcome = run("init", *words)
        assert outcome.code == code, words
        assert message in outcome.err
    assert there.read_text() == ""
