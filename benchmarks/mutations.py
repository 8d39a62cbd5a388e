"""The tables of docs/mutation.md: `python benchmarks/mutations.py [NAME]...` prints them as Markdown.

Each is one run of `isrcheck mutate`, about a quarter of an hour for v3. With --json FOLDER the whole outcomes are kept.
"""

from __future__ import annotations

import argparse
import json
from collections.abc import Iterator
from pathlib import Path

from checker.exploration import Limits
from checker.mutation.running import OUTCOMES, Mutation, Question, Verdict, mutation
from checker.reports.mutation import how
from checker.scenarios.scenario import read

ROOT = Path(__file__).parent.parent
SCENARIOS = {
    "kip-101": "truncate-to-hw-fixed-by-kip-101",
    "kip-279": "kip-101-fixed-by-kip-279",
    "kip-320": "kip-279-fixed-by-kip-320",
    "v3": "v3-with-later-fixes",
}
"""What is mutated: the model, settings and invariants of a scenario in which everything holds."""
LIMITS = Limits(seconds=120, memory=3 << 30)


def run(name: str, workers: int | None) -> Mutation:
    scenario = read(ROOT / "counterexamples" / SCENARIOS[name])
    question = Question(scenario.model, scenario.settings, scenario.invariants, limits=LIMITS, workers=workers)
    return mutation(question, lambda line: print(f"<!-- {line} -->", flush=True))


def table(name: str, found: Mutation) -> Iterator[str]:
    counts = ", ".join(f"{found.count(outcome)} {outcome}" for outcome in OUTCOMES if found.count(outcome))
    yield f"### {name}\n"
    yield f"Scenario `{SCENARIOS[name]}`, {found.own.distinct:,} states, {len(found.verdicts)} mutants: {counts}.\n"
    yield "| outcome | by | action | line | change |"
    yield "|---|---|---|---|---|"
    for verdict in found.verdicts:
        if verdict.edit.kind == "removed" and verdict.touches == "guard":
            yield row(verdict)
    yield ""


def row(verdict: Verdict) -> str:
    words = verdict.edit.words.replace("|", "\\|")
    by = f" at `{verdict.by}`" if verdict.by else ""
    return f"| {verdict.outcome} | {how(verdict)}{by} | {verdict.action} | {verdict.edit.where} | `{words}` |"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("names", nargs="*", metavar="NAME", help=f"some of {', '.join(SCENARIOS)}; all by default")
    parser.add_argument("--json", type=Path, help="keep the whole outcomes in this folder")
    parser.add_argument("--workers", type=int)
    given = parser.parse_args()
    for name in given.names or SCENARIOS:
        found = run(name, given.workers)
        if given.json is not None:
            (given.json / f"{name}.json").write_text(json.dumps(found.to_json(), indent=1) + "\n")
        print("\n".join(table(name, found)), flush=True)


if __name__ == "__main__":
    main()
