"""The results do not depend on the place where the states are stored."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest
from click.testing import CliRunner
from hypothesis import given

from isrcheck import check
from isrcheck.checker.cli import main
from isrcheck.checker.engines.explicit.levels import NativeLevels
from isrcheck.checker.results.exploration import Exploration, Limits, StateStore
from isrcheck.model.semantics.transition_system import TransitionSystem
from tests.agreement.engines import traced
from tests.agreement.profiles import examples
from tests.agreement.random_models import load, models
from tests.kernel.large import search
from tests.kernel.toys import grid, ring


def found_by(toy: TransitionSystem, state_store: StateStore, workers: int = 1) -> tuple[Exploration, NativeLevels]:
    return search(
        toy, keep_going=True, deadlock=True, limits=Limits(), report=None, workers=workers, state_store=state_store
    )


def comparable(found: Exploration) -> Exploration:
    return replace(found, seconds={}, peak_store_bytes=0, workers=0, extra={})


def states(levels: NativeLevels) -> list[list[bytes]]:
    return [sorted(row.tobytes() for row in levels.level_states(k)) for k in range(1, levels.depth + 1)]


@pytest.mark.parametrize("workers", [1, 3])
@pytest.mark.parametrize("toy", [ring(5), grid([40, 40, 40]), grid([6] * 5)], ids=["ring", "deep", "wide"])
def test_levels_and_counts_are_the_same(toy: TransitionSystem, workers: int, tmp_path: Path) -> None:
    one, other = found_by(toy, StateStore()), found_by(toy, StateStore("disk", str(tmp_path)), workers)
    assert comparable(one[0]) == comparable(other[0])
    assert states(one[1]) == states(other[1])
    assert list(tmp_path.iterdir()) == []


@examples(15)
@given(models())
def test_random_models_have_the_same_levels(source: str) -> None:
    _, system = traced(load(source))
    found = [
        search(
            system, keep_going=True, deadlock=True, limits=Limits(states=150), report=None, state_store=StateStore(kind)
        )
        for kind in ("memory", "disk")
    ]
    assert comparable(found[0][0]) == comparable(found[1][0])
    assert states(found[0][1]) == states(found[1][1])


def test_the_json_says_where_the_states_were(tmp_path: Path) -> None:
    words = ["check", "kip-320", "-s", "replicas=2", "-s", "log_size=1", "--quiet"]
    shown = CliRunner().invoke(main, [*words, "--store", "disk", "--store-folder", str(tmp_path)])
    assert shown.exit_code == 0
    assert list(tmp_path.iterdir()) == []
    report = check("kip-320", {"replicas": 2, "log_size": 1}, state_store=StateStore("disk")).to_json()
    assert report["store"] == "disk"


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (("--store", "disk", "--engine", "reference"), "--store requires --engine local"),
        (("--store-folder", "a"), "--store-folder requires --store disk"),
        (("--store", "disk", "--store-folder", "a/b"), "folder a/b does not exist; create it, or choose another one"),
        (
            ("--store", "disk", "--store-folder", __file__),
            f"folder {__file__} does not exist; create it, or choose another one",
        ),
    ],
)
def test_options_that_do_not_go_together(words: tuple[str, ...], message: str) -> None:
    refused = CliRunner().invoke(main, ["check", "kip-320", *words])
    assert refused.exit_code == 2
    assert message in " ".join(refused.output.split())
