"""Makes the review of a change as data: the answers about the old and the new version, and their differences.

`review_summary` says in three lines what matters most.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from types import FunctionType
from typing import Any, Final

from isrcheck.checker.analysis.inclusion.endings import Ending
from isrcheck.checker.analysis.inclusion.inclusion_check import Comparison, Histories, OneWay, Side, changed_settings
from isrcheck.checker.analysis.inclusion.subset_construction import Bounds
from isrcheck.checker.changes.mutation.mutant_verdicts import Question
from isrcheck.checker.changes.mutation.mutation_run import Mutation, mutation
from isrcheck.checker.changes.review.model_differences import ChangedFunction, Differences, differences
from isrcheck.checker.changes.review.question_differences import Questions, questions
from isrcheck.checker.changes.review.verdict_differences import Row, Scenarios, Turned, scenarios, verdicts
from isrcheck.checker.proofs.proof_result import ProofResult
from isrcheck.checker.proofs.prove import prove
from isrcheck.checker.registry.loader import blaming
from isrcheck.checker.results.exploration import Limits
from isrcheck.checker.results.result import FORMAT, Exit
from isrcheck.checker.results.text_layout import WIDEST, plural
from isrcheck.model.language.model import Model


@dataclass(frozen=True)
class Wanted:
    """The optional parts that a review is to have, and the limits of its parts."""

    visible: tuple[str, ...] = ()
    bounds: Bounds = field(default_factory=Bounds)
    limits: Limits = field(default_factory=Limits)
    scenarios: bool = True
    mutate: bool = False
    prove: bool = False


@dataclass(frozen=True)
class Review:
    """The changes from `old` to `new`. Each side has its own settings.

    For each side, `states` has the number of found states, and whether all states were explored. `guards` has the
    verdicts on mutants of the new version. Only actions that are new or whose meaning differs are mutated. `guards` is
    None if mutants were not requested, if there are no such actions, or if no predicate holds. `proofs` has a proof
    attempt for each side, or is None if proofs were not requested.
    """

    old: Side
    new: Side
    settings: tuple[tuple[str, str | None, str | None], ...]
    text: Differences
    questions: Questions
    rows: tuple[Row, ...]
    states: tuple[tuple[int, bool], tuple[int, bool]]
    scenarios: Scenarios | None
    inclusion: Comparison
    guards: Mutation | None
    proofs: tuple[ProofResult, ProofResult] | None

    def turned(self, turn: str) -> list[Row]:
        """The rows (invariants and properties) whose verdict changes in the way that `turn` names."""
        return [row for row in self.rows if row.turn == turn]

    def recorded(self, turn: str) -> list[Turned]:
        """The scenarios whose verdict changes in the way that `turn` names."""
        return [] if self.scenarios is None else [each for each in self.scenarios.turned if each.turn == turn]

    @property
    def lost(self) -> tuple[str, ...]:
        """The names of the new model's scenarios that can be checked in the old model, but no longer in the new one."""
        return () if self.scenarios is None else self.scenarios.lost

    @property
    def exit_code(self) -> int:
        """12 if an invariant is broken, 13 if a property is broken, 152 if an answer is open, else 0.

        An invariant or a property is broken if it is violated now, and either held before or is new. A scenario that
        held and is violated now counts as a broken invariant or property. Each scenario in `lost` counts as an open
        answer, and so does an undecided comparison of the behaviours. If several codes apply, the first is used.
        """
        broken = {row.kind for row in self.rows if row.breaks} | {each.kind for each in self.recorded("broken")}
        is_open = any(row.is_open for row in self.rows) or bool(self.recorded("open") or self.lost)
        unknown = is_open or self.inclusion.exit_code == Exit.LIMIT
        codes = {Exit.VIOLATED: "invariant" in broken, Exit.NOT_LIVE: "property" in broken, Exit.LIMIT: unknown}
        return next((code for code, there in codes.items() if there), Exit.HOLDS)

    def to_json(self) -> dict[str, Any]:
        compared = self.inclusion.to_json()["behaviours"]
        return {
            "format": FORMAT,
            "exit_code": self.exit_code,
            "review": {
                "old": compared.pop("a"),
                "new": compared.pop("b"),
                "settings": [list(row) for row in self.settings],
                "fairness": [list(row) for row in self.questions.fairness],
                "states": list(self.questions.states),
                "narrower": list(self.questions.narrower),
                "functions": {
                    "changed": [
                        {
                            "name": f.name,
                            "before": f.before,
                            "where": f.where,
                            "guards_lost": [vars(g) for g in f.lost],
                            "guards_added": [vars(g) for g in f.added],
                        }
                        for f in self.text.changed
                    ],
                    "new": list(self.text.new),
                    "gone": list(self.text.gone),
                },
                "actions": dict(self.text.actions),
                "verdicts": [row.to_json() for row in self.rows],
                "scenarios": None if self.scenarios is None else self.scenarios.to_json(),
                "behaviours": compared,
                "guards": None if self.guards is None else self.guards.to_json(),
                "proofs": None if self.proofs is None else [proof.to_json() for proof in self.proofs],
            },
        }


