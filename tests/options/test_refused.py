"""Incompatible options: each combination ends with its exit code and one clear line with the reason."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest

from isrcheck import check
from isrcheck.checker.engines.spark.cluster import Cluster
from isrcheck.checker.registry.capabilities import ENGINES as ALL
from isrcheck.checker.registry.capabilities import TABLE, as_lines
from isrcheck.checker.results.exploration import Checkpointing, Limits, StateStore
from isrcheck.model.language import UnknownName
from tests.cli.running import run
from tests.marks import EXHAUSTIVE, one_in

FIXED = ("v3", "--profile", "bare", "-s", "replicas=2", "-s", "max_records=1")
REFUSED: list[tuple[tuple[str, ...], int, str]] = [
    # The other engines have neither workers nor orbits, nor a store of their own, nor checkpoints.
    *(
        (
            ("--engine", engine, "--workers", "2"),
            2,
            f"--engine {engine} does not support workers; --workers requires --engine local",
        )
        for engine in ("reference", "spark", "symbolic")
    ),
    *(
        (
            ("--engine", engine, "--symmetry"),
            2,
            f"--engine {engine} does not support symmetry reduction; --symmetry requires --engine local",
        )
        for engine in ("reference", "spark", "symbolic")
    ),
    *(
        (
            ("--engine", engine, *words),
            2,
            f"--engine {engine} has only one kind of store; {words[0]} requires --engine local",
        )
        for engine in ("reference", "spark", "symbolic")
        for words in (("--store", "disk"), ("--store-folder", "a"))
    ),
    *(
        (
            ("--engine", engine, option, "a"),
            2,
            f"--engine {engine} does not support checkpoints; {option} requires --engine local or spark",
        )
        for engine in ("reference", "symbolic")
        for option in ("--checkpoint", "--resume")
    ),
    *(
        (
            ("--engine", engine, "--checkpoint-every", "3"),
            2,
            f"--engine {engine} does not support this kind of checkpoint; --checkpoint-every requires --engine local",
        )
        for engine in ("reference", "spark", "symbolic")
    ),
    (("--checkpoint-every", "3"), 2, "--checkpoint-every requires --checkpoint or --resume"),
    (
        ("--engine", "spark", "--checkpoint", "a", "--checkpoint-every", "3"),
        2,
        "--engine spark does not support this kind of checkpoint; --checkpoint-every requires --engine local",
    ),
    (
        ("--engine", "spark", "--max-memory", "1GiB"),
        2,
        "--engine spark gets its memory from Spark (--conf spark.executor.memory=8g); --max-memory "
        "requires --engine local, reference or symbolic",
    ),
    *(
        (
            ("--engine", "symbolic", *words),
            2,
            f"--engine symbolic does not enumerate states; {words[0]} requires --engine local, reference or spark",
        )
        for words in (("--max-states", "5"), ("--fail-on-vacuity",))
    ),
    *(
        (
            ("--engine", engine, "--depth", "3"),
            2,
            f"--engine {engine} always explores all levels; --depth requires --engine symbolic",
        )
        for engine in ("local", "reference", "spark")
    ),
    *(
        (("--engine", engine, *words), 2, f"--engine {engine} {lacking}; {words[0]} requires --engine spark")
        for engine in ("local", "reference", "symbolic")
        for words, lacking in (
            (("--master", "local[1]"), "does not run on a cluster"),
            (("--partitions", "2"), "does not run on a cluster"),
            (("--spark-threshold", "0"), "does not run on a cluster"),
            (("--conf", "a=b"), "does not run on a cluster"),
            (("--transitions",), "does not write a dataset"),
        )
    ),
    # Of the local engine's own.
    (("--store-folder", "a"), 2, "--store-folder requires --store disk"),
    (
        ("--checkpoint", "a", "--resume", "b"),
        2,
        "--checkpoint starts a new search and --resume continues one; remove one of them",
    ),
    (("--workers", "0"), 2, "Invalid value for '--workers': 0 is not in the range x>=1."),
    (("--max-states", "0"), 2, "Invalid value for '--max-states': 0 is not in the range x>=1."),
    (("--max-memory", "0"), 2, "'0' is not a size; write 512MB, 2GiB or 1e9"),
    (("--max-seconds", "0"), 2, "'0' is not a number of seconds above 0"),
    (("--store", "tape"), 2, "'tape' is not one of 'memory', 'disk'"),
    (("--json", "-", "--itf", "-"), 2, "--json and --itf"),
]


@pytest.mark.parametrize(("words", "code", "message"), REFUSED, ids=lambda x: " ".join(x) if type(x) is tuple else "")
def test_one_line_says_why(words: tuple[str, ...], code: int, message: str) -> None:
    outcome = run("check", "kip-101", "-s", "replicas=2", *words)
    *usage, line = outcome.err.splitlines()
    assert (outcome.code, outcome.out) == (code, "")
    assert line.startswith("Error: ")
    assert message in line
    assert all(word.startswith(("Usage: ", "Try ")) or not word for word in usage)


def test_a_scenario_says_itself_what_is_checked() -> None:
    for words in (("--continue",), ("--deadlock",), ("--invariant", "weak-isr")):
        outcome = run("check", "--scenario", "kip-101", *words)
        assert outcome.code == 2
        assert f"--scenario already determines what to check; remove {words[0]}" in outcome.err.splitlines()[-1]


def test_symmetry_where_all_brokers_are_told_apart() -> None:
    outcome = run("check", *FIXED, "--symmetry")
    assert (outcome.code, outcome.out, outcome.err.count("\n")) == (150, "", 1)
    assert "symmetry reduction is not possible: " in outcome.err
    assert outcome.err.endswith("; check without it\n")


SMALL = ("-s", "replicas=2", "-s", "log_size=1", "-s", "max_records=1")
WRITTEN = {
    "plain": (),
    "symmetry": ("--symmetry",),
    "continue": ("--continue",),
    "deadlock": ("--deadlock",),
}


@pytest.mark.parametrize("written", one_in(2, WRITTEN, EXHAUSTIVE))
def test_a_checkpoint_of_another_question_is_refused(written: str, tmp_path: Path) -> None:
    kept = str(tmp_path / "kept")
    # Every bounded model comes to an end: that is the deadlock.
    code = 11 if written == "deadlock" else 0
    assert run("check", "kip-320", *SMALL, *WRITTEN[written], "--checkpoint", kept).code == code
    for other, words in WRITTEN.items():
        outcome = run("check", "kip-320", *SMALL, *words, "--resume", kept)
        if other == written:
            assert outcome.code == code
        else:
            assert (outcome.code, outcome.out, outcome.err.count("\n")) == (150, "", 1)
            assert " was made for options " in outcome.err
            assert outcome.err.endswith("; use the same options, or start over\n")


def test_what_a_checkpoint_is_not_bound_to(tmp_path: Path) -> None:
    """A checkpoint can be resumed with another store, other limits, workers and outputs."""
    kept = str(tmp_path / "kept")
    assert run("check", "kip-320", *SMALL, "--max-states", "9", "--workers", "2", "--checkpoint", kept).code == 152
    for words in (("--store", "disk", "--max-states", "20"), ("--workers", "1", "--max-memory", "1GiB", "--quiet")):
        assert run("check", "kip-320", *SMALL, *words, "--resume", kept).code in (0, 152)
    assert run("check", "kip-320", *SMALL, "--store", "disk", "--resume", kept).code == 0


ENGINES = ("reference", "spark", "symbolic")
OF_LOCAL: dict[str, Any] = {
    "workers": 2,
    "symmetry": True,
    "checkpointing": Checkpointing("a"),
    "state_store": StateStore("disk"),
}
OF_SPARK: dict[str, Any] = {"cluster": Cluster(), "spark": object()}


@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize("name", OF_LOCAL)
def test_the_library_refuses_them_as_well(engine: str, name: str) -> None:
    with pytest.raises(UnknownName) as refused:
        check("kip-101", {"replicas": 2}, engine=engine, **{name: OF_LOCAL[name]})
    assert str(refused.value).startswith(f"engine {engine} ")
    assert re.search(rf"; {name} requires? engine local$", str(refused.value))


@pytest.mark.parametrize("engine", ["local", "reference", "symbolic"])
@pytest.mark.parametrize("name", OF_SPARK)
def test_the_library_refuses_a_cluster_that_nothing_runs_on(engine: str, name: str) -> None:
    with pytest.raises(UnknownName) as refused:
        check("kip-101", {"replicas": 2}, engine=engine, **{name: OF_SPARK[name]})
    assert str(refused.value) == f"engine {engine} does not run on a cluster; {name} requires engine spark"


def test_the_library_refuses_what_the_symbolic_engine_cannot_do() -> None:
    for words in ({"limits": Limits(states=3)}, {"fail_on_vacuity": True}):
        with pytest.raises(UnknownName, match="engine symbolic does not enumerate states"):
            check("kip-101", {"replicas": 2}, engine="symbolic", **words)


def test_the_library_refuses_a_limit_of_memory_that_spark_does_not_keep() -> None:
    with pytest.raises(UnknownName, match="engine spark gets its memory from Spark"):
        check("kip-101", {"replicas": 2}, engine="spark", limits=Limits(memory=1 << 30))


VALUES = {"--store": "disk", "--checkpoint-every": "3", "--max-memory": "1GiB", "--conf": "a=b"}
FLAGS = ("--symmetry", "--fail-on-vacuity", "--transitions")


@pytest.mark.parametrize("option", [option for ability in TABLE for option in ability.options])
def test_what_the_table_says_of_an_option_is_refused_and_told_in_the_help(option: str) -> None:
    (ability,) = [a for a in TABLE if option in a.options]
    words = (option,) if option in FLAGS else (option, VALUES.get(option, "2"))
    for engine in ALL:
        if engine not in ability.engines:
            outcome = run("check", "kip-101", "-s", "replicas=2", "--engine", engine, *words)
            assert outcome.code == 2
            assert f"--engine {engine} {ability.lacking}; {option} require" in outcome.err.splitlines()[-1]
    reported = " ".join(run("check", "--help").out.split())
    assert re.search(rf" {option} [^ ]* ?{', '.join(ability.engines).capitalize()}: ", reported)


def test_the_page_has_the_table() -> None:
    page = (Path(__file__).parents[2] / "docs/reference/engines.md").read_text()
    assert "\n".join(as_lines()) in page
