"""Checks scenarios that hold with wider bounds: `python benchmarks/widened_controls.py [SCENARIO]... [--update]`.

For each scenario that holds, each bound and each budget of failures is raised by one, first alone and then all
together, as far as a limit of states allows. If a verdict changes, the scenario held only because its bounds are too
small, and its story or note must say so. Then the raised settings that held alone are combined, one after the other, as
long as the scenario holds within the limit.

Names may be patterns, such as "v3-*". The program prints rows of a Markdown table. `--update` writes the results to
`benchmarks/widened.toml`, and the combined settings into the scenario, if it has no `[seen_to_hold]` yet. `--show`
checks nothing, and prints the table of the results in `benchmarks/widened.toml`.

`--undecided` repeats only the searches that were undecided, with another limit: `--undecided --states 10000000`. The
smallest scenarios come first. With `--update` each result is written as soon as it is known, so the program can be
stopped at any moment, and a later run continues with the rest.

The column *violated* has the raised bounds that violate an invariant, with the number of states of the shortest trace.
The column *holds* has the raised bounds with which the scenario still holds, with the number of states of the whole
search. The column *undecided* has the searches that reached the limit of states (200,000, if no other limit is given),
with the depth up to which there is no violation. Bounds that the search does not reach are left out, because raising
them changes nothing, and so are bounds that the model refuses to combine with the other settings. `0 → 1` allows an
event that the scenario excludes. *All but those from 0* raises all other bounds together. The last column has bounds
that were raised together. They were chosen one after another, beginning with the bound that gives the fewest states
when it is raised alone. A bound was left out if the scenario is violated with it and those chosen before, or if the
search passes, or would probably pass, the limit of states. The table `[seen_to_hold]` of `scenario.toml` has the same
values. If somebody wrote other values there by hand, the last column has those.
"""

from __future__ import annotations

import argparse
import fnmatch
import json
import tomllib
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from isrcheck.checker.analysis.check import check
from isrcheck.checker.registry.loader import load_model_class
from isrcheck.checker.results.exploration import Limits
from isrcheck.checker.results.result import InvariantResult, PropertyResult, Result
from isrcheck.checker.scenarios.scenario import COUNTS, Scenario, read
from isrcheck.model.language import UnknownName

ROOT = Path(__file__).parent.parent / "counterexamples"
DATA = Path(__file__).parent / "widened.toml"
STATES = 200_000

Changes = dict[str, Any]
Cell = dict[str, Any]
"""What was raised (`raised`, `from` and `to`, or several settings as `together`), and what came of it."""

ALL = "all but those from 0"
HEADER = """| scenario | states | violated | holds | undecided | raised together |
| --- | --- | --- | --- | --- | --- |"""


@dataclass
class Row:
    """The outcomes of a scenario with wider bounds, and combined settings with which it holds."""

    name: str
    states: int
    limit: int = STATES
    violated: list[Cell] = field(default_factory=list)
    holds: list[Cell] = field(default_factory=list)
    undecided: list[Cell] = field(default_factory=list)
    together: Changes = field(default_factory=dict)
    together_states: int | None = None

    def add(self, raised: Cell, result: Result) -> bool:
        """Adds a result. Returns whether it holds and has another number of states than before."""
        if found := lengths(result):
            self.violated.append({**raised, "lengths": found})
        elif result.verdict != "holds":
            limit = {} if self.limit == STATES else {"limit": self.limit}
            self.undecided.append({**raised, "depth": result.depth, **limit})
        elif result.distinct != self.states:
            self.holds.append({**raised, "states": result.distinct})
            return True
        return False

    def __str__(self) -> str:
        """The row as a line of Markdown."""
        at_once = " ".join(f"`{name}={value}`" for name, value in self.together.items())
        counted = "" if self.together_states is None else f": {self.together_states:,}"
        cells = ("<br>".join(map(as_text, column)) for column in (self.violated, self.holds, self.undecided))
        return f"| `{self.name}` | {self.states:,} | {' | '.join(cells)} | {at_once}{counted} |"

    def as_toml(self) -> str:
        """The row as a table of TOML."""
        columns = {"violated": self.violated, "holds": self.holds, "undecided": self.undecided}
        lines = [f"[{self.name}]", f"states = {self.states}"]
        for column, cells in columns.items():
            lines += [f"{column} = [", *(f"    {inline(cell)}," for cell in cells), "]"] if cells else []
        lines += [f"together = {inline(self.together)}"] if self.together else []
        lines += [] if self.together_states is None else [f"together_states = {self.together_states}"]
        return "".join(f"{line}\n" for line in lines)