def review(old: Side, new: Side, wanted: Wanted, tell: Callable[[str], None] = lambda text: None) -> Review:
    """Makes a review of a change. `tell` is called with the name of each part that begins."""
    tell("the code")
    with blaming(old.loaded.source_file), blaming(new.loaded.source_file):
        text = differences(old.model, new.model)
        asked = questions(old, new)
    histories = Histories(old, new, wanted.visible)  # before the checks, because a wrong `visible` is an error
    tell("invariants and properties")
    rows, results = verdicts(old, new, wanted.limits, asked)
    tell("behaviours")
    compared = histories.compare(wanted.bounds)
    recorded = None
    if wanted.scenarios:
        tell("scenarios")
        recorded = scenarios(old, new, wanted.limits, asked)
    guards = None
    if wanted.mutate:
        tell("guards")
        guards = _guards(new, text, rows, wanted.limits)
    proofs = None
    if wanted.prove:
        tell("proofs")
        proofs = _proof(old, wanted.limits), _proof(new, wanted.limits)
    counts = [(result.distinct, result.reason is None) for result in results]
    return Review(
        compared.a,
        compared.b,
        tuple(changed_settings(old, new)),
        text,
        asked,
        tuple(rows),
        (counts[0], counts[1]),
        recorded,
        compared,
        guards,
        proofs,
    )


def _guards(new: Side, text: Differences, rows: Sequence[Row], limits: Limits) -> Mutation | None:
    """Mutates the actions that are new or whose meaning differs. Checks each mutant for the predicates that hold now.

    Returns None if there are no such actions or no such predicates.
    """
    holding = [(row.kind, row.name) for row in rows if row.after and row.after.verdict == "holds"]
    # The name of the deadlock check is left out, because it is no invariant of the model.
    held = tuple(name for kind, name in holding if kind == "invariant" and name in new.loaded.invariants)
    live = tuple(name for kind, name in holding if kind == "property")
    there = set(new.model.actions())
    actions = tuple(name for name, _ in text.actions if name in there)
    if not actions or not (held or live):
        return None
    settings = dict(new.model.settings)
    return mutation(Question(new.spec, settings, held, actions, limits=limits, liveness=live, fairness=new.fairness))


def _proof(side: Side, limits: Limits) -> ProofResult:
    found = prove(side.loaded, dict(side.model.settings), limits=limits)
    if found.reason == "interrupted":
        raise KeyboardInterrupt
    return found


MOST: Final = 3
"""At most this many things of one kind (such as scenarios, functions or guards) are named."""


NAMED: Final = 5
"""At most this many invariants and properties are named for one kind of change."""


def review_summary(found: Review) -> tuple[str, str, str]:
    """The three lines: verdicts, changes, behaviour."""
    verdict = f"{found.old.name} -> {found.new.name} {_verdicts(found)}."
    return verdict, f"What changes: {_cause(found)}", f"Behaviour: {_inclusion(found)}"


