"""Compares the numbers of states that isrcheck, Spin and Rumur count for every model, at several settings.

    python benchmarks/outside_check.py [--large] [--scenarios] [--only TEXT]
    python benchmarks/outside_check.py --each 1 --max-states 2000     # two minutes: one setting of each model

The exit code is 10 if any two differ. `--large` adds more settings and the defaults of each model. `--scenarios` adds
the settings of all scenarios with at most `--max-states` states. `--each N` takes only the N largest of these scenarios
of each model. Models with a guard that is too large for Promela are compared only with Rumur.
"""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Iterator
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path

from click.testing import CliRunner

from isrcheck.checker.cli import main
from isrcheck.checker.registry.loader import load_model_class, model_names
from isrcheck.checker.scenarios.collection import folders
from isrcheck.checker.scenarios.scenario import read

ROOT = Path(__file__).parent.parent
QUICK = (
    {"replicas": "2"},
    {"replicas": "2", "log_size": "3", "max_records": "3", "max_leader_epoch": "1"},
    {"replicas": "2", "crashes": "1"},
)
MORE = (
    {"replicas": "2", "log_size": "1", "max_records": "1", "max_leader_epoch": "2"},
    {"replicas": "3", "log_size": "1", "max_records": "1", "max_leader_epoch": "0"},
    {"replicas": "2", "crashes": "1", "expiries": "1"},
    {"replicas": "2", "crashes": "2"},
    {"replicas": "3", "crashes": "1"},
)
"""Settings that are tried with each model that has them and allows them."""
Settings = dict[str, str]


def settings_of(name: str, large: bool) -> Iterator[Settings]:
    """Several settings of a model, or its defaults if none of the settings above fit."""
    cls = load_model_class(name).cls
    fitting = [s for s in (*QUICK, *(MORE if large else ())) if s.keys() <= cls.declared_settings().keys()]
    yield from fitting
    if large or not fitting:
        yield {}


def of_scenarios(most: int) -> Iterator[tuple[str, Settings]]:
    """The different models and settings of scenarios that explored everything, those with the fewest states first."""
    seen, sized = set(), []
    for folder, root in folders((str(ROOT / "counterexamples"),)):
        found = json.loads((folder / "expected.json").read_text())
        if found["left"] == 0 and found["distinct"] <= most:
            sized.append((found["distinct"], folder.name, read(folder, root)))
    for _, _, scenario in sorted(sized, key=lambda x: x[:2]):
        settings = {n: str(v).lower() if isinstance(v, bool) else str(v) for n, v in scenario.settings.items()}
        key = (scenario.model, tuple(sorted(settings.items())))
        if scenario.file is None and key not in seen:
            seen.add(key)
            yield scenario.model, settings


def of_each(each: int, most: int) -> Iterator[tuple[str, Settings]]:
    """At most `each` settings of each model: of its largest scenarios or, without scenarios, those for all models."""
    known = list(of_scenarios(most))[::-1]
    for name in model_names():
        of_model = [s for model, s in known if model == name] or list(settings_of(name, False))
        yield from ((name, s) for s in of_model[:each])


def compared(name: str, settings: Settings) -> tuple[int, str]:
    """The exit code of a comparison (150 if the model refuses the settings), and the text to print."""
    given = [x for pair in settings.items() for x in ("-s", "=".join(pair))]
    command = ["export", name, "--crosscheck", "--profile", "bare", *given, "--max-seconds", "600"]
    done = CliRunner().invoke(main, command)
    if done.exit_code == 150 and "too large for Promela" in done.output:
        done = CliRunner().invoke(main, [*command, "--with", "rumur"])
    return done.exit_code, f"{name} {' '.join(given[1::2])}\n{done.output}"


def compare(cases: list[tuple[str, Settings]]) -> int:
    codes = []
    with ProcessPoolExecutor() as pool:
        for code, said in pool.map(compared, *zip(*cases, strict=True)):
            print(said, flush=True)
            codes.append(code)
    refused, agree = codes.count(150), codes.count(0)
    print(f"{len(codes)} asked, {agree} agree, {refused} refused, {len(codes) - agree - refused} differ or failed")
    return max((code for code in codes if code != 150), default=150)


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--large", action="store_true", help="add more settings, and the defaults")
    parser.add_argument("--scenarios", action="store_true", help="add the settings of scenarios, which takes an hour")
    parser.add_argument("--each", type=int, metavar="N", help="take only the N largest scenarios of each model")
    parser.add_argument("--max-states", type=int, default=20_000, metavar="N", help="the most states of a scenario")
    parser.add_argument("--only", default="", metavar="TEXT", help="only models whose name contains this")
    asked = parser.parse_args()
    chosen = [(name, s) for name in model_names() if asked.only in name for s in settings_of(name, asked.large)]
    if asked.each is not None:
        chosen = [case for case in of_each(asked.each, asked.max_states) if asked.only in case[0]]
    if asked.scenarios:
        chosen += [case for case in of_scenarios(asked.max_states) if asked.only in case[0] and case not in chosen]
    sys.exit(compare(chosen))
