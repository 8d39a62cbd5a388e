"""Checks the side conditions of a proof.

The side conditions show that the proof is about this model. They also detect errors in isrcheck that could let a
proof wrongly succeed.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, field, replace
from typing import Any, Final

from isrcheck.checker.analysis.check import check
from isrcheck.checker.engines.symbolic.solver import Watch
from isrcheck.checker.proofs.attempts import Attempt, Bound, differences, unbounded
from isrcheck.checker.proofs.bounded_equivalence import BoundedEquivalence
from isrcheck.checker.registry.loader import LoadedModel
from isrcheck.checker.results.exploration import Limits
from isrcheck.checker.results.text_layout import number
from isrcheck.model.language.settings import BARE, Setting
from isrcheck.model.semantics.tracing import trace

SMALL: Final = 2
"""The value of each bound in the checks of history and of reachable states, unless `_settings` gives another value."""
TIED: Final = 3
"""The value of each bound in the comparison with the model without bounds, unless `_settings` gives another value."""
LOOK: Final = Limits(seconds=20, memory=2 << 30)


@dataclass
class Conditions:
    """The results of the side conditions. `sentences` maps the name of each condition to a sentence about its result.

    `failed` names the fatal conditions that failed. If `failed` is not empty, the proof is not trusted.
    """

    sentences: dict[str, str] = field(default_factory=dict)
    failed: list[str] = field(default_factory=list)

    def record(self, name: str, wrong: Iterable[str], fine: str, fatal: bool = True) -> None:
        found = list(wrong)
        self.sentences[name] = "; ".join(found) if found else fine
        if found and fatal:
            self.failed.append(name)


def side_conditions(attempt: Attempt, watch: Watch, tell: Callable[[str], None]) -> Conditions:
    found = Conditions()
    small = Bound(attempt, _settings(attempt, SMALL, lowered=attempt.form == "bit-vectors"))
    tell("comparing the model with and without history variables")
    plain = trace(small.plain)
    found.record(
        "history variables restrict nothing", differences(plain, small.system), "every step is a step of the model"
    )
    tell("checking the lemmas in reachable states")
    _reachable(attempt, small, watch, found)
    if attempt.form == "unbounded":
        tell("comparing the unbounded form with the model at some bounds")
        equivalence = Bound(attempt, _settings(attempt, TIED))
        different = BoundedEquivalence(
            equivalence.system, equivalence.model, unbounded(attempt), attempt.stated()
        ).differences(watch)
        where = f"z3, each action at {_shown(equivalence.plain.settings)}"
        found.record("the unbounded form matches the model", different, where)
    return found


def _settings(attempt: Attempt, bound: int, lowered: bool = False) -> dict[str, Any]:
    """The settings of an attempt, with a new value for each setting that is a bound.

    The new value is the number `bound`, or the nearest number that the setting allows. If `lowered` is true, no setting
    gets a larger value than in the attempt.
    """
    declared = attempt.loaded.cls.declared_settings()
    given = attempt.loaded.cls(**attempt.settings).settings
    bounds = {n: _nearest(declared[n], bound) for n in given if declared[n].bound is not None}
    return given | {n: min(x, given[n]) if lowered else x for n, x in bounds.items()}


def _nearest(setting: Setting, bound: int) -> int:
    least, most = setting.at_least, setting.at_most
    bound = bound if least is None else max(bound, least)
    return bound if most is None else min(bound, most)


def _reachable(attempt: Attempt, small: Bound, watch: Watch, noted: Conditions) -> None:
    model = LoadedModel(attempt.model, attempt.loaded.name, None, small.stated)
    watch.look()
    seconds = min(x for x in (LOOK.seconds, watch.left) if x is not None)
    limits = replace(LOOK, seconds=seconds)
    values, names = dict(small.model.settings), tuple(small.stated)
    found = check(model, values, profile=BARE, invariants=names, keep_going=True, limits=limits)
    # A false candidate is no failure, because candidates may be dropped. A false lemma or target is a failure.
    false = [name for name, outcome in found.invariants.items() if outcome.verdict == "violated"]
    states = f"{number(found.distinct)} states at {_shown(found.settings)}"
    how_far = f"all {states}" if found.verdict != "incomplete" else f"the first {states}"
    candidates = attempt.proof.statements("candidate")
    serious = [f"{name} is false" for name in false if name not in candidates]
    if found.evaluation is not None:
        serious.append(f"evaluation error: {found.evaluation.where}: {found.evaluation.what}")
    noted.record("lemmas hold in reachable states", serious, how_far)
    never = found.actions_never_fired
    noted.record("every action happens", [f"{name} never" for name in never], f"among {how_far}", fatal=False)


def _shown(settings: dict[str, Any]) -> str:
    return "/".join(str(x) for x in settings.values() if isinstance(x, int) and not isinstance(x, bool))
