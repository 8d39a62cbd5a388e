"""Checks scenarios that hold with wider bounds: `python benchmarks/widened_controls.py [SCENARIO]... [--update]`.

For each scenario that holds, each bound and each budget of failures is raised by one, first alone and then all
together, as far as a limit of states allows. If a verdict changes, the scenario held only because its bounds are too
small, and its story or note must say so. Then the raised settings that held alone are combined, one after the other, as
long as the scenario holds within the limit.

Names may be patterns, such as "v3-*". The program prints rows of the table in docs/widened.md. `--update` writes the
rows there, and writes the combined settings into the scenario, if it has no `[seen_to_hold]` yet.

`--undecided` checks again only the undecided cells of the table, with another limit: `--undecided --states 10000000`.
The smallest scenarios come first. With `--update` each cell is written as soon as it is known, so the program can be
stopped at any moment, and a later run continues with the rest.
"""

from __future__ import annotations

import argparse
import fnmatch
import json
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from isrcheck.checker.analysis.check import check
from isrcheck.checker.registry.loader import load_model_class
from isrcheck.checker.results.exploration import Limits
from isrcheck.checker.results.result import Finding, PropertyFinding, Result
from isrcheck.checker.scenarios.derived_files import COUNTS
from isrcheck.checker.scenarios.scenario import Scenario, read
from isrcheck.model.language import UnknownName

ROOT = Path(__file__).parent.parent / "counterexamples"
PAGE = Path(__file__).parent.parent / "docs" / "widened.md"
STATES = 200_000

Changes = dict[str, Any]


ALL = "all but those from 0"


@dataclass
class Row:
    """The outcomes of a scenario with wider bounds: the cells of a row, and combined settings with which it holds."""

    name: str
    states: int
    limit: int = STATES
    turns: list[str] = field(default_factory=list)
    holds: list[str] = field(default_factory=list)
    undecided: list[str] = field(default_factory=list)
    together: Changes = field(default_factory=dict)
    together_states: int | None = None

    def add(self, words: str, result: Result) -> bool:
        """Puts a result into its cell. Returns whether it holds and has another number of states than before."""
        if lengths(result):
            self.turns.append(f"{words}: {lengths(result)}")
        elif result.verdict != "holds":
            found = "" if self.limit == STATES else f" in {self.limit:,}"
            self.undecided.append(f"{words}: depth {result.depth}{found}")
        elif result.distinct != self.states:
            self.holds.append(f"{words}: {result.distinct:,}")
            return True
        return False

    def __str__(self) -> str:
        at_once = " ".join(f"`{name}={value}`" for name, value in self.together.items())
        counted = "" if self.together_states is None else f": {self.together_states:,}"
        cells = ("<br>".join(cell) for cell in (self.turns, self.holds, self.undecided))
        return f"| `{self.name}` | {self.states:,} | {' | '.join(cells)} | {at_once}{counted} |"


def settings_of(scenario: Scenario) -> dict[str, Any]:
    return load_model_class(scenario.specification()).cls(**scenario.settings).settings


def raised(scenario: Scenario) -> Changes:
    """Each bound and each budget of failures of the scenario, raised by one, also a budget that was 0."""
    settings = settings_of(scenario)
    declared = load_model_class(scenario.specification()).cls.declared_settings()
    bounds = {name: setting for name, setting in declared.items() if setting.bound is not None}
    return {n: settings[n] + 1 for n, s in bounds.items() if s.at_most is None or settings[n] < s.at_most}


def asked(scenario: Scenario, changes: Changes, states: int) -> Result | None:
    """The result of a scenario with changed settings; None if the model does not allow these settings."""
    try:
        return check(
            scenario.specification(),
            {**scenario.settings, **changes},
            profile="bare",
            invariants=scenario.invariants,
            liveness=scenario.liveness,
            fairness=scenario.fairness,
            keep_going=False,
            deadlock=scenario.deadlock,
            limits=Limits(states=states, memory=4 << 30),
            workers=1,
        )
    except UnknownName:
        return None


def lengths(result: Result) -> str:
    deadlock = {"deadlock": result.deadlock} if result.deadlock else {}
    found: dict[str, Finding | PropertyFinding] = {**result.findings, **deadlock, **result.liveness}
    return ", ".join(f"{name} in {f.trace.length}" for name, f in sorted(found.items()) if f.trace is not None)


def row(scenario: Scenario, states: int) -> Row:
    """The row of a scenario. Raised settings that change nothing, because the bound is not reached, are left out."""
    before = settings_of(scenario)
    found, alone = Row(scenario.name, states_of(scenario), states), list[tuple[Changes, Result]]()
    wider = raised(scenario)
    own = {name: value for name, value in wider.items() if before[name]}
    for changes in [*({name: value} for name, value in wider.items()), own]:
        words = ", ".join(f"`{name}` {before[name]} → {value}" for name, value in changes.items())
        words = ALL if len(changes) > 1 else words
        result = asked(scenario, changes, states)
        if result is not None and found.add(words, result):
            alone.append((changes, result))
    at_once(scenario, states, found, alone)
    if scenario.seen_to_hold and scenario.seen_to_hold != found.together:
        result = asked(scenario, scenario.seen_to_hold, states)
        found.together = dict(scenario.seen_to_hold)
        found.together_states = result.distinct if result is not None and result.verdict == "holds" else None
    return found


