"""Questions about datasets, compared with the answers from the reference engine's states."""

from __future__ import annotations

import json
import shutil
from collections import Counter
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import pyarrow.parquet as pq
import pytest

from isrcheck import check
from isrcheck.checker.datasets import dataset, dataset_summary
from isrcheck.checker.datasets.dataset import Dataset
from isrcheck.checker.datasets.header import ReloadedModel, reload_model
from isrcheck.checker.datasets.variables import shared_variables
from isrcheck.checker.engines import reference
from isrcheck.checker.engines.spark import dataset_queries
from isrcheck.checker.engines.spark.cluster import Cluster
from isrcheck.checker.engines.spark.session import Spark
from isrcheck.checker.results.drawing import Panel, plotted, svg
from isrcheck.checker.results.errors import DatasetRefused
from isrcheck.checker.results.exploration import Limits
from tests.cli.running import run
from tests.sweeps.dying import require_answers

pytestmark = [pytest.mark.needs("java"), pytest.mark.usefixtures("session"), pytest.mark.exhaustive]
SMALL = {"replicas": 2, "log_size": 1, "max_records": 1, "max_leader_epoch": 1}
LARGER = {"replicas": 2, "log_size": 2, "max_records": 1, "max_leader_epoch": 1}


@dataclass
class Explored:
    dataset: Dataset
    source_file: ReloadedModel
    levels: list[list[Any]]


@pytest.fixture(scope="module")
def spark(session: Any) -> Spark:
    return Spark(Cluster(session=session, threshold=0))


def explored(folder: Path, name: str, settings: dict[str, Any], **how: Any) -> Explored:
    """A dataset that the driver has made, and the states of the reference engine."""
    check(name, settings, engine="spark", cluster=Cluster(checkpoint=str(folder), **how))
    dataset = Dataset.open(str(folder))
    origin = reload_model(dataset, None)
    _, levels = reference.search(origin.interpreter, limits=Limits())
    return Explored(dataset, origin, levels.levels)


@pytest.fixture(scope="module")
def kip_101(tmp_path_factory: pytest.TempPathFactory) -> Explored:
    return explored(tmp_path_factory.mktemp("kip-101") / "x", "kip-101", LARGER, transitions=True)


@pytest.fixture(scope="module")
def kip_320(tmp_path_factory: pytest.TempPathFactory) -> Explored:
    return explored(tmp_path_factory.mktemp("kip-320") / "x", "kip-320", SMALL)


def test_values_of_variables_over_levels(spark: Spark, kip_101: Explored) -> None:
    leaves, unknown = dataset_summary.leaves_named(kip_101.dataset, ("replica[0].high_watermark", "log", "no"))
    assert unknown == ["no"]
    wanted = Counter(
        (level, leaf, kip_101.source_file.interpreter.leaves(state)[leaf])
        for level, states in enumerate(kip_101.levels, start=1)
        for state in states
        for leaf in leaves
    )
    assert len(leaves) > 5
    found = dataset_queries.distributions(spark, kip_101.dataset, leaves)
    assert {(level, leaf, value): n for level, leaf, value, n in found} == wanted


def test_out_degrees(spark: Spark, kip_101: Explored) -> None:
    wanted = Counter(
        (level, len(list(kip_101.source_file.interpreter.steps(state))))
        for level, states in enumerate(kip_101.levels, start=1)
        for state in states
    )
    found = dataset_queries.degrees(spark, kip_101.dataset, kip_101.source_file.kernel, False)
    assert {(level, degree): n for level, degree, n in found} == wanted


def test_bounds_and_goals_by_level(kip_101: Explored) -> None:
    data, it = dataset_summary.summary(kip_101.dataset), kip_101.source_file.interpreter
    assert data["explored_to_the_end"]
    assert data["bounds"].keys() == it.bounds.keys()
    assert data["goals"].keys() == it.goals.keys()
    for kind, predicates in (("bounds", it.bounds), ("goals", it.goals)):
        for name, found in data[kind].items():
            counts = [sum(name in it.true(state, predicates) for state in states) for states in kip_101.levels]
            assert found["states"] == counts
            assert found["first_level"] == next((i for i, n in enumerate(counts, start=1) if n), None)


