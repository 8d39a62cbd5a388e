"""The result of a check as data: a verdict for each invariant, traces, counts. Other programs rely on its JSON form."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Final, Literal, NoReturn

from isrcheck.checker.results.exploration import OrbitCounts
from isrcheck.checker.results.story import Causes, Fix, FixSearch, Story
from isrcheck.model.language.domains import Domain, Value
from isrcheck.model.language.fairness import Fairness
from isrcheck.model.semantics.transition_system import Label

Verdict = Literal["holds", "violated", "incomplete"]
FORMAT: Final = 1
NOT_EXPLORED: Final = "not explored"
"""The note on a bound if the settings switch off what the bound limits."""
COUNTS: Final = ("distinct", "generated", "constraint_rejected", "levels", "left", "states_per_second")
"""Fields of the JSON that are null if the engine does not enumerate states."""


class Exit:
    """The exit codes of commands. If several codes apply, the one that comes first in `PRECEDENCE` is used."""

    HOLDS = 0
    USAGE = 2
    DIFFERENCE = 10
    DEADLOCK = 11
    VIOLATED = 12
    NOT_LIVE = 13
    NONCONFORMING = 14
    UNEXPLAINED = 15
    EVALUATION = 75
    INTERRUPTED = 130
    LIMIT = 152
    UNKNOWN = 150
    OUTPUT = 153
    BUG = 255
    FOUND = frozenset((EVALUATION, VIOLATED, NOT_LIVE, DEADLOCK))
    """What a search has found. A checkpoint or a state that the search cannot write does not hide it."""
    PRECEDENCE = (BUG, OUTPUT, EVALUATION, VIOLATED, NOT_LIVE, DEADLOCK, INTERRUPTED, LIMIT, DIFFERENCE, HOLDS)


class LimitTooSmall(ValueError):
    """The memory limit is too small even for an empty search. `minimum` bytes would be enough."""

    def __init__(self, limit: int, minimum: int) -> None:
        super().__init__(f"a search needs at least {minimum} bytes of memory; the limit is {limit}")
        self.minimum = minimum


class CheckpointRefused(ValueError):
    """A checkpoint cannot be begun, or it cannot be resumed, for example because it is damaged.

    The message is one line, and names the remedy.
    """


@dataclass(frozen=True)
class Step:
    """A state of a trace, and the label of the action instance that leads to it (None for the first state)."""

    label: Label | None
    actor: str | None
    state: tuple[Value, ...]


@dataclass(frozen=True)
class Instance:
    """The reason why a predicate is false in a state.

    `choice` has the values of quantified parameters for which the predicate is false: pairs of a name and JSON data.
    `reads` has the parts of the state that the predicate reads for this choice: pairs of a path (`log[1]`) and JSON
    data.
    """

    choice: tuple[tuple[str, Any], ...]
    reads: tuple[tuple[str, Any], ...]


@dataclass(frozen=True)
class LastHeld:
    """The number of the last state of a trace in which a condition was true (from 1). None if there is no such state.

    `what` names the condition, such as "every member of the ISR has the record".
    """

    what: str
    state: int | None


@dataclass(frozen=True)
class Trace:
    """A path of the model, usually from an initial state. A counterexample to induction may begin in any state.

    `variables` names the variables of the states and gives their domains. A trace with a `loop` is a *lasso*, which
    goes on for ever: it repeats the steps from the state at position `loop` (counted from 0) to the last state of the
    trace. These two states are equal. If `loop` is the last position, the behaviour stays in the last state for ever.
    """

    variables: tuple[tuple[str, Domain], ...]
    steps: tuple[Step, ...]
    loop: int | None = None

    @property
    def length(self) -> int:
        """The number of states, including the initial one."""
        return len(self.steps)

    @property
    def stays(self) -> bool:
        """Whether the trace is a lasso that stays in its last state."""
        return self.loop == self.length - 1

    def to_json(self) -> list[dict[str, Any]]:
        return [self._step(step) for step in self.steps]

    def _step(self, step: Step) -> dict[str, Any]:
        state = {n: d.to_json(x) for (n, d), x in zip(self.variables, step.state, strict=True)}
        if step.label is None:
            return {"state": state}
        return {"action": step.label.action, "parameters": step.label.to_json(), "actor": step.actor, "state": state}


@dataclass(frozen=True)
class InvariantResult:
    """The verdict on one invariant (or on deadlock), with a trace if it is violated, or a depth if it is not decided.

    `sentence` is the text of the invariant. `canonical` is false if another trace may come earlier in canonical order
    (`checker/trace/canonical.py`), or if the level of the violation was not explored completely. `instance` says for
    which choice of parameters the invariant is false in the last state of the trace. `checked_depth` is the number of
    levels without a violation, if the search stopped early. `last_held` is the last state in which the invariant's
    `last_held` condition was true. `causes` are the facts behind the violation, with the steps that made them true.
    `fixes` has fixed designs, each with the step at which it differs from the trace, if there is one. `fix_search`
    are the outcomes with another value of one setting. `story` is the trace in sentences.
    """

    verdict: Verdict
    sentence: str
    trace: Trace | None = None
    canonical: bool = True
    instance: Instance | None = None
    checked_depth: int | None = None
    last_held: LastHeld | None = None
    causes: Causes | None = field(default=None, repr=False)
    fixes: tuple[Fix, ...] = ()
    fix_search: FixSearch | None = None
    story: Story | None = field(default=None, compare=False, repr=False)

    def to_json(self) -> dict[str, Any]:
        if self.verdict == "violated":
            assert self.trace is not None
            return {
                "verdict": self.verdict,
                "length": self.trace.length,
                "canonical": self.canonical,
                "trace": story_json(self.trace, self.story),
                "why": self.why(),
            }
        if self.verdict == "incomplete":
            return {"verdict": self.verdict, "checked_depth": self.checked_depth}
        return {"verdict": self.verdict}

    def why(self) -> dict[str, Any]:
        """The reasons why the invariant is false at the end of the trace, as JSON data."""
        return {
            "choice": {} if self.instance is None else dict(self.instance.choice),
            "reads": {} if self.instance is None else dict(self.instance.reads),
            "last_held": None
            if self.last_held is None
            else {"what": self.last_held.what, "state": self.last_held.state},
            "reasons": None if self.causes is None else self.causes.to_json(),
            "fixes": [fix.to_json() for fix in self.fixes],
            "alternatives": None if self.fix_search is None else self.fix_search.to_json(),
        }


def story_json(trace: Trace, story: Story | None) -> list[dict[str, Any]]:
    """A trace as JSON data. With a story, each step also has its actor in the story (`lifeline`) and its sentence."""
    steps = trace.to_json()
    for sentence in () if story is None else story.sentences:
        steps[sentence.position - 1] |= {"lane": sentence.lifeline.name, "sentence": sentence.sentence}
    return steps


@dataclass(frozen=True)
class PropertyInstance:
    """The result for one choice of a property's parameters.

    A violation is a fair behaviour that stays in the *region* for ever and breaks the property there. The region
    depends on the kind of the property. For example, the region of `leads_to` has the states that are reached after the
    first condition was true and before the second is true. The region of `eventually_always` has all reachable states.
    `region` counts the states of the region.

    A behaviour stays in the region in one state (an *end*) or in a strongly connected set of states (a *component*).
    `fair_ends` and `fair_components` count the ends and components with a violation, and `fair_states` counts the
    states of these components. `unfair_components` counts the components without a violation. A step that only a bound
    or a constraint prevents counts as enabled. `excused_ends` and `excused_components` count the ends and components
    that have no violation only because of this rule. `vacuous` says that the region is empty, so nothing had to happen.
    `only_excused` says that there are excused ends or components, and no other behaviour: no step leaves the region,
    and no fair behaviour stays in it. If the property holds, `fairness_used` has actions whose fairness is enough to
    make it hold.

    For a stable condition, the region has the states in which the condition is true. A violation is a step out of the
    region. The counts of ends and components are 0.
    """

    choice: tuple[tuple[str, Any], ...]
    vacuous: bool
    region: int = 0
    fair_ends: int = 0
    fair_components: int = 0
    fair_states: int = 0
    unfair_components: int = 0
    excused_ends: int = 0
    excused_components: int = 0
    fairness_used: tuple[str, ...] = ()
    only_excused: bool = False

    @property
    def excused(self) -> int:
        return self.excused_ends + self.excused_components


@dataclass(frozen=True)
class PropertyResult:
    """The verdict on a property of whole behaviours, with the result for each choice of its parameters.

    For a violation, `trace` is a lasso for `choice`. For a violated stable condition, `trace` is no lasso: its last
    step ends the condition. `shortest_cycle` is false if the cycle of the lasso may not be the shortest.

    `kept` says why the lasso is fair although its cycle never takes some actions with weak fairness. It has a pair for
    each such action that is enabled in some state of the cycle. The pair is the action's fairness obligation and a
    state of the cycle in which the action is disabled (the position in the trace, counted from 1). Here an action whose
    step would change nothing counts as disabled. `why` is the reason for an incomplete verdict. `canonical` is false if
    not everything was explored. Then the counts are only about the explored part, and there may be a shorter lasso.
    """

    verdict: Verdict
    sentence: str
    kind: str
    asked: tuple[PropertyInstance, ...] = ()
    choice: tuple[tuple[str, Any], ...] = ()
    trace: Trace | None = None
    shortest_cycle: bool = True
    kept: tuple[tuple[str, int], ...] = ()
    why: str | None = None
    canonical: bool = True
    story: Story | None = field(default=None, compare=False, repr=False)

    @property
    def vacuous(self) -> bool:
        return bool(self.asked) and all(each.vacuous for each in self.asked)

    @property
    def only_excused(self) -> bool:
        """Whether the property holds, but every behaviour that it is about is excused (or there are none)."""
        instances = [each for each in self.asked if not each.vacuous]
        return self.verdict == "holds" and bool(instances) and all(each.only_excused for each in instances)

    @property
    def shows_nothing(self) -> bool:
        """Whether the property holds only vacuously, or only because every behaviour is excused."""
        return self.verdict == "holds" and (self.vacuous or self.only_excused)

    @property
    def fairness_used(self) -> list[str]:
        """If the property holds: actions whose fairness is enough to make it hold."""
        return sorted({action for each in self.asked for action in each.fairness_used})

    def total(self, name: str) -> int:
        """The sum of one count over all choices."""
        return sum(getattr(each, name) for each in self.asked)

    def to_json(self) -> dict[str, Any]:
        data: dict[str, Any] = {"verdict": self.verdict, "kind": self.kind, "sentence": self.sentence}
        if self.why is not None:
            return data | {"reason": self.why}
        data |= {"asked": len(self.asked), "vacuous": self.vacuous}
        data |= {name: self.total(name) for name in FOUND}
        if self.verdict == "holds":
            data |= {"holds_without_excuse": not self.total("excused"), "every_behaviour_excused": self.only_excused}
            data |= {"fairness_used": self.fairness_used}
        if self.trace is not None:
            steps = story_json(self.trace, self.story)
            loop = self.trace.loop
            cut = len(steps) if loop is None else loop + 1
            data |= {
                "choice": dict(self.choice),
                "lasso": {
                    "prefix": steps[:cut],
                    "cycle": steps[cut:],
                    "loop": loop,
                    "canonical": self.canonical,
                    "shortest_cycle": self.shortest_cycle,
                    "kept": [{"obligation": name, "disabled_in": state} for name, state in self.kept],
                },
            }
        if any(each.choice for each in self.asked):
            each = [
                {"choice": dict(x.choice), "vacuous": x.vacuous, **{n: getattr(x, n) for n in FOUND}}
                for x in self.asked
            ]
            data["instances"] = each
        return data


FOUND: Final = (
    "region", "fair_ends", "fair_components", "fair_states", "unfair_components", "excused_ends", "excused_components",
)  # fmt: skip


@dataclass(frozen=True)
class ChangeEffect:
    """Whether a search met a state in which a changed model differs from its base, and at which level first.

    `settings` has the changed settings: the value here, and the value of the base. `parts` has what differs (actions,
    constraints, invariants, the initial states), each with the first level at which a state shows the difference, or
    None. `added` names the invariants that the base does not have. `unlocated` says in words which differences the
    search could not look for. `sizes` has the bounds, and the settings that determine domains, whose values a user's
    class has changed. The base is compared at the same values of these.
    """

    base: str
    settings: dict[str, tuple[Any, Any]]
    parts: dict[str, int | None]
    added: list[str]
    unlocated: list[str]
    sizes: dict[str, Any]

    @property
    def first(self) -> int | None:
        """The first level with a state in which the change acts."""
        return min((level for level in self.parts.values() if level is not None), default=None)

    @property
    def never(self) -> bool:
        """Whether the change acts in no explored state. A model that only adds invariants is no such change."""
        only_asks = bool(self.added) and not self.parts and not self.settings
        return self.first is None and not self.unlocated and not only_asks

    def to_json(self) -> dict[str, Any]:
        return {
            "base": self.base,
            "settings": {name: {"here": here, "base": base} for name, (here, base) in self.settings.items()},
            "acts": True if self.first is not None else False if self.never else None,
            "depth": self.first,
            "parts": self.parts,
            "invariants_added": self.added,
            "not_located": self.unlocated,
            "bounds": self.sizes,
        }


@dataclass(frozen=True)
class EvaluationFailure:
    """An error in the evaluation of the model: message, `file:line`, action, and the trace to where it occurs.

    `canonical` is false if another such state, or another path of the same length, may come earlier in canonical order.
    """

    what: str
    where: str
    label: Label | None
    trace: Trace
    canonical: bool = True
    story: Story | None = field(default=None, compare=False, repr=False)


@dataclass
class Result:
    """The whole result of a check.

    `left` counts the states that were found but not expanded. `generated` maps each action to a list with the number of
    enabled instances of the action in each expanded level. `degrees` is the (least, mean, greatest) number of enabled
    instances in an expanded state. If an engine enumerates no states, there are no counts, and `unrolled` is the number
    of levels that the engine examined. Under symmetry, the search keeps one state of each orbit (see `OrbitCounts`).
    Then all counts are about the kept states, except those in `orbits`, which are about all states.

    `profile` is the profile from which the settings start, or None for the defaults. The settings switch off the
    actions in `actions_without_instance` and the goals in `goals_switched_off`. `bounds_not_explored` names the bounds
    that no state can hit, because the settings switch off what these bounds limit. `inert` has the settings that were
    changed but have no effect, each with the condition under which the setting has an effect. `left_out` has the
    settings whose values leave out something that happens in the real system, each with a description of what is left
    out. `reason` says in words why a run is incomplete, and names the limit if there is one.
    """

    model: str
    settings: dict[str, Any]
    engine: str
    verdict: Verdict
    exit_code: int
    reason: str | None
    initial_states: int
    levels: list[int]
    generated: dict[str, list[int]]
    rejected: int
    left: int
    invariants: dict[str, InvariantResult]
    bounds: dict[str, bool]
    actions_never_fired: list[str]
    goals_never_reached: list[str]
    unrecorded: list[str] = field(default_factory=list)
    """Settings with `recorded=False` that have their default values. Files of traces and scenarios leave them out."""
    actions_without_instance: list[str] = field(default_factory=list)
    goals: list[str] = field(default_factory=list)
    goals_switched_off: list[str] = field(default_factory=list)
    bounds_not_explored: list[str] = field(default_factory=list)
    inert: dict[str, str] = field(default_factory=dict)
    left_out: dict[str, str] = field(default_factory=dict)
    profile: str | None = None
    deadlock: InvariantResult | None = None
    evaluation: EvaluationFailure | None = None
    degrees: tuple[int, float, int] | None = None
    partial: dict[str, int] | None = None
    workers: int = 1
    seconds: dict[str, float] = field(default_factory=dict)
    peak_rss_bytes: int = 0
    store_bytes: int = 0
    sorting_bytes: tuple[int, int] = (0, 0)
    extra: dict[str, Any] = field(default_factory=dict)
    """Further entries of the JSON, for example from an engine."""
    unchecked: list[str] = field(default_factory=list)
    """Invariants in the model's own file that are not checked by default. Empty if the check names its invariants."""
    unmet: list[str] = field(default_factory=list)
    """How the outcome of a scenario differs from what its author expects, in words."""
    failure: str | None = None
    """What failed beside the search: it could not write to disk, or fixes were not compared. A part of `reason`."""
    unrolled: int | None = None
    orbits: OrbitCounts | None = None
    liveness: dict[str, PropertyResult] = field(default_factory=dict)
    fairness: Fairness | None = None
    """The fairness under which properties were checked."""
    change: ChangeEffect | None = None
    """Whether the change acts, if the check has compared the model with its base."""
    system: str | None = None
    """The release of a real system that the model describes at its settings, if it describes one."""

    if not TYPE_CHECKING:

        def __getattr__(self, name: str) -> NoReturn:
            new = "; it is now called `invariants`" if name == "findings" else ""
            raise AttributeError(f"{type(self).__name__!r} object has no attribute {name!r}{new}")

    @property
    def recorded_settings(self) -> dict[str, Any]:
        """The settings that are written to files of traces and scenarios."""
        return {name: value for name, value in self.settings.items() if name not in self.unrecorded}

    def bound(self, name: str) -> str:
        """The note on a setting that is a bound: hit, not hit, or not explored.

        The note is empty if the setting is no bound, or if the engine does not know whether the bound was hit.
        """
        if name in self.bounds_not_explored:
            return NOT_EXPLORED
        return {True: "bound hit", False: "bound not hit"}.get(self.bounds[name], "") if name in self.bounds else ""

    @property
    def counted(self) -> bool:
        """Whether states were enumerated. If they were not, there are no counts, and vacuity is not known."""
        return self.unrolled is None

    @property
    def asks_nothing(self) -> bool:
        """Whether the check asked for nothing that could be wrong: no invariant, no property, no deadlock."""
        return not self.invariants and not self.liveness and self.deadlock is None

    @property
    def distinct(self) -> int:
        """The number of different states found, including the initial ones. Under symmetry, the number of orbits."""
        return sum(self.levels)

    @property
    def depth(self) -> int:
        """The number of levels. The initial states are level 1."""
        return len(self.levels) if self.unrolled is None else self.unrolled

    @property
    def generated_total(self) -> int:
        """The number of initial states, plus the number of enabled instances in all expanded states.

        Instances that lead to the same state, or to a state that was known already, also count.
        """
        return self.initial_states + sum(map(sum, self.generated.values()))

    @property
    def states_per_second(self) -> float:
        search = self.seconds.get("search", 0.0)
        return self.distinct / search if search > 0 else 0.0

    def to_json(self) -> dict[str, Any]:
        """The result as JSON data, in the form that `checker/schema.json` describes."""
        data: dict[str, Any] = {
            "format": FORMAT,
            "model": self.model,
            "profile": self.profile,
            "settings": self.settings,
            "settings_without_effect": list(self.inert),
            "settings_that_leave_out": self.left_out,
            "engine": self.engine,
            "workers": self.workers,
            "symmetry": self.orbits is not None,
            "verdict": self.verdict,
            "exit_code": self.exit_code,
            "reason": self.reason,
            "initial_states": self.initial_states,
            "distinct": self.distinct,
            "generated": self.generated_total,
            "constraint_rejected": self.rejected,
            "depth": self.depth,
            "levels": self.levels,
            "left": self.left,
            "actions": {name: {"generated": sum(n), "levels": n} for name, n in self.generated.items()},
            "bounds_hit": [name for name, hit in self.bounds.items() if hit],
            "bounds_not_explored": self.bounds_not_explored,
            "vacuity": {
                "actions_never_fired": self.actions_never_fired,
                "actions_without_instance": self.actions_without_instance,
                "goals_never_reached": self.goals_never_reached,
                "goals_switched_off": self.goals_switched_off,
            },
            "invariants": {name: outcome.to_json() for name, outcome in self.invariants.items()},
            "not_asked": self.unchecked,
            "seconds": {name: round(s, 6) for name, s in self.seconds.items()},
            "peak_rss_bytes": self.peak_rss_bytes,
            "store_bytes": self.store_bytes,
            "states_per_second": round(self.states_per_second),
        }
        if not self.counted:
            data |= dict.fromkeys(COUNTS) | {"actions": {}, "bounds_hit": None}
            data["vacuity"] |= {"actions_never_fired": None, "goals_never_reached": None}
        if self.orbits is not None:
            data["orbits"] = self.orbits.to_json()
        if self.degrees is not None:
            least, mean, greatest = self.degrees
            data["out_degree"] = {"least": least, "mean": round(mean, 6), "greatest": greatest}
        if self.deadlock is not None:
            data["deadlock"] = self.deadlock.to_json()
        if self.fairness is not None:
            data["fairness"] = self.fairness.to_json()
            data["liveness"] = {name: outcome.to_json() for name, outcome in self.liveness.items()}
        if self.evaluation is not None:
            failure = self.evaluation
            data["evaluation_error"] = {
                "what": failure.what,
                "where": failure.where,
                "action": failure.label and failure.label.action,
                "parameters": failure.label and failure.label.to_json(),
                "canonical": failure.canonical,
                "trace": story_json(failure.trace, failure.story),
            }
        if self.system is not None:
            data["system"] = self.system
        if self.change is not None:
            data["change"] = self.change.to_json()
        if self.partial is not None:
            data["partial"] = {**self.partial, "reproducible": False}
        return data | self.extra


