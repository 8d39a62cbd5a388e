"""Checks each mutant of a model. Finds an invariant or a property that notices the mutant, with a shortest trace."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Final

from isrcheck.checker.analysis.check import check
from isrcheck.checker.analysis.process_pool import in_order
from isrcheck.checker.changes.mutation.further_checks import (
    asked_what_must_happen,
    can_kill,
    in_scenarios,
    in_the_model,
)
from isrcheck.checker.changes.mutation.mutant_comparison import Difference, differences
from isrcheck.checker.changes.mutation.mutant_verdicts import (
    OUTCOMES,
    Outcome,
    Question,
    Verdict,
    cores,
    search_verdict,
    vacuous,
)
from isrcheck.checker.changes.mutation.mutants import Family, Mutant, chosen_actions, family
from isrcheck.checker.registry.loader import LoadedModel, blaming, load_model_class
from isrcheck.checker.results.result import FORMAT, Exit, PropertyResult, Result
from isrcheck.model.semantics.tracing import trace, uses_enabled

Tell = Callable[[str], None]
Wanted = Callable[[int, Mutant], bool]
"""A function that gets a mutant's number and the mutant, and says whether the mutant is checked."""


@dataclass(frozen=True)
class Mutation:
    """The check of the model itself (`own`), and the verdicts on its mutants.

    The verdicts are ordered by action, then by the position in the source. `senseless` counts the edits that do not
    give a valid model. If the model holds and yet no mutant was checked, `reason` says why. `properties` are the
    requested properties, with their verdicts on the model.
    """

    question: Question
    own: Result
    verdicts: tuple[Verdict, ...]
    senseless: int
    reason: str | None = None
    properties: dict[str, PropertyResult] = field(default_factory=dict)

    @property
    def asked_properties(self) -> tuple[str, ...]:
        """The properties that mutants are checked for: those that can kill a mutant."""
        return tuple(name for name, outcome in self.properties.items() if can_kill(outcome))

    def count(self, outcome: Outcome) -> int:
        return sum(v.outcome == outcome for v in self.verdicts)

    def elsewhere(self, outcome: Outcome) -> int:
        """How many mutants have this outcome in a scenario."""
        return sum(v.outcome == outcome and v.scenario is not None for v in self.verdicts)

    @property
    def is_open(self) -> bool:
        """Whether something is unknown about a mutant, or about a liveness property in the model."""
        unknown = any(outcome.verdict == "incomplete" for outcome in self.properties.values())
        return unknown or self.reason is not None or any(v.is_open for v in self.verdicts)

    @property
    def exit_code(self) -> int:
        """The exit code of the model's check, if it is not 0.

        Otherwise the exit code is 152 if `is_open`, else 10 if a mutant survives, else 0.
        """
        if self.own.exit_code != Exit.HOLDS:
            return self.own.exit_code
        codes = {Exit.LIMIT: self.is_open, Exit.DIFFERENCE: self.count("survived")}
        return next((code for code, there in codes.items() if there), Exit.HOLDS)

    def to_json(self) -> dict[str, Any]:
        own = self.own.to_json()
        return {
            "format": FORMAT,
            "exit_code": self.exit_code,
            "reason": self.reason,
            **{name: own[name] for name in ("model", "profile", "settings", "distinct", "depth", "verdict")},
            "invariants": sorted(self.own.invariants),
            "fairness": self.question.fairness.to_json() if self.question.liveness else None,
            "liveness": {
                name: {"verdict": f.verdict, "vacuous": f.vacuous, "reason": f.why}
                for name, f in self.properties.items()
            },
            "counts": {outcome: self.count(outcome) for outcome in OUTCOMES},
            "scenarios": [name for name, _, _ in self.question.scenarios],
            "senseless": self.senseless,
            "mutants": [v.to_json() for v in self.verdicts],
        }


