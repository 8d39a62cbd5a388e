"""Every pair of options of the local engine gives the verdict, lengths, traces and counts of a plain run."""

from __future__ import annotations

import json
from functools import cache
from itertools import combinations
from pathlib import Path
from typing import Any

import pytest

from isrcheck import check
from isrcheck.checker.report.outputs import outputs_of
from isrcheck.checker.scenarios.derived_files import summary
from isrcheck.checker.scenarios.scenario import Scenario, read
from tests.cli.running import Outcome, run
from tests.marks import EXHAUSTIVE, one_in
from tests.options.covering import Row, covering, pairs_of
from tests.scenarios.shipped import FOLDERS

ROOT = Path(__file__).parents[2] / "counterexamples"
FILES = {each.option: each for each in outputs_of("check") if each.is_file and each.name != "json"}
FLAGS = ("--symmetry", "--continue", "--deadlock", "--fail-on-vacuity", "--plain", "--quiet")
FACTORS = {
    "--workers": ("1", "2"),
    "--symmetry": ("no", "yes"),
    "--store": ("memory", "disk"),
    "--store-folder": ("no", "yes"),
    "kept": ("no", "--checkpoint", "--resume after a stop", "--resume after the end"),
    "--checkpoint-every": ("no", "yes"),
    "--continue": ("no", "yes"),
    "--deadlock": ("no", "yes"),
    "--invariant": ("no", "yes"),
    "--max-states": ("no", "yes"),
    "--max-memory": ("no", "yes"),
    "--max-seconds": ("no", "yes"),
    "--fail-on-vacuity": ("no", "yes"),
    "--json": ("file", "-"),
    **{each.option: ("no", "file" if each.is_file else "yes") for each in outputs_of("check") if each.name != "json"},
    "--plain": ("no", "yes"),
    "--quiet": ("no", "yes"),
}
"""The options of a command line and their values; `no` means without the option."""
VALUES = {"--max-states": "1000000", "--max-memory": "256MiB", "--max-seconds": "86400"}
SYMMETRIC = (
    "kip-101",
    "kip-101-fixed-by-kip-279",
    "truncate-to-hw",
    "truncate-to-hw-fixed-by-kip-101",
    "majority-waits-for-two-of-three",
)
"""Scenarios with interchangeable brokers and few states, some violated and some not."""
MORE_SYMMETRIC = (
    "majority-vote-for-anybody",
    "majority-with-crashes-and-any-vote",
    "primary-backup-truncates-to-high-watermark",
    "primary-backup-truncates-where-logs-diverge",
    "v1-three-brokers-split",
)
OTHERS = (
    "v1-split-brain",
    "v1-one-zombie-too-late",
    "v2-as-written",
    "v2-stale-high-watermark-fixed-by-kip-101",
    "v3-stale-high-watermark",
    "v3-lost-zookeeper-reply-fixed-by-kafka-1382",
    "v3-literal-expand-guard",
    "alter-isr-shrink-fixed-by-kafka-13091",
    "alter-isr-lost-response-fixed-by-kafka-14144",
    "alter-isr-deposed-controller-fences-a-leader",
)
# Only the command line compares a model with what it was changed from.
OF_A_RUN = ("change", "seconds", "peak_rss_bytes", "store_bytes", "states_per_second", "workers", "orbits", "symmetry")
OF_A_STORE = ("store",)
OF_STATES = (
    "distinct",
    "generated",
    "constraint_rejected",
    "levels",
    "left",
    "initial_states",
    "actions",
    "out_degree",
)
"""The fields that count orbits under symmetry."""


@cache
def scenario_named(name: str) -> Scenario:
    return read(FOLDERS[name], ROOT)


@cache
def plain(name: str, keep_going: bool, deadlock: bool, invariants: tuple[str, ...] | None) -> Any:
    """The result of a plain run: one worker, states in memory, no checkpoint."""
    scenario = scenario_named(name)
    question: dict[str, Any] = {"keep_going": keep_going, "deadlock": deadlock, "invariants": invariants}
    return check(scenario.model, scenario.settings, profile="bare", workers=1, **question)


def chosen(row: Row, scenario: Scenario) -> tuple[str, ...] | None:
    """The scenario's invariants, or only those that it is about: its violated invariants, or else the last."""
    if row["--invariant"] == "no":
        return scenario.invariants
    found = [name for name in scenario.lengths if name != "deadlock"]
    return tuple(found) or (list(plain(scenario.name, False, False, scenario.invariants).invariants)[-1],)


def words_of(row: Row, scenario: Scenario, folder: Path) -> list[str]:
    """A row as a command line, without the options for checkpoints."""
    words = ["check", scenario.model, "--profile", "bare"]
    for name, value in scenario.settings.items():
        words += ["-s", f"{name}={str(value).lower() if isinstance(value, bool) else value}"]
    words += [word for name in chosen(row, scenario) or () for word in ("--invariant", name)]
    words += ["--store", row["--store"]]
    if row["--store-folder"] == "yes" and row["--store"] != "memory":
        words += ["--store-folder", str(folder)]
    if row["--checkpoint-every"] == "yes" and row["kept"] != "no":
        words += ["--checkpoint-every", "1e-9"]
    flags = [*FLAGS, *(each.option for each in outputs_of("check") if not each.is_file)]
    words += [flag for flag in flags if row[flag] == "yes"]
    words += [word for name, value in VALUES.items() if row[name] == "yes" for word in (name, value)]
    words += [word for name in FILES if row[name] == "file" for word in (name, str(folder / name.strip("-")))]
    return [*words, "--json", "-" if row["--json"] == "-" else str(folder / "json")]