def at_once(scenario: Scenario, states: int, found: Row, alone: list[tuple[Changes, Result]]) -> None:
    """Combines settings that held alone, the smallest first. Leaves out what is too large or changes the verdict."""
    last: Result | None = None
    for changes, by_itself in sorted(alone, key=lambda one: one[1].distinct):
        now = found.states if last is None else last.distinct
        if changes.keys() <= found.together.keys() or now * by_itself.distinct > states * found.states:
            continue
        tried = {**found.together, **changes}
        result = asked(scenario, tried, states) if last is not None else by_itself
        if result is not None and result.verdict == "holds":
            found.together, last = tried, result
        elif result is not None and lengths(result):
            words = ", ".join(f"`{name}={value}`" for name, value in tried.items())
            found.turns.append(f"{words}: {lengths(result)}")
    if last is not None:
        found.together = {name: value for name, value in found.together.items() if last.bounds.get(name)}
        found.together_states = last.distinct


# --- what was left undecided ------------------------------------------------------------------------------------------


def read_row(line: str) -> Row:
    """A row that is read from the table, without its last cell."""
    _, name, states, *cells, _, _ = (cell.strip() for cell in line.split("|"))
    turns, holds, undecided = (cell.split("<br>") if cell else [] for cell in cells)
    counted = int(states.replace(",", ""))
    return Row(name.strip("`"), counted, turns=turns, holds=holds, undecided=undecided)


def ask_again(scenario: Scenario, line: str, states: int) -> Iterator[str]:
    """Checks again the cells that were given up at fewer states, and gives the row after each of these cells.

    The last cell (the combined settings) stays as it is.
    """
    found, at_once = read_row(line), line.split("|")[-2]
    cells, found.undecided, found.limit = found.undecided, [], states
    wider, before = raised(scenario), settings_of(scenario)
    for i, cell in enumerate(cells):
        if given_up_at(cell) >= states:
            found.undecided.append(cell)
            continue
        words, name = cell.split(": ")[0], cell.split("`")[1] if "`" in cell else ALL
        changes = {n: v for n, v in wider.items() if before[n]} if name == ALL else {name: wider[name]}
        result = asked(scenario, changes, states)
        assert result is not None, words
        found.add(words, result)
        now = replace(found, undecided=[*found.undecided, *cells[i + 1 :]])
        yield f"{'|'.join(str(now).split('|')[:-2])}|{at_once}|"


def given_up_at(cell: str) -> int:
    """The number of states at which the search of an undecided cell was given up."""
    _, _, states = cell.partition(" in ")
    return int(states.replace(",", "")) if states else STATES


# --- what --update writes ---------------------------------------------------------------------------------------------


def rows_of(lines: list[str]) -> tuple[int, dict[str, str]]:
    """The first line of the rows of a page's last table, and the rows by their scenarios' names."""
    rule = max(i for i, line in enumerate(lines) if line.startswith("|---"))
    return rule + 1, {line.split("`")[1]: line for line in lines[rule + 1 :]}


def write_row(page: Path, name: str, row: str) -> None:
    """Puts a row into the table at the end of a page, in place of the old row and in the order of names."""
    lines = page.read_text(encoding="utf-8").splitlines()
    start, rows = rows_of(lines)
    rows[name] = row
    lines[start:] = [rows[name] for name in sorted(rows)]
    page.write_text("\n".join(lines) + "\n", encoding="utf-8")


def write_seen(scenario: Scenario, together: Changes) -> None:
    if together and not scenario.seen_to_hold:
        path = scenario.folder / "scenario.toml"
        bounds = "".join(f"{name} = {value}\n" for name, value in together.items())
        text = path.read_text(encoding="utf-8").rstrip("\n")
        path.write_text(f"{text}\n\n[seen_to_hold]\n{bounds}", encoding="utf-8")


def holding(names: list[str]) -> list[Scenario]:
    """The matching scenarios that hold, those with the fewest states first."""
    folders = (path.parent for path in ROOT.glob("**/scenario.toml"))
    found = (read(f, ROOT) for f in folders if any(fnmatch.fnmatch(f.name, name) for name in names))
    return sorted((s for s in found if s.expect == "holds"), key=lambda s: (states_of(s), s.name))


def states_of(scenario: Scenario) -> int:
    return int(json.loads((scenario.folder / COUNTS).read_text(encoding="utf-8"))["distinct"])


def first_asked(scenario: Scenario, states: int, update: bool) -> Iterator[str]:
    found = row(scenario, states)
    if update:
        write_seen(scenario, found.together)
    yield str(found)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("names", nargs="*", default=["*"], metavar="SCENARIO")
    parser.add_argument("--states", type=int, default=STATES, help=f"give up after this many states ({STATES:,})")
    parser.add_argument("--update", action="store_true", help="write the rows, and the settings that were seen to hold")
    parser.add_argument("--undecided", action="store_true", help="check again only the undecided cells of the table")
    given = parser.parse_args()
    for scenario in holding(given.names):
        if given.undecided:
            _, rows = rows_of(PAGE.read_text(encoding="utf-8").splitlines())
            texts = ask_again(scenario, rows[scenario.name], given.states) if scenario.name in rows else iter(())
        else:
            texts = first_asked(scenario, given.states, given.update)
        for text in texts:
            print(text, flush=True)
            if given.update:
                write_row(PAGE, scenario.name, text)


if __name__ == "__main__":
    main()