def test_tables_say_what_the_reference_says(kip_101: Explored) -> None:
    folder = Path(kip_101.dataset.root)
    found, _ = reference.search(kip_101.source_file.interpreter)
    levels = pq.read_table(folder / "levels.parquet").to_pylist()
    assert [(row["level"], row["states"]) for row in levels] == list(enumerate(found.levels, start=1))
    assert [row["generated"] for row in levels] == list(map(sum, found.generated))
    actions = pq.read_table(folder / "actions.parquet").to_pylist()
    names = kip_101.source_file.interpreter.actions
    assert [(row["level"], row["action"], row["generated"]) for row in actions] == [
        (level, name, count)
        for level, counts in enumerate(found.generated, start=1)
        for name, count in zip(names, counts, strict=True)
    ]
    assert pq.read_table(folder / "violations.parquet").to_pylist() == []


def test_transitions_are_all_steps(kip_101: Explored) -> None:
    origin, it = kip_101.source_file, kip_101.source_file.interpreter
    numbers = {label: i for i, label in enumerate(it.labels)}
    wanted = {
        (it.leaves(state), instance, it.leaves(after))
        for states in kip_101.levels
        for state in states
        for instance, after in it.steps(state)
    }
    unpack, found = origin.kernel.layout.unpack, set[Any]()
    for part in Path(kip_101.dataset.root).glob("transitions/*/*.parquet"):
        for row in pq.read_table(part).to_pylist():
            ends = [tuple(unpack(_words(row[end]))[0].tolist()) for end in ("source", "target")]
            found.add((ends[0], numbers[origin.system.transitions[row["transition"]].label], ends[1]))
            assert row["counted"]
    assert found == wanted


def _words(data: bytes) -> Any:
    import numpy as np

    return np.frombuffer(data, dtype=np.uint64).reshape(1, -1)


# --- differences ----------------------------------------------------------------------------------------------------


@pytest.mark.release
def test_differences_of_two_models_with_other_bounds(spark: Spark, kip_101: Explored, kip_320: Explored) -> None:
    shared = shared_variables(kip_101.source_file.system, kip_320.source_file.system)
    assert "log" in shared.variables
    assert "next_leader_epoch" in shared.variables
    found = dataset_queries.difference(spark, kip_101.dataset, kip_320.dataset, shared)

    # States as plain values, a log of any length being a tuple: what they have in common needs no leaves here.
    def values(explored: Explored) -> list[set[Any]]:
        names = list(explored.source_file.interpreter.model.domains)
        picked = [names.index(name) for name in shared.variables]
        return [{tuple(state[i] for i in picked) for state in level} for level in explored.levels]

    known = set.union(*values(kip_320))
    wanted: dict[int, int] = {}
    for level, states in enumerate(values(kip_101), start=1):
        if new := len(states - known):
            wanted[level] = new
        known |= states
    assert shared.apart == ()
    assert found.levels == wanted
    assert found.first == min(wanted)
    first, other = kip_101.levels[min(wanted) - 1], set.union(*values(kip_320))
    names = list(kip_101.source_file.interpreter.model.domains)
    picked = [names.index(name) for name in shared.variables]
    lacking = [state for state in first if tuple(state[i] for i in picked) not in other]
    assert found.least == min(map(kip_101.source_file.interpreter.leaves, lacking))


def test_a_dataset_differs_from_itself_in_nothing(spark: Spark, kip_320: Explored) -> None:
    shared = shared_variables(kip_320.source_file.system, kip_320.source_file.system)
    assert dataset_queries.difference(spark, kip_320.dataset, kip_320.dataset, shared).levels == {}


def test_what_cannot_be_compared_stands_apart(tmp_path: Path, kip_320: Explored) -> None:
    other = explored(tmp_path / "x", "async-isr", {"replicas": 2, "max_offset": 1, "max_version": 1})
    shared = shared_variables(kip_320.source_file.system, other.source_file.system)
    assert shared.variables == ()
    assert "log" in shared.apart


