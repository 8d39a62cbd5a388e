"""Prints the tables of docs/explanation/mutation.md as Markdown: `python benchmarks/mutations.py [NAME]...`.

Each design gets one row of the summary. With `--survivors`, its mutants that nothing kills are printed, too. Each
design is like one run of `isrcheck mutate --scenarios`, with progress on standard error. `survivors.toml` gives each
survivor a class. A survivor without a class is not explained, and the exit code is then 1. The name `fixes` prints the
table of the fixes of v3. With --json FOLDER the complete outcomes are kept.
"""

from __future__ import annotations

import argparse
import ast
import fnmatch
import json
import sys
import tomllib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from beyond import beyond

from isrcheck.checker.analysis.check import check
from isrcheck.checker.changes.mutation.edits import Edit
from isrcheck.checker.changes.mutation.further_checks import places
from isrcheck.checker.changes.mutation.mutant_verdicts import Outcome, Place, Question, Verdict
from isrcheck.checker.changes.mutation.mutants import mutated
from isrcheck.checker.changes.mutation.mutation_run import Mutation, mutation
from isrcheck.checker.changes.mutation.mutation_table import how
from isrcheck.checker.registry.loader import load_model_class
from isrcheck.checker.results.exploration import Limits
from isrcheck.checker.scenarios.collection import folders
from isrcheck.checker.scenarios.scenario import read
from isrcheck.model.language.settings import BARE
from isrcheck.model.semantics.tracing import meaningless

ROOT = Path(__file__).parent.parent
FOLDERS = {folder.name: folder for folder, _ in folders((str(ROOT / "counterexamples"),))}
SCENARIOS = {
    "kip-101": "truncate-to-hw-fixed-by-kip-101",
    "kip-279": "kip-101-fixed-by-kip-279",
    "kip-320": "kip-279-fixed-by-kip-320",
    "v3": "v3-with-later-fixes",
    "v2": "v2-joins-at-the-next-commit",
    "v1": "v1-three-brokers-with-all-fixes",
    "alter-isr": "alter-isr-with-later-fixes",
    "primary-backup": "primary-backup-two-of-three-fail",
    "majority": "majority-with-crashes",
    "kraft": "kraft-last-replica-standing-fixed-by-kip-966",
}
"""For each design, the scenario whose model and settings are mutated. Everything holds in these scenarios."""
OVER: dict[str, dict[str, Any]] = {
    **{name: {"log_size": 1} for name in ("v3", "v2", "v1")},
    "alter-isr": {"max_leader_epoch": 1, "max_version": 3, "controller_failover": False},
}
"""Settings that override those of the scenario, so that a mutant takes only seconds."""
MOST = {"v3": 6_000, "v1": 25_000, "v2": 10_000, "alter-isr": 10_000, "kraft": 6_000}
"""The most states of further scenarios in which mutants are checked; 60,000 for designs that are not named here."""
LARGER = {
    "v3": (
        "v3-kip-320-with-truncation-fencing",
        "v3-stale-controller-command-fixed-by-the-leader-epoch",
        "v3-three-replicas-and-a-new-leader-that-admits-late",
    ),
    "v2": ("v2-joins-at-the-next-commit", "v2-new-leader-takes-its-log-end"),
    "alter-isr": ("alter-isr-request-of-a-former-life-fixed-by-kip-380",),
    "majority": (
        "majority-vote-for-who-is-up-to-date",
        "majority-flushes-its-log-first",
        "majority-counts-votes-of-its-own-epoch",
        "majority-counts-copies-of-its-own-epoch",
    ),
}
"""Further scenarios with more states in which mutants are checked, too."""
COLUMNS: tuple[tuple[str, tuple[Outcome, ...], bool | None], ...] = (
    ("killed there", ("killed",), False),
    ("killed in another scenario", ("killed",), True),
    ("leaves a domain", ("evaluation error",), None),
    ("never possible", ("vacuous",), None),
    ("equivalent", ("equivalent",), None),
    ("nothing new", ("nothing new",), None),
    ("unread", ("unread",), None),
    ("forbids", ("forbids",), None),
    ("survives", ("survived", "not finished"), None),
)
"""The columns of the summary: a heading, its outcomes, and whether another scenario decides (None: either way)."""
FIXES = (
    ("KIP-320, fetches", "v3-stale-fetch-counts-fixed-by-kip-320", "fetch", "same_epoch ="),
    ("KIP-320, truncations", "v3-kip-320-with-truncation-fencing", "truncate", "same_epoch ="),
    ("KAFKA-7128", "v3-no-epoch-start-guard-fixed-by-kafka-7128", "expand-isr", "end >= replica.epoch_start"),
    (
        "conditional ISR writes",
        "v3-one-epoch-two-leaders-fixed-by-conditional-writes",
        "*-isr",
        "state.version == replica.version",
    ),
    ("conditional ISR writes", "v3-two-leaders-and-conditional-writes", "*-isr", "state.version == replica.version"),
    ("conditional controller writes", "v3-controller-writes-conditionally", "on-broker-change*", "known.version"),
    ("KAFKA-6082", "v3-two-controllers-one-epoch-fixed-by-kafka-6082", "on-broker-change*", "s.controller == c"),
    ("KAFKA-6082", "v3-deposed-controller-writes-fixed-by-kafka-6082", "on-broker-change*", "s.controller == c"),
    ("commands by leader epoch", "v3-stale-controller-command-fixed-by-kafka-1188", "become-*", "request.epoch >"),
    (
        "commands by leader epoch",
        "v3-stale-controller-command-fixed-by-the-leader-epoch",
        "become-*",
        "request.epoch >",
    ),
    ("KAFKA-1188", "v3-stale-controller-command-fixed-by-kafka-1188", "become-*", "self.is_current("),
    ("KIP-380, no bounce unseen", "v3-unnoticed-bounce-waits-fixed-by-kip-380", "on-broker-startup", "self.acting("),
    ("KIP-380, no bounce unseen", "v3-unnoticed-lossy-bounce-fixed-by-kip-380", "on-broker-startup", "self.acting("),
    ("KIP-380, nothing sent before", "v3-bounce-and-stale-command-fixed-by-kip-380", "*", "s.channel[c][b] = []"),
    ("KIP-380, nothing sent before", "v3-stop-meant-for-a-former-life-fixed-by-kip-380", "*", "s.channel[c][b] = []"),
    ("KIP-516, commands", "v3-topic-recreated-fixed-by-kip-516", "*-by-command", "request.incarnation =="),
    ("KIP-516, fetches", "v3-topic-recreated-fixed-by-kip-516", "fetch", "s.incarnation[p][leader] =="),
    (
        "KIP-516, StopReplica",
        "v3-late-stop-after-a-recreation-fixed-by-kip-516",
        "fetch",
        "s.incarnation[p][leader] ==",
    ),
    ("KIP-570", "v3-late-stop-after-a-reassignment-fixed-by-kip-570", "stop-replica", "request.epoch"),
    ("KAFKA-15665", "v3-reassignment-completes-early-fixed-by-kafka-15665", "*", "caught_up("),
    ("KAFKA-7786", "v3-late-truncation-answer-fixed-by-kafka-7786", "truncate", "reply.asked_in == replica.epoch"),
    ("leader from the ISR", "v3-reassignment-takes-a-member-of-the-isr", "move-*", "state.isr.has(leader)"),
    ("min.insync.replicas", "v3-min-isr-of-two", "commit", "self.may_acknowledge("),
    ("clean elections", "v3-unclean-election-forbidden", "on-broker-change", "possible"),
    ("controller epoch of INIT", "v3-stale-init-fixed-by-the-controller-epoch", "*", "self.is_current("),
)
"""The fixes of v3 that are a guard or an update: the name, a scenario in which the fixed design holds, the actions, and
a text in the line of the fix."""
NAMES = (*SCENARIOS, "fixes")
CLASSES: dict[str, dict[str, list[list[str]]]] = tomllib.loads(
    Path(__file__).with_name("survivors.toml").read_text(encoding="utf-8")
)
"""The survivors by class (the reason why nothing notices them) and design: the action, the function as `file:name`, and
the change."""
UNEXPLAINED = "**not explained**"
EXPLAINED = {design for mutants in CLASSES.values() for design in mutants}
"""The designs whose survivors have classes. Those of the published models need none."""
LIMITS = Limits(seconds=120, memory=3 << 30)