def as_text(cell: Cell) -> str:
    """A cell in words: what was raised, and what came of it."""
    if "together" in cell:
        raised = ", ".join(f"`{name}={value}`" for name, value in cell["together"].items())
    else:
        raised = ALL if cell["raised"] == "all" else f"`{cell['raised']}` {cell['from']} → {cell['to']}"
    if "lengths" in cell:
        return f"{raised}: {', '.join(f'{name} in {length}' for name, length in cell['lengths'].items())}"
    if "states" in cell:
        return f"{raised}: {cell['states']:,}"
    return f"{raised}: depth {cell['depth']}" + (f" in {cell['limit']:,}" if "limit" in cell else "")


def inline(value: Any) -> str:
    """A value of TOML on one line."""
    if isinstance(value, dict):
        return f"{{{', '.join(f'{name} = {inline(x)}' for name, x in value.items())}}}"
    return json.dumps(value)


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


def lengths(result: Result) -> dict[str, int]:
    """The number of states of the shortest trace for each violated invariant and property."""
    deadlock = {"deadlock": result.deadlock} if result.deadlock else {}
    found: dict[str, InvariantResult | PropertyResult] = {**result.invariants, **deadlock, **result.liveness}
    return {name: f.trace.length for name, f in sorted(found.items()) if f.trace is not None}


def row(scenario: Scenario, states: int) -> Row:
    """The row of a scenario. Raised settings that change nothing, because the bound is not reached, are left out."""
    before = settings_of(scenario)
    found, alone = Row(scenario.name, states_of(scenario), states), list[tuple[Changes, Result]]()
    wider = raised(scenario)
    own = {name: value for name, value in wider.items() if before[name]}
    for changes in [*({name: value} for name, value in wider.items()), own]:
        cell: Cell = {"raised": "all"}
        if len(changes) == 1:
            ((name, value),) = changes.items()
            cell = {"raised": name, "from": before[name], "to": value}
        result = asked(scenario, changes, states)
        if result is not None and found.add(cell, result):
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
        elif result is not None and (violated := lengths(result)):
            found.violated.append({"together": tried, "lengths": violated})
    if last is not None:
        found.together = {name: value for name, value in found.together.items() if last.bounds.get(name)}
        found.together_states = last.distinct


# --- what was left undecided ------------------------------------------------------------------------------------------


def ask_again(scenario: Scenario, found: Row, states: int) -> Iterator[Row]:
    """Repeats the searches that were given up at fewer states, and gives the row after each of them.

    The combined settings stay as they are.
    """
    cells, found = found.undecided, replace(found, undecided=[], limit=states)
    wider, before = raised(scenario), settings_of(scenario)
    for i, cell in enumerate(cells):
        if cell.get("limit", STATES) >= states:
            found.undecided.append(cell)
            continue
        name = cell["raised"]
        changes = {n: v for n, v in wider.items() if before[n]} if name == "all" else {name: wider[name]}
        result = asked(scenario, changes, states)
        assert result is not None, cell
        found.add({key: cell[key] for key in ("raised", "from", "to") if key in cell}, result)
        yield replace(found, undecided=[*found.undecided, *cells[i + 1 :]])


# --- what --update writes ---------------------------------------------------------------------------------------------


def read_rows(path: Path) -> dict[str, Row]:
    """The rows of a file, by the names of the scenarios."""
    return {name: Row(name, **data) for name, data in tomllib.loads(path.read_text(encoding="utf-8")).items()}


def write_row(path: Path, row: Row) -> None:
    """Puts a row into a file, in place of the old row and in the order of names."""
    rows = {**read_rows(path), row.name: row}
    path.write_text("\n".join(rows[name].as_toml() for name in sorted(rows)), encoding="utf-8")


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


def first_asked(scenario: Scenario, states: int, update: bool) -> Iterator[Row]:
    found = row(scenario, states)
    if update:
        write_seen(scenario, found.together)
    yield found


def asked_rows(scenario: Scenario, given: argparse.Namespace) -> Iterator[Row]:
    """The new rows of a scenario, as the command line asks for them."""
    if not given.undecided:
        yield from first_asked(scenario, given.states, given.update)
    elif known := read_rows(DATA).get(scenario.name):
        yield from ask_again(scenario, known, given.states)


def show(names: list[str]) -> None:
    """Prints the table of the recorded results."""
    print(HEADER)
    for name, known in read_rows(DATA).items():
        if any(fnmatch.fnmatch(name, pattern) for pattern in names):
            print(known)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("names", nargs="*", default=["*"], metavar="SCENARIO")
    parser.add_argument("--states", type=int, default=STATES, help=f"give up after this many states ({STATES:,})")
    parser.add_argument("--update", action="store_true", help="write the rows, and the settings that were seen to hold")
    parser.add_argument("--undecided", action="store_true", help="repeat only the searches that were undecided")
    parser.add_argument("--show", action="store_true", help="check nothing, and print the recorded table")
    given = parser.parse_args()
    if given.show:
        show(given.names)
        return
    for scenario in holding(given.names):
        for found in asked_rows(scenario, given):
            print(found, flush=True)
            if given.update:
                write_row(DATA, found)


if __name__ == "__main__":
    main()