# --- refusals and the command ---------------------------------------------------------------------------------------


def test_a_model_named_inside_a_dataset_is_never_loaded_from_a_file(tmp_path: Path) -> None:
    evil = tmp_path / "evil.py"
    evil.write_text(f"open({str(tmp_path / 'ran')!r}, 'w')\n")
    header = {"format": 2, "kernel": "0", "model": str(evil), "settings": {}, "invariants": {}}
    (tmp_path / "x").mkdir()
    (tmp_path / "x/dataset.json").write_text(json.dumps(header))
    with pytest.raises(DatasetRefused, match=r"is for a model that is not shipped .*use --model"):
        reload_model(Dataset.open(str(tmp_path / "x")), None)
    assert not (tmp_path / "ran").exists()


def test_plots_are_whole_svg() -> None:
    panels = [Panel("a < b", ["1", "2"], {"x & y": [3, 4], "z": [0, 1]}), Panel("nothing", [], {})]
    root = ElementTree.fromstring(svg(plotted(panels)))
    bars = [e for e in root.iter("{http://www.w3.org/2000/svg}rect") if len(e)]
    assert [bar[0].text for bar in bars] == ["x & y, 1: 3", "x & y, 2: 4", "z, 2: 1"]
    heights = [float(bar.attrib["height"]) for bar in bars]
    assert heights[1] / heights[0] == pytest.approx(4 / 3, abs=0.01)


def test_the_commands(tmp_path: Path, kip_101: Explored, kip_320: Explored) -> None:
    one, other = kip_101.dataset.root, kip_320.dataset.root
    said = run(
        "analyze", one, "--variable", "log[0].length", "--json", str(tmp_path / "a.json"), "--master", "local[1]"
    )
    assert said.code == 0
    assert f"kip-101: {sum(map(len, kip_101.levels)):,} states" in said.out
    data = json.loads((tmp_path / "a.json").read_text())
    assert sum(row["states"] for row in data["variables"]["log[0].length"]) == sum(map(len, kip_101.levels))
    said = run("analyze", one, "--diff", other, "--trace", "--json", str(tmp_path / "d.json"), "--master", "local[1]")
    data = json.loads((tmp_path / "d.json").read_text())
    assert (said.code, len(data["trace"])) == (10, data["first_level"])
    assert run("analyze", one, "--diff", one, "--trace", "--master", "local[1]").code == 0
    said = run("analyze", one, "--variable", "lag")
    assert (said.code, said.err.count("\n")) == (150, 1)
    assert "the dataset has no variable 'lag'; did you mean log" in said.err
    assert run("analyze", str(tmp_path)).code == 150


def projected(explored: Explored, numbers: tuple[int, ...], fill: tuple[int, ...], state: Any) -> tuple[int, ...]:
    leaves = explored.source_file.interpreter.leaves(state)
    return tuple(leaves[i] if i >= 0 else value for i, value in zip(numbers, fill, strict=True))


@pytest.mark.parametrize("swapped", [False, True])
@pytest.mark.release
def test_what_only_one_of_two_has_by_level_and_by_action(
    tmp_path: Path, kip_101: Explored, kip_320: Explored, swapped: bool
) -> None:
    """The large dataset has all states of the small dataset."""
    sides = (kip_320, kip_101) if swapped else (kip_101, kip_320)
    shared = shared_variables(sides[0].source_file.system, sides[1].source_file.system)

    def key(i: int, state: Any) -> tuple[int, ...]:
        return projected(sides[i], shared.numbers[i], shared.fill, state)

    keys = [{key(i, state) for states in side.levels for state in states} for i, side in enumerate(sides)]
    roots = [side.dataset.root for side in sides]
    said = run("analyze", roots[0], "--diff", roots[1], "--json", tmp_path / "a.json", "--master", "local[1]")
    assert said.code == 10
    reported = json.loads((tmp_path / "a.json").read_text())["difference"]
    for i, (name, side) in enumerate(zip(("only_in_a", "only_in_b"), sides, strict=True)):
        first: dict[tuple[int, ...], int] = {}
        by_action: dict[str, set[tuple[int, ...]]] = {}
        for level, states in enumerate(side.levels, start=1):
            for state in states:
                first.setdefault(key(i, state), level)
                for instance, after in side.source_file.interpreter.steps(state):
                    if key(i, state) in keys[1 - i] and key(i, after) not in keys[1 - i]:
                        action = side.source_file.interpreter.labels[instance].action
                        by_action.setdefault(action, set()).add(key(i, after))
        wanted = Counter(level for found, level in first.items() if found not in keys[1 - i])
        assert bool(wanted) == (side is kip_101)
        assert reported[name]["levels"] == {str(level): wanted[level] for level in sorted(wanted)}
        assert reported[name]["actions"] == {action: len(found) for action, found in sorted(by_action.items())}
        assert f"Only in {roots[i]}: {sum(wanted.values()):,} states (level, states)" in said.out.splitlines()
    if swapped:
        assert run("analyze", roots[0], "--diff", roots[0], "--master", "local[1]").code == 0
    assert run("analyze", roots[1], "--model-b", "x.py").code == 2