def _verdicts(found: Review) -> str:
    alone, open_ones = found.turned("alone"), found.recorded("open")
    new = [row for row in alone if row.before is None]
    gone = [row for row in alone if row.after is None]
    parts = [
        _part("breaks", _named(found.turned("broken"), _after)),
        _part("newly fails", _named([row for row in new if row.breaks or row.is_open], _after)),
        _part("fixes", _named(found.turned("mended"), _before)),
        _part("makes vacuous", _named(found.turned("vacuous"), _before)),
        _part("checks differently", _named(found.turned("otherwise"), _both)),
        _part("no longer checks", _named(gone, _before)),
        _part("breaks scenario", _titles(found.recorded("broken"))),
        _part("fixes scenario", _titles(found.recorded("mended"))),
        _part("makes scenario vacuous:", _titles(found.recorded("vacuous"))),
        _part("checks scenario differently:", _titles(found.recorded("otherwise"))),
        _part("cannot check scenario", [_some(list(found.lost))] if found.lost else []),
        _open(found),
        _part("leaves scenario undecided:", [_some([each.name for each in open_ones])] if open_ones else []),
    ]
    said = [part for part in parts if part]
    return "; ".join(said) if said else f"changes no verdict: {_unturned(found.rows)}"


def _part(what: str, names: list[str]) -> str:
    return f"{what} {', '.join(names)}" if names else ""


def _open(found: Review) -> str:
    count = len(found.turned("open"))
    return f"leaves {count} of {plural(len(found.rows), 'question')} undecided" if count else ""


def _before(row: Row) -> str:
    assert row.before is not None
    return "held" if row.before.text == "holds" else f"{row.before.text} before"


def _after(row: Row) -> str:
    assert row.after is not None
    return row.after.text + (", checked differently" if row.otherwise else "")


def _both(row: Row) -> str:
    assert row.before is not None
    assert row.after is not None
    if row.before == row.after:
        return f"{row.after.text} before and after"
    return f"{row.before.text} before, {row.after.text} after"


def _named(rows: list[Row], words: Callable[[Row], str]) -> list[str]:
    """The names of the first `NAMED` rows, grouped by their text (`words`), and how many other rows there are."""
    groups: dict[str, list[str]] = {}
    for row in rows[:NAMED]:
        groups.setdefault(words(row), []).append(row.name)
    more = [f"{len(rows) - NAMED} more"] if len(rows) > NAMED else []
    return [*(f"{', '.join(names)} ({text})" for text, names in groups.items()), *more]


def _titles(turned: list[Turned]) -> list[str]:
    """The names of scenarios with their titles.

    If there are more than `MOST` scenarios, only the first names are given, without titles, and the others are counted.
    """
    if len(turned) > MOST:
        return [_some([each.name for each in turned])]
    return [f"{each.name} ({each.title[0].lower()}{each.title[1:]})" for each in turned]


def _unturned(rows: Iterable[Row]) -> str:
    asked = [row.after.verdict for row in rows if row.before is not None and row.after is not None]
    hold, violated = asked.count("holds"), asked.count("violated")
    violations = f" and {violated} {'is' if violated == 1 else 'are'} violated" if violated else ""
    return f"{hold} {'holds' if hold == 1 else 'hold'}{violations}, before and after"


def _cause(found: Review) -> str:
    text = (
        [] if _is_another(found) else [*_changed_guards(found.text.changed), *_functions(found.text), *_states(found)]
    )
    parts = [*_purpose(found), *_settings(found), *_fairness(found), *text]
    if not parts and found.text.actions:
        parts = [f"{plural(len(found.text.actions), 'action')}: {_some([name for name, _ in found.text.actions])}"]
    if not parts and found.questions.predicates:
        parts = [f"{_some(sorted(found.questions.predicates))} checked differently"]
    return "; ".join(parts) + "." if parts else "no relevant code."


def _purpose(found: Review) -> list[str]:
    """The first sentence about the new model (see `_said`). Empty if the two sides are versions of one model."""
    return [said] if _is_another(found) and (said := _said(type(found.new.model))) else []