def other_workers(row: Row) -> str:
    return "1" if row["--workers"] == "2" else "2"


def answered(row: Row, scenario: Scenario, distinct: int, folder: Path) -> Outcome:
    """The outcome of a row's command line. A checkpoint to resume was written with another number of workers."""
    words, kept = words_of(row, scenario, folder), str(folder / "kept")
    if row["kept"].startswith("--resume"):
        stopped = row["kept"].endswith("stop")
        limit = ["--max-states", str(max(1, distinct // 24))] if stopped else []
        first = run(*words, *limit, "--workers", other_workers(row), "--checkpoint", kept)
        reason = json.loads(first.out if row["--json"] == "-" else (folder / "json").read_text())["reason"]
        assert (reason is not None) == stopped, (first, reason)
        words += ["--resume", kept]
    elif row["kept"] == "--checkpoint":
        words += ["--checkpoint", kept]
    return run(*words, "--workers", row["--workers"])


def assert_as_plain(name: str, row: Row, folder: Path) -> None:
    scenario, deadlock, keep_going = scenario_named(name), row["--deadlock"] == "yes", row["--continue"] == "yes"
    invariants = chosen(row, scenario)
    whole = plain(name, keep_going, deadlock, invariants)
    wanted = whole.to_json()
    outcome = answered(row, scenario, whole.distinct, folder)
    reported = outcome.out if row["--json"] == "-" else (folder / "json").read_text()
    found = json.loads(reported)
    code = whole.exit_code
    if row["--fail-on-vacuity"] == "yes" and code == 0 and any(wanted["vacuity"].values()):
        code = 10
    assert (outcome.code, found["exit_code"]) == (code, code)
    assert found["symmetry"] == (row["--symmetry"] == "yes")
    assert found.get("store", "memory") == row["--store"]
    without = {*OF_A_RUN, *OF_A_STORE, "exit_code"}
    if row["--symmetry"] == "yes":
        assert found["orbits"]["levels"] == wanted["levels"]
        assert found["distinct"] < wanted["distinct"]
        without |= set(OF_STATES)
    assert strip(found, without) == strip(wanted, without)
    assert_written(row, whole, folder)
    if (keep_going, deadlock, invariants) == (scenario.keep_going, scenario.deadlock, scenario.invariants):
        assert_as_recorded(scenario, whole, folder if row["--itf"] == "file" else None)


def strip(report: dict[str, Any], without: set[str]) -> dict[str, Any]:
    return {name: value for name, value in report.items() if name not in without}


def assert_written(row: Row, whole: Any, folder: Path) -> None:
    """Asserts that all requested files exist, and a counterexample's file only if there is a counterexample."""
    for option, each in FILES.items():
        has_trace = whole.verdict == "violated" or whole.deadlock is not None
        there = row[option] == "file" and (has_trace or not each.of_trace)
        assert (folder / option.strip("-")).exists() == there, option


def assert_as_recorded(scenario: Scenario, whole: Any, folder: Path | None) -> None:
    """Compares with the scenario's recorded files. Other tests compare these with published counts and lengths."""
    assert json.loads((scenario.folder / "expected.json").read_text()) == json.loads(json.dumps(summary(whole)))
    recorded = scenario.folder / "trace.itf.json"
    if folder is not None and recorded.exists():
        assert (folder / "itf").read_bytes() == recorded.read_bytes()


def spread(start: int, symmetric: tuple[str, ...], others: tuple[str, ...]) -> list[tuple[str, Row]]:
    """The rows of a covering array, each with a scenario."""
    rows = covering(FACTORS, start)
    of = {"yes": symmetric, "no": (*others, *symmetric)}
    counts, found = {"yes": start, "no": start}, []
    for row in rows:
        which = row["--symmetry"]
        found.append((of[which][counts[which] % len(of[which])], row))
        counts[which] += 1
    return found


def test_every_pair_of_values_is_in_a_row() -> None:
    rows = covering(FACTORS, 1)
    met = set().union(*(pairs_of(row, FACTORS) for row in rows))
    for a, b in combinations(FACTORS, 2):
        assert {((a, x), (b, y)) for x in FACTORS[a] for y in FACTORS[b]} <= met
    assert rows == covering(FACTORS, 1)
    assert len(rows) <= 24


def identity(case: Any) -> str:
    return case if isinstance(case, str) else ""


@pytest.mark.parametrize(("name", "row"), one_in(4, spread(1, SYMMETRIC, ()), EXHAUSTIVE), ids=identity)
def test_options_together_change_nothing(name: str, row: Row, tmp_path: Path) -> None:
    assert_as_plain(name, row, tmp_path)


MORE = [case for start in (2, 3) for case in spread(start, (*MORE_SYMMETRIC, *SYMMETRIC), OTHERS)]


@pytest.mark.exhaustive
@pytest.mark.parametrize(("name", "row"), one_in(4, MORE), ids=identity)
def test_more_options_together_change_nothing(name: str, row: Row, tmp_path: Path) -> None:
    assert_as_plain(name, row, tmp_path)