def run(folder: str, workers: int | None, actions: str, text: str) -> Mutation:
    """The outcomes of the mutants of some actions and lines, at the settings of a scenario and with its invariants."""
    scenario = read(FOLDERS[folder])
    names = tuple(fnmatch.filter(load_model_class(scenario.model).cls.actions(), actions))
    question = Question(scenario.model, scenario.settings, scenario.invariants, names, limits=LIMITS, workers=workers)
    return mutation(question, wanted=lambda _, m: not text or (m.edit.kind != "weakened" and text in m.edit.text))


def whole(name: str, workers: int | None) -> Mutation:
    """The outcomes of all mutants of a design, with every invariant that holds in it, also in its other scenarios."""
    settings = {**read(FOLDERS[SCENARIOS[name]]).settings, **OVER.get(name, {})}
    return mutation(
        Question(
            name,
            settings,
            true_of(name, settings),
            limits=LIMITS,
            workers=workers,
            scenarios=asked_besides(name),
        ),
        tell=lambda line: print(line, file=sys.stderr, flush=True),
    )


def true_of(name: str, settings: dict[str, Any]) -> tuple[str, ...]:
    """Every invariant that fits a model and that holds in it at these settings."""
    loaded = load_model_class(name)
    fit = tuple(sorted(loaded.invariants.keys() - meaningless(loaded.cls(**settings), loaded.invariants)))
    found = check(loaded, settings, profile=BARE, invariants=fit, keep_going=True, workers=1).invariants
    return tuple(invariant for invariant in fit if found[invariant].verdict == "holds")


def asked_besides(name: str) -> tuple[Place, ...]:
    """The recorded scenarios, the smallest first, in which a mutant is checked that nothing notices at the settings."""
    most, larger = MOST.get(name, 60_000), LARGER.get(name, ())
    found = places(name, (str(ROOT / "counterexamples"),))
    return tuple(place for place in found if place[2] <= most or place[0] in larger)