@pytest.mark.release
def test_equal_datasets_of_a_search_that_ended_early_differ_in_nothing(tmp_path: Path) -> None:
    """Steps from the last level lead to states that neither dataset has."""
    roots = [str(tmp_path / name) for name in "ab"]
    for root in roots:
        words = ("--engine", "spark", "--master", "local[1]", "--checkpoint", root, "--max-states", "200", "--quiet")
        assert run("check", "kip-320", "-s", "replicas=2", *words).code == 152
    said = run("analyze", roots[0], "--diff", roots[1], "--json", str(tmp_path / "d.json"), "--master", "local[1]")
    reported = json.loads((tmp_path / "d.json").read_text())["difference"]
    assert [(side["levels"], side["actions"]) for side in (reported["only_in_a"], reported["only_in_b"])] == [
        ({}, {})
    ] * 2
    assert said.code == 0


def test_a_file_of_states_that_is_damaged_is_never_believed(tmp_path: Path, kip_320: Explored) -> None:
    shutil.copytree(kip_320.dataset.root, tmp_path / "x")
    part = next((tmp_path / "x/states/level=00005").iterdir())
    content = part.read_bytes()
    for changed in (content[:60] + bytes([content[60] ^ 1]) + content[61:], content[:-1]):
        part.write_bytes(changed)
        said = run("analyze", str(tmp_path / "x"), "--master", "local[1]")
        assert (said.code, said.out, said.err.count("\n")) == (150, "", 1)
        assert "damaged" in said.err
    part.unlink()
    said = run("analyze", kip_320.dataset.root, "--diff", str(tmp_path / "x"), "--trace", "--master", "local[1]")
    assert (said.code, f"{part} is missing or damaged; nothing was changed; start over" in said.err) == (150, True)


def test_executors_look_whether_a_large_dataset_is_whole(
    spark: Spark, tmp_path: Path, kip_101: Explored, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(dataset, "MUCH", 0)
    folder = tmp_path / "x"
    shutil.copytree(kip_101.dataset.root, folder)
    entries = [entry for level in kip_101.dataset.levels for entry in (*level.files, *level.transitions)]
    chosen = [entries[3], entries[-1]]
    (folder / chosen[0]["path"]).unlink()
    content = (folder / chosen[1]["path"]).read_bytes()
    (folder / chosen[1]["path"]).write_bytes(content[:60] + bytes([content[60] ^ 1]) + content[61:])
    listed = [(entry["path"], entry["sha256"]) for entry in entries]
    assert sorted(spark.damaged(str(folder), listed)) == sorted(entry["path"] for entry in chosen)
    with pytest.raises(DatasetRefused, match="is missing or damaged; nothing was changed"):
        Dataset.resume(str(folder), look=spark.damaged)
    shutil.rmtree(folder)
    shutil.copytree(kip_101.dataset.root, folder)
    Dataset.resume(str(folder), look=spark.damaged).close()


def test_a_sweep_in_which_cells_die(tmp_path: Path) -> None:
    require_answers(tmp_path, "--master", "local[2]")
