"""Makes the review of a change as data: the answers about the old and the new version, and their differences."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

from isrcheck.checker.analysis.inclusion.inclusion_check import Comparison, Histories, Side, changed_settings
from isrcheck.checker.analysis.inclusion.subset_construction import Bounds
from isrcheck.checker.changes.mutation.mutant_verdicts import Question
from isrcheck.checker.changes.mutation.mutation_run import Mutation, mutation
from isrcheck.checker.changes.review.model_differences import Differences, differences
from isrcheck.checker.changes.review.question_differences import Questions, questions
from isrcheck.checker.changes.review.verdict_differences import Row, Scenarios, Turned, scenarios, verdicts
from isrcheck.checker.proofs.proof_result import ProofResult
from isrcheck.checker.proofs.prove import prove
from isrcheck.checker.registry.loader import blaming
from isrcheck.checker.results.exploration import Limits
from isrcheck.checker.results.result import FORMAT, Exit


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
    tell("what is written")
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