def fixes(workers: int | None) -> Iterator[str]:
    yield "| fix | outcome | by | action | in | change |"
    yield "|---|---|---|---|---|---|"
    for fix, folder, actions, text in FIXES:
        found = run(folder, workers, actions, text)
        link = f"[{fix}](../{FOLDERS[folder].relative_to(ROOT)})"
        weaker = [v for v in found.verdicts if v.outcome not in ("forbids", "vacuous")]
        for verdict in weaker:
            yield f"| {link} {row(verdict)}"
        if not weaker:
            yield f"| {link} | no such line: {found.own.verdict} {found.reason} | | | | |"
    yield ""


def heading() -> Iterator[str]:
    names = ["design", "scenario", "states", "mutants", *(name for name, _, _ in COLUMNS)]
    yield f"| {' | '.join(names)} |"
    yield f"|{'---|' * len(names)}"


def summary(name: str, found: Mutation) -> str:
    cells = [f"`{name}`", f"`{SCENARIOS[name]}`", f"{found.own.distinct:,}", str(len(found.verdicts))]
    return f"| {' | '.join([*cells, *(str(_count(found, *column)) for column in COLUMNS)])} |"


def _count(found: Mutation, name: str, outcomes: tuple[Outcome, ...], elsewhere: bool | None) -> int:
    these = [v for v in found.verdicts if v.outcome in outcomes]
    return sum(elsewhere is None or elsewhere == (v.scenario is not None) for v in these)


def survivors(found: Mutation) -> Iterator[str]:
    yield "\n| outcome | why | by | action | in | change |"
    yield "|---|---|---|---|---|---|"
    for verdict in found.verdicts:
        if verdict.outcome in ("survived", "not finished"):
            yield row(verdict, new_in(found.question, verdict), f"{why(found.question.model, verdict)} | ")
        elif verdict.outcome in ("nothing new", "unread", "forbids"):
            yield row(verdict, why=" | ")
    yield ""


def why(design: str, verdict: Verdict) -> str:
    """The class of a survivor of a design; `UNEXPLAINED` if it has none."""
    if design not in EXPLAINED:
        return ""
    mutant = [verdict.action, ":".join(place_of(verdict.edit)), verdict.edit.words]
    named = (name for name, mutants in CLASSES.items() if mutant in mutants.get(design, []))
    return next(named, UNEXPLAINED)


def new_in(question: Question, verdict: Verdict) -> str:
    """The text on the scalars in which a survivor reaches new states."""
    places = {name: settings for name, settings, _ in question.scenarios}
    settings = places[verdict.scenario] if verdict.scenario is not None else question.settings
    cls = load_model_class(question.model).cls
    names = beyond(cls, mutated(cls, verdict.action, verdict.edit), settings)
    return f", new only in {', '.join(names)}" if names else ", nothing new"


def row(verdict: Verdict, more: str = "", why: str = "") -> str:
    words = verdict.edit.words.replace("|", "\\|")
    by = f" at `{verdict.by}`" if verdict.by else ""
    file, function = place_of(verdict.edit)
    return (
        f"| {verdict.outcome} | {why}{how(verdict)}{more}{by} | {verdict.action} | {file}, `{function}` | `{words}` |"
    )


def place_of(edit: Edit) -> tuple[str, str]:
    """The file and the innermost function that an edit changes. Unlike line numbers, they outlive changed comments."""
    found = ast.walk(ast.parse(Path(edit.file).read_text()))
    around = [f for f in found if isinstance(f, ast.FunctionDef) and f.lineno <= edit.line <= (f.end_lineno or 0)]
    return Path(edit.file).name, max(around, key=lambda f: f.lineno).name


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("names", nargs="*", metavar="NAME", help=f"some of {', '.join(NAMES)}; all by default")
    parser.add_argument("--json", type=Path, help="keep the complete outcomes in this folder")
    parser.add_argument("--survivors", action="store_true", help="also print the mutants that nothing notices")
    parser.add_argument("--workers", type=int)
    given = parser.parse_args()
    if given.json is not None:
        given.json.mkdir(parents=True, exist_ok=True)
    for line in heading():
        print(line)
    unexplained = 0
    for name in given.names or NAMES:
        if name == "fixes":
            for line in fixes(given.workers):
                print(line, flush=True)
            continue
        found = whole(name, given.workers)
        if given.json is not None:
            (given.json / f"{name}.json").write_text(json.dumps(found.to_json(), indent=1) + "\n")
        print("\n".join([summary(name, found), *(survivors(found) if given.survivors else ())]), flush=True)
        left = [v for v in found.verdicts if v.outcome in ("survived", "not finished")]
        unexplained += sum(why(name, verdict) == UNEXPLAINED for verdict in left)
    if unexplained:
        print(f"{unexplained} survivors are in no class of survivors.toml", file=sys.stderr)
    return 1 if unexplained else 0


if __name__ == "__main__":
    raise SystemExit(main())