def _is_another(found: Review) -> bool:
    return type(found.old.model).__name__ != type(found.new.model).__name__


def _said(cls: type[Model]) -> str:
    """The first sentence of the docstring of a model's file.

    If the class defines no function, or if the file has no docstring, the sentence is from the class's docstring.
    """
    own = (f.__globals__.get("__doc__") for f in vars(cls).values() if isinstance(f, FunctionType))
    text = next(own, None) or cls.__doc__ or ""
    return " ".join(text.split("\n\n")[0].split()).partition(". ")[0].rstrip(".")


def _settings(found: Review) -> Iterator[str]:
    """The settings that differ, with their meanings. For different models: only the settings that both models have."""
    declared = type(found.old.model).declared_settings() | type(found.new.model).declared_settings()
    for name, before, after in found.settings:
        if before is not None and after is not None:
            yield f"{name} {before} -> {after} ({declared[name].meaning})"
        elif not _is_another(found):
            what = "gone" if after is None else f"new: {after}"
            yield f"{name} {what} ({declared[name].meaning})"


def _fairness(found: Review) -> list[str]:
    """The actions whose fairness differs, in words."""
    said = [f"{name} {before} -> {after}" for name, before, after in found.questions.fairness]
    return [f"fairness of {_some(said)}"] if said else []


def _functions(text: Differences) -> Iterator[str]:
    """The functions that are new, gone or renamed, and the changed functions whose guards are the same."""
    changed = [f.name for f in text.changed if f.name != f.before or not (f.lost or f.added)]
    for names, word in ((changed, "changed"), (list(text.new), "new"), (list(text.gone), "gone")):
        if names:
            yield f"{_some(names)} {word}"


def _states(found: Review) -> list[str]:
    return [f"{_some(list(found.questions.states))} changed"] if found.questions.states else []


def _changed_guards(changed: Iterable[ChangedFunction]) -> list[str]:
    """The guards that were added to or removed from functions that kept their names."""
    same = [f for f in changed if f.name == f.before]
    lost = [f"{f.name} no longer requires {g.text} ({g.where})" for f in same for g in f.lost]
    added = [f"{f.name} requires {g.text} ({g.where})" for f in same for g in f.added]
    return [_some(lost + added)] if lost or added else []


def _inclusion(found: Review) -> str:
    new, gone = found.inclusion.new, found.inclusion.gone
    if new.verdict == gone.verdict == "none":
        ends = [row.name for turn in ("broken", "mended") for row in found.turned(turn) if row.kind == "property"]
        only = f"; only liveness changes: {_some(ends)}" if ends else ""
        return f"no history of {_some(list(found.inclusion.visible))} is new or gone{only}.{_apart(found)}"
    return f"{_way(new, 'new')} {_way(gone, 'gone')}{_apart(found)}"


def _apart(found: Review) -> str:
    """A sentence about the variables that are not compared, because the models give them different kinds of values."""
    apart = found.inclusion.apart
    return f" Not compared, because their types differ: {_some(list(apart))}." if apart else ""


def _way(way: OneWay, word: str) -> str:
    if way.verdict == "none":
        return f"No behaviour is {word}."
    if way.endings is None:
        return f"No behaviour of up to {plural(way.depth or 0, 'state')} is {word}; longer ones are undecided."
    sentences, ending = way.endings.story.sentences, way.endings.ending
    last = sentences[-1].sentence if sentences else "A different initial state."
    refused = f" {_refused(ending)}" if ending.how == "refused" and word == "gone" else ""
    return f"{word.capitalize()}, in {plural(way.endings.trace.length, 'state')}: {last}{refused}"


def _refused(ending: Ending) -> str:
    why = ending.condition if ending.condition and len(ending.condition) <= WIDEST else f"{ending.source} is false"
    room = ", only because of a bound" if ending.room else ""
    return f"Refused because {why} ({ending.where}){room}."


def _some(texts: list[str]) -> str:
    more = len(texts) - MOST
    return ", ".join(texts[:MOST]) + (f" and {more} more" if more > 0 else "")
