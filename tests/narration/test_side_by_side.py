"""The table of docs/how-to/traces.md: a shortest trace that ignores actors, beside the canonical trace."""

from __future__ import annotations

import re
from itertools import pairwise
from pathlib import Path

from isrcheck.checker.engines.explicit.search import search
from isrcheck.checker.registry.loader import load_model_class
from isrcheck.checker.results.exploration import Limits
from isrcheck.checker.results.exploration import Path as Way
from isrcheck.checker.trace.canonical import to_violation
from isrcheck.model.semantics.tracing import trace
from isrcheck.model.semantics.transition_system import TransitionSystem

DOCS = Path(__file__).parents[2] / "docs" / "how-to" / "traces.md"
SETTINGS = {"replicas": 3, "log_size": 2, "max_records": 2, "max_leader_epoch": 2}


def ways() -> tuple[TransitionSystem, Way, Way]:
    """The shortest trace with the least labels (as if all actors were the same), and the canonical trace."""
    loaded = load_model_class("kip-279")
    system = trace(loaded.cls(**SETTINGS), loaded.chosen(("strong-isr",)))
    limits = Limits(memory=3 << 30)
    found, levels = search(system, keep_going=False, deadlock=False, limits=limits, report=None)
    length, actors = found.violated["strong-isr"], [t.actor for t in system.transitions]
    least = to_violation(levels, length, "strong-isr", ["anybody"] * len(actors))
    return system, least, to_violation(levels, length, "strong-isr", actors)


def row(system: TransitionSystem, position: int, a: int, b: int) -> str:
    cells = [f"{t.actor}: `{t.label}`" for t in (system.transitions[a], system.transitions[b])]
    return f"| {position} | {cells[0]} | {cells[1]} |"


def changes(system: TransitionSystem, way: Way) -> int:
    return sum(a != b for a, b in pairwise(system.transitions[i].actor for i in way.instances))


def table() -> str:
    system, least, ours = ways()
    pairs = zip(least.instances, ours.instances, strict=True)
    rows = [row(system, position, a, b) for position, (a, b) in enumerate(pairs, 2)]
    counts = f"| changes of actor | **{changes(system, least)}** | **{changes(system, ours)}** |"
    return "\n".join(["| state | least labels | canonical |", "| --- | --- | --- |", *rows, counts])


def test_the_table_of_the_docs_is_what_the_engine_gives() -> None:
    shown = re.search(r"<!-- kip-279 -->\n(.*?)\n<!-- end -->", DOCS.read_text(), re.DOTALL)
    assert shown is not None
    assert shown[1] == table()


def test_the_canonical_trace_changes_its_actor_less_often() -> None:
    system, least, ours = ways()
    assert len(least.instances) == len(ours.instances)
    assert changes(system, ours) < changes(system, least)