def mutation(
    question: Question, tell: Tell = lambda line: None, wanted: Wanted = lambda number, mutant: True
) -> Mutation:
    """Checks the model, then the mutants that `wanted` selects. The limits apply to each check separately.

    No mutant is checked if the model does not hold, or if a limit ends the comparison of the mutants with the model.
    """
    loaded = load_model_class(question.model)
    own = check(
        loaded,
        question.settings,
        profile=question.profile,
        invariants=question.invariants,
        limits=question.limits,
        workers=1,
    )
    if own.exit_code != Exit.HOLDS:
        return Mutation(question, own, (), 0)
    families = families_of(question, loaded)
    tell(f"comparing {sum(len(f.mutants) for f in families)} edits in {len(families)} actions with the model")
    with blaming(loaded.source_file):
        model = loaded.cls(**question.settings)
        pairs = [(f.instances, m.instances) for f in families for m in f.mutants]
        compared = differences(trace(model, loaded.chosen(question.invariants)), pairs, question.limits)
    if compared is None:
        return Mutation(question, own, (), 0, "the second exploration of the model, for the comparison, did not finish")
    if question.liveness:
        tell("checking liveness of the model")
    properties = in_the_model(loaded, question)
    mutants = enumerate((m for f in families for m in f.mutants), 1)
    compared_with = zip(mutants, compared, strict=True)
    with blaming(loaded.source_file):
        asks = uses_enabled(model, loaded.chosen(question.invariants))
    unchecked = [_compared(i, m, d, asks) for (i, m), d in compared_with if wanted(i, m)]
    asked = replace(question, liveness=tuple(name for name, outcome in properties.items() if can_kill(outcome)))
    verdicts = list(_checked(asked, own, unchecked, tell))
    if question.scenarios:
        verdicts = in_scenarios(question, verdicts, tell)
    return Mutation(question, own, tuple(verdicts), sum(f.senseless for f in families), properties=properties)


def _compared(number: int, mutant: Mutant, difference: Difference, asks: bool) -> Verdict:
    """The verdict on a mutant from the comparison alone. The outcome is `survived` if the comparison does not decide.

    `asks` is true if something in the model calls `s.enabled`. Then the mutant must be checked, because it may also
    differ in states that the comparison does not see.
    """
    found = Verdict(number, mutant.action, mutant.touches, mutant.edit, "survived", difference.level)
    if difference.level is None:
        return found if asks else replace(found, outcome="equivalent")
    if difference.only_forbids:
        return replace(found, outcome="forbids") if difference.fires or asks else vacuous(found)
    return found


def families_of(question: Question, loaded: LoadedModel) -> list[Family]:
    """The mutants that the question is about, action by action."""
    with blaming(loaded.source_file):
        model = loaded.cls(**question.settings)
        return [family(model, action) for action in chosen_actions(model, question.actions)]


def _checked(question: Question, own: Result, unchecked: Sequence[Verdict], tell: Tell) -> Iterator[Verdict]:
    """Yields the verdicts in the order of the mutants. Checks a mutant only if a check may change its outcome."""
    # A mutant that the comparison finds vacuous reaches no other states, so only a property may tell more about it.
    unknown = UNKNOWN if not question.liveness else (*UNKNOWN, "vacuous")
    open_ones = [(question, own.distinct, v) for v in unchecked if v.outcome in unknown]
    answers = in_order(_answered, open_ones, question.workers or cores(), _ended)
    for verdict in unchecked:
        found = next(answers) if verdict.outcome in unknown else verdict
        tell(f"{found.number} of {len(unchecked)}: {found.outcome}: {found.action} {found.edit.where}")
        yield found


UNKNOWN: Final = ("survived", "forbids")
"""The outcomes of the comparison that a check of the invariants may change."""
Asked = tuple[Question, int, Verdict]


def _answered(asked: Asked) -> Verdict:
    """Checks a mutant at the question's own settings. This runs in a process that may also check other mutants."""
    question, distinct, verdict = asked
    if verdict.outcome in UNKNOWN:
        verdict = search_verdict(
            verdict, question.model, question.settings, question.invariants, question.limits, distinct
        )
    return asked_what_must_happen(verdict, question)


def _ended(asked: Asked) -> Verdict:
    return replace(asked[2], outcome="not finished", reason="its process ended: out of memory")
