"""The texts of exported models: names and grouping; and a public parser can read them."""

from __future__ import annotations

import warnings
from pathlib import Path

import pytest
from click.testing import CliRunner

from isrcheck.checker.cli import main
from isrcheck.checker.export.identifiers import identifiers, spelled
from isrcheck.checker.export.murphi import murphi
from isrcheck.checker.export.promela import promela
from isrcheck.checker.export.tla import configuration, tla
from isrcheck.checker.registry.loader import load_model_class, model_names
from isrcheck.model.semantics import expressions as e
from isrcheck.model.semantics.tracing import trace
from isrcheck.model.semantics.transition_system import TransitionSystem

WRITERS = {"promela": promela, "murphi": murphi, "tla": tla}


def system_of(name: str) -> TransitionSystem:
    loaded = load_model_class(name)
    return trace(loaded.cls(), loaded.chosen(None))


@pytest.mark.parametrize("language", WRITERS)
def test_every_transition_is_written_once_under_its_action(language: str) -> None:
    system = system_of("kip-101")
    lines = WRITERS[language](system).splitlines()
    places = {str(t.label): [i for i, line in enumerate(lines) if str(t.label) in line] for t in system.transitions}
    assert all(len(found) == 1 for found in places.values())
    assert [found[0] for found in places.values()] == sorted(found[0] for found in places.values())


@pytest.mark.parametrize("language", WRITERS)
def test_the_same_model_has_the_same_text(language: str) -> None:
    assert WRITERS[language](system_of("v3")) == WRITERS[language](system_of("v3"))


def test_names_are_close_to_paths_and_none_is_used_twice() -> None:
    paths = ["log[0].length", "log[0] length", "in", "in_", "requests[(isr [0], version 1)]"]
    found = identifiers(paths, frozenset({"in"}))
    assert found == ["log_0_length", "log_0_length_2", "in_", "in_3", "requests_isr_0_version_1"]


def test_what_is_used_twice_has_a_name_and_small_things_have_none() -> None:
    x = e.leaf(e.Leaf(0, "x", "number", 0, 9))
    y = e.leaf(e.Leaf(1, "y", "number", 0, 9))
    large = e.le(e.add(x, y), e.constant("number", 7))
    texts = spelled(
        [e.or_(large, e.eq(x, e.constant("number", 3))), e.not_(large)],
        lambda node, a: e.render(node) if not a else f"{node.operator}({', '.join(a)})",
        lambda _, name: name,
    )
    assert [(name, text) for name, _, text in texts.named] == [("t1", "le(add(x, y), 7)")]
    assert texts.roots == ("or(t1, eq(x, 3))", "not(t1)")


@pytest.mark.parametrize(
    "name", [pytest.param(n, marks=pytest.mark.exhaustive if n == "kraft" else ()) for n in model_names()]
)
def test_a_public_parser_reads_the_tla_of_every_model(name: str) -> None:
    tree_sitter = pytest.importorskip("tree_sitter")
    grammar = pytest.importorskip("tree_sitter_tlaplus")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)  # how the grammar hands itself over
        language = tree_sitter.Language(grammar.language())
    parser = tree_sitter.Parser(language)
    text = tla(system_of(name))
    assert not parser.parse(text.encode()).root_node.has_error
    assert parser.parse(text.replace("Spec ==", "Spec = =").encode()).root_node.has_error


def test_the_configuration_names_what_the_module_defines() -> None:
    system = system_of("kip-320")
    text = tla(system)
    named = [line.split()[1] for line in configuration(system).splitlines() if line.startswith("INVARIANT")]
    assert named == ["Invariant_leader_in_isr_or_none", "Invariant_strong_isr", "Invariant_weak_isr"]
    assert all(f"\n{name} ==\n" in text for name in named)


def test_the_command_writes_module_and_configuration(tmp_path: Path) -> None:
    target = tmp_path / "kip_320.tla"
    done = CliRunner().invoke(main, ["export", "kip-320", "--to", "tla", "--output", str(target)])
    assert done.exit_code == 0
    assert target.read_text().startswith("---- MODULE kip_320 ----")
    assert (tmp_path / "kip_320.cfg").read_text().startswith("SPECIFICATION Spec")


def test_a_module_must_lie_in_a_file_of_its_name(tmp_path: Path) -> None:
    done = CliRunner().invoke(main, ["export", "kip-320", "--to", "tla", "--output", str(tmp_path / "x.tla")])
    assert done.exit_code == 2
    assert "--output kip_320.tla" in done.output