def violated(result: Result) -> list[tuple[str, InvariantResult]]:
    """The violated invariants (and `deadlock`, if one was found) with their findings, shortest trace first."""
    found = [*result.invariants.items(), *([("deadlock", result.deadlock)] if result.deadlock else [])]
    return sorted(
        ((name, f) for name, f in found if f.trace is not None), key=lambda x: x[1].trace.length if x[1].trace else 0
    )


def counterexample(result: Result) -> tuple[str, str | None, Trace] | None:
    """One counterexample: its claim, the name of the invariant or property, and its trace. None if there is none.

    The claim is "violation", "deadlock", "liveness" or "evaluation". The name is None for a deadlock and an evaluation
    error. The counterexample is the shortest trace of a violation or a deadlock, else the shortest trace of a violated
    property, else the trace of the evaluation error. Of traces of the same length, the first by name is taken. A
    deadlock is taken only if its trace is shorter than the traces of all violations.
    """
    found = [("violation", name, outcome.trace) for name, outcome in sorted(result.invariants.items())]
    states: list[tuple[str, str | None, Trace | None]] = [*found]
    if result.deadlock is not None:
        states.append(("deadlock", None, result.deadlock.trace))
    lassos = [("liveness", name, outcome.trace) for name, outcome in sorted(result.liveness.items())]
    failures = [] if result.evaluation is None else [("evaluation", None, result.evaluation.trace)]
    for kind in (states, lassos, failures):
        shown = [(claim, name, trace) for claim, name, trace in kind if trace is not None]
        if shown:
            return min(shown, key=lambda each: each[2].length)
    return None
