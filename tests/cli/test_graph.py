"""The output of `isrcheck export --to dot`, read by networkx and pydot, has the counts of the engines."""

from __future__ import annotations

import io
import json
from pathlib import Path
from typing import Any

import networkx as nx
import pydot
import pytest

from isrcheck import check
from tests.cli.running import counter, run
from tests.scenarios.shipped import FOLDERS

# pydot calls pyparsing by names that are going out of use.
pytestmark = pytest.mark.filterwarnings("ignore:.* deprecated - use:DeprecationWarning")
HOSTILE = Path(__file__).parent.parent / "ci" / "hostile.py"
SMALL = ("-s", "replicas=2", "-s", "log_size=1", "-s", "max_records=1", "-s", "max_leader_epoch=0")


def as_dot(text: str) -> Any:
    (graph,) = pydot.graph_from_dot_data(text)
    return graph


def as_graphml(text: str) -> Any:
    return nx.read_graphml(io.BytesIO(text.encode()), force_multigraph=True)


def states(graph: Any) -> list[str]:
    return [n.get_name() for n in graph.get_nodes() if n.get_name() != "node"]


def test_both_formats_have_every_state_and_step_of_the_model() -> None:
    result = check("kip-101", {"replicas": 2, "log_size": 1, "max_records": 1, "max_leader_epoch": 0})
    steps = result.generated_total - result.initial_states  # no constraint: each enabled instance leads somewhere
    graph = as_graphml(run("export", "kip-101", *SMALL, "--to", "graphml").out)
    assert (len(graph), graph.number_of_edges()) == (result.distinct, steps)
    drawn = as_dot(run("export", "--to", "dot", "kip-101", *SMALL).out)
    assert (len(states(drawn)), len(drawn.get_edges())) == (result.distinct, steps)
    assert {e.get_source() for e in drawn.get_edges()} <= set(states(drawn))


def test_distances_are_levels_and_states_are_whole() -> None:
    result = check("kip-101", {"replicas": 2, "log_size": 1, "max_records": 1, "max_leader_epoch": 0})
    graph = as_graphml(run("export", "kip-101", *SMALL, "--to", "graphml").out)
    distances = [data["distance"] for _, data in graph.nodes(data=True)]
    assert [distances.count(i) for i in range(result.depth)] == result.levels
    assert nx.get_node_attributes(graph, "state")["s0"].splitlines()[0] == "log[0] = []"
    reached = nx.descendants(graph, "s0") | {"s0"}
    assert reached == set(graph), "one initial state reaches all"


def test_the_part_around_a_trace(tmp_path: Path) -> None:
    """The counter counts from 0 to 3 and starts again. States that are not small are red."""
    model, out = counter(tmp_path), tmp_path / "out.json"
    assert run("check", model, "-s", "least=2", "--json", out, "--quiet").code == 12
    graph = as_graphml(run("export", model, "--around", out, "--radius", "0", "--to", "graphml").out)
    assert [data["on_trace"] for _, data in graph.nodes(data=True)] == [1, 2, 3]
    assert [data["violated"] for _, data in graph.nodes(data=True)] == ["", "", "is-small"]
    assert [data["on_trace"] for _, _, data in graph.edges(data=True)] == [True, True]
    near = as_graphml(run("export", model, "--around", out, "--to", "graphml").out)
    assert (len(near), near.number_of_edges()) == (4, 4)
    itf = tmp_path / "out.itf.json"
    run("check", model, "-s", "least=2", "--itf", itf, "--quiet")
    around = ("export", "--to", "dot", model, "--around")
    assert run(*around, itf).out == run(*around, out).out


def test_a_trace_that_ends_outside_the_constraints_is_whole(tmp_path: Path) -> None:
    """A violation may be in a state from which the search does not go on."""
    model, out = counter(tmp_path), tmp_path / "out.json"
    fence = '    @constraint\n    def is_low(self, s):\n        """The search goes on from low values."""\n'
    text = model.read_text().replace("import Model,", "import Model, constraint,")
    model.write_text(text.replace("    @goal", f"{fence}        return s.value < 2\n\n    @goal", 1))
    assert run("check", model, "-s", "least=2", "--json", out, "--quiet").code == 12
    for radius in ("0", "2"):
        graph = as_graphml(run("export", model, "--around", out, "--radius", radius, "--to", "graphml").out)
        assert [data["on_trace"] for _, data in graph.nodes(data=True)] == [1, 2, 3]
        assert [data["on_trace"] for _, _, data in graph.edges(data=True)] == [True, True]


def test_the_part_around_the_trace_of_a_scenario() -> None:
    folder = FOLDERS["v3-unclean-election"]
    about = ("--around", folder / "trace.itf.json", "--radius", "0")
    found = run("export", "--to", "dot", "--scenario", "v3-unclean-election", *about)
    assert (found.code, found.err) == (0, "")
    assert found.out == run("export", "--to", "dot", "v3", *about).out
    refused = run("export", "--to", "dot", "v3", "--profile", "plain", *about)
    assert (refused.code, "remove --profile" in refused.err) == (2, True)


def test_a_graph_that_is_too_large_is_refused_and_not_written(tmp_path: Path) -> None:
    outcome = run("export", "--to", "dot", "kip-101", *SMALL, "--max-states", "5", "--output", tmp_path / "out.dot")
    assert outcome.code == 152
    assert outcome.err.startswith("isrcheck: there are more than 5 states; use smaller")
    outcome = run("export", "--to", "dot", "v3", "--max-states", "5")
    assert "use --profile bare, smaller settings" in outcome.err
    assert not (tmp_path / "out.dot").exists()


@pytest.mark.parametrize("damage", ["value", "action", "empty"])
def test_a_foreign_trace_is_refused(tmp_path: Path, damage: str) -> None:
    model, out = counter(tmp_path), tmp_path / "out.json"
    run("check", model, "-s", "least=2", "--json", out, "--quiet")
    data = json.loads(out.read_text())
    trace = data["invariants"]["is-small"]["trace"]
    if damage == "value":
        trace[2]["state"]["value"] = 3
    if damage == "action":
        trace[2]["action"] = "fly"
    if damage == "empty":
        data["invariants"] = {}
    out.write_text(json.dumps(data))
    outcome = run("export", "--to", "dot", model, "--around", out)
    assert outcome.code == {"value": 10, "action": 150, "empty": 150}[damage]
    assert len(outcome.err.splitlines()) == 1


def test_words_of_a_model_stay_in_their_strings() -> None:
    drawn = as_dot(run("export", "--to", "dot", HOSTILE).out)
    assert (len(states(drawn)), len(drawn.get_edges())) == (2, 1)
    graph = as_graphml(run("export", HOSTILE, "--to", "graphml").out)
    (edge,) = graph.edges(data=True)
    assert edge[2]["label"] == "shout()"
    assert "<script>alert(1)</script>" in edge[2]["actor"]


def test_usage() -> None:
    assert run("export", "--to", "dot", "kip-101", "--radius", "2").code == 2
    assert run("export", "--to", "dot", "kip-102").code == 150
