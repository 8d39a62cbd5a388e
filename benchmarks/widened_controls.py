"""Does what holds still hold with wider bounds? `python benchmarks/widened_controls.py [SCENARIO]... [--states N]`.

For each scenario that holds, each bound and each budget of failures in it is raised by one, alone and then all
together, as far as a limit of states allows. Where a verdict turns, the control held for want of room: its story has to
say so. Names may be patterns, such as "v3-*"; the table is Markdown.
"""

from __future__ import annotations

import argparse
import fnmatch
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from isrcheck.checker.checking import check
from isrcheck.checker.exploration import Limits
from isrcheck.checker.library import load_model_class
from isrcheck.checker.results import Result
from isrcheck.checker.scenarios.scenario import Scenario, read

ROOT = Path(__file__).parent.parent / "counterexamples"
MOST = 10_000_000


def widened(scenario: Scenario) -> Iterator[dict[str, Any]]:
    """What is raised: each bound of the scenario by one, alone, and then all of them; a budget of 0 stays alone."""
    cls = load_model_class(scenario.specification()).cls
    settings = cls(**scenario.settings).settings
    raised = {}
    for name, setting in cls.declared_settings().items():
        if setting.bound is not None and settings[name] < (setting.at_most or MOST):
            raised[name] = settings[name] + 1
    yield from ({name: value} for name, value in raised.items())
    yield {name: value for name, value in raised.items() if settings[name]}


def asked(scenario: Scenario, changes: dict[str, Any], states: int) -> Result:
    return check(
        scenario.specification(),
        {**scenario.settings, **changes},
        profile="bare",
        invariants=scenario.invariants,
        keep_going=False,
        deadlock=scenario.deadlock,
        limits=Limits(states=states, memory=4 << 30),
        workers=1,
    )


def told(result: Result) -> str:
    """The verdict, with the length of what is violated; of a search that stopped, how deep it looked."""
    lengths = [f"{name} in {f.trace.length}" for name, f in sorted(result.findings.items()) if f.trace is not None]
    if lengths:
        return f"**turns**: {', '.join(lengths)}"
    return "holds" if result.verdict == "holds" else f"none to depth {result.depth}"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("names", nargs="*", default=["*"], metavar="SCENARIO")
    parser.add_argument("--states", type=int, default=1_000_000, help=f"give up after so many, at most {MOST:,}")
    given = parser.parse_args()
    print("| scenario | raised | verdict | states |\n|---|---|---|---|")
    for path in sorted(ROOT.glob("*/scenario.toml")):
        if any(fnmatch.fnmatch(path.parent.name, name) for name in given.names):
            scenario = read(path.parent, ROOT)
            for changes in widened(scenario) if scenario.expect == "holds" else ():
                result = asked(scenario, changes, min(given.states, MOST))
                raised = " ".join(f"{name}={value}" for name, value in changes.items())
                print(f"| {scenario.name} | {raised} | {told(result)} | {result.distinct:,} |", flush=True)


if __name__ == "__main__":
    main()
