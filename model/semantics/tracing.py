"""Traces a model's methods into plain data: each action runs once for every choice of its parameters."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import replace
from types import MethodType
from typing import Any

from isrcheck.model.language.capacity import Room
from isrcheck.model.language.decorators import Action
from isrcheck.model.language.domains import Domain, Flag, Identity, Value
from isrcheck.model.language.errors import (
    ModelError,
    TheState,
    UnknownName,
    caller,
    line_of,
    mistake,
    mistake_in,
    nearest,
    not_a_condition,
    not_an_answer,
    require_no_answer,
)
from isrcheck.model.language.identities import require_identity, require_once
from isrcheck.model.language.model import Model, as_parameter
from isrcheck.model.language.properties import Asked, kind_of, questions_of
from isrcheck.model.semantics import expressions as e
from isrcheck.model.semantics.concrete_state import initial_states, leaves_of
from isrcheck.model.semantics.expressions import FALSE, TRUE, Expression, Leaf
from isrcheck.model.semantics.method_calls import heeded
from isrcheck.model.semantics.side_effects import no_side_effects
from isrcheck.model.semantics.symbolic.locations import Place, is_used_up, least_unheld
from isrcheck.model.semantics.symbolic.structures import nodes_of, placed
from isrcheck.model.semantics.symbolic.terms import TracedFlag, TracedIdentity
from isrcheck.model.semantics.transition_system import (
    Label,
    Predicate,
    Question,
    Transition,
    TransitionSystem,
    Variable,
    actor_of,
)

Invariant = Callable[[Any, Any], Any]
"""A function of a model and a state: an invariant or a property."""


def layout(model: Model) -> tuple[tuple[Variable, ...], tuple[Leaf, ...]]:
    """The variables of a model and the leaves that store them."""
    variables: list[Variable] = []
    leaves: list[Leaf] = []
    for name, domain in model.domains.items():
        variables.append(Variable(name, domain, len(leaves)))
        for s in domain.scalars:
            leaves.append(Leaf(len(leaves), name + s.path, s.kind, s.low, s.high, s.of))
    return tuple(variables), tuple(leaves)


class SymbolicState(TheState):
    """The state that a traced method reads and assigns. Every read returns the value before the action.

    If `nodes` is given, a read of leaf number i returns `nodes[i]`, an expression over the leaves of another model.
    Otherwise the read returns the leaf. `guards` is a cache: method of an action -> guards of the action's instances.
    """

    def __init__(
        self,
        model: Model,
        variables: Sequence[Variable],
        leaves: Sequence[Leaf],
        writable: bool,
        nodes: Sequence[Expression] | None = None,
        guards: dict[object, list[TracedFlag]] | None = None,
    ) -> None:
        own: dict[str, Any] = self.__dict__
        own["_leaves"] = leaves
        own["_nodes"] = nodes
        own["_model"] = model
        own["_variables"] = {v.name: v for v in variables}
        own["_guards"] = {} if guards is None else guards
        own["_writable"] = writable
        own["_updates"] = {}
        own["_conditions"] = []
        own["_guard"] = TracedFlag(TRUE, TRUE, Flag())
        own["_wanted"] = own["_room"] = own["_guard"]
        own["_required"] = False
        own["_enabling"] = ()

    def __getattr__(self, name: str) -> Any:
        variable = self._variable(name)
        return placed(variable.domain, Place(self, variable.start))

    def __setattr__(self, name: str, value: Any) -> None:
        variable = self._variable(name)
        nodes, defined = nodes_of(variable.domain, value)
        Place(self, variable.start).write(nodes, defined)

    def _variable(self, name: str) -> Variable:
        if name not in self._variables:
            message = f"{caller()}: the state has no variable {name!r}; {nearest(name, self._variables)}"
            # An AttributeError for names that Python itself looks up, such as __deepcopy__.
            raise AttributeError(message) if name.startswith("__") else ModelError(message)
        return self._variables[name]  # type: ignore[no-any-return]

    def require(self, *conditions: Any) -> None:
        """The action can happen only where all conditions hold."""
        self.__dict__["_required"] = True
        for condition in conditions:
            room = isinstance(condition, Room)
            flag = flag_of(condition._condition if room else condition)
            self.__dict__["_guard"] = self._guard & flag
            part = "_room" if room else "_wanted"
            self.__dict__[part] = self.__dict__[part] & flag

    def room(self, condition: Any) -> Room:
        """A condition for `require` that only keeps the search finite. The real protocol has no such condition."""
        return Room(condition)

    def enabled(self, method: Callable[..., Any]) -> TracedFlag:
        """True if some instance of an action can happen in this state."""
        if not hasattr(method, "__action__"):
            raise mistake(f"{method!r} is not an action", "write s.enabled(self.name_of_an_action)")
        # Functions are compared, not names: an override of an action may ask about the overridden method.
        function = getattr(method, "__func__", method)
        if function in self._enabling:
            raise mistake(f"{method.__name__} tests whether it is itself enabled", "use another action")
        if method not in self._guards:
            self._guards[method] = self._guards_of(method, function)
        return _some(self._guards[method])

    def _guards_of(self, method: Callable[..., Any], function: Any) -> list[TracedFlag]:
        """The guards of the instances of an action, in this state."""
        found = []
        for choice in self._model.instances(method):
            inner = self._another(writable=True)
            inner.__dict__["_enabling"] = (*self._enabling, function)
            method(inner, *(as_parameter(d, v) for d, v in choice))
            if inner._acts:
                found.append(inner._guard)
        return found

    def fresh(self, domain: Domain) -> TracedIdentity:
        """The least identity except 0 that no place of the state holds; an action may call this once per domain."""
        of = require_identity(domain, "s.fresh")
        require_once(self, of)
        return self._unheld(of)

    def used_up(self, domain: Domain) -> TracedFlag:
        """True if the state holds every identity of a domain, so no identity is fresh."""
        return is_used_up(self._unheld(require_identity(domain, "s.used_up")))

    # The interface for places and history variables; models do not use it.

    def _unheld(self, domain: Identity) -> TracedIdentity:
        return least_unheld(self, [(v.domain, v.start) for v in self._variables.values()], domain)

    @property
    def _acts(self) -> bool:
        """True if the method has required or assigned something. Only then does the instance exist."""
        return bool(self._required or self._updates)

    def _reader(self) -> SymbolicState:
        """The state before the action, read-only."""
        return self._another(writable=False)

    def _another(self, writable: bool) -> SymbolicState:
        """The state before the action as a new symbolic state, in which nothing is required or assigned yet."""
        variables = tuple(self._variables.values())
        return SymbolicState(self._model, variables, self._leaves, writable, self._nodes, self._guards)

    def _read(self, leaf: int) -> Expression:
        if leaf in self._updates:
            raise mistake(
                f"{self._leaves[leaf].path} is read after it was assigned",
                "reads refer to the state before the action; read it into a local name first",
            )
        return e.leaf(self._leaves[leaf]) if self._nodes is None else self._nodes[leaf]

    def _assign(self, condition: Expression) -> None:
        """Records a condition under which the next assigned value is defined and fits its domain."""
        if not self._writable:
            raise mistake("an assignment in a predicate", "predicates only read the state")
        self._conditions.append(condition)

    def _write(self, leaf: int, node: Expression) -> None:
        if leaf in self._updates:
            raise mistake(
                f"{self._leaves[leaf].path} is assigned twice",
                "assign it once, with when(condition, a, b) where the value depends on the state",
            )
        self._updates[leaf] = node

    def _path(self, start: int, domain: Domain) -> str:
        """The name of the value whose leaves start at `start`."""
        leaf: Leaf = self._leaves[start]
        return leaf.path.removesuffix(domain.scalars[0].path)


def _some(guards: Sequence[TracedFlag]) -> TracedFlag:
    result = TracedFlag(FALSE, TRUE, Flag())
    for guard in guards:
        result = result | guard
    return result


def flag_of(condition: Any) -> TracedFlag:
    """A condition that a method returned or required, as a flag."""
    if isinstance(condition, bool):
        return TracedFlag(TRUE if condition else FALSE, TRUE, Flag())
    if not isinstance(condition, TracedFlag):
        raise not_a_condition(condition)
    return condition


def trace(
    model: Model, invariants: dict[str, Invariant] | None = None, properties: dict[str, Invariant] | None = None
) -> TransitionSystem:
    """The model at its settings as data, with the invariants and properties to check."""
    variables, leaves = layout(model)
    sheet = _Sheet(model, variables, leaves)
    actions = model.actions()
    if not actions:
        raise ModelError(f"model {model.name()} has no action; decorate a method with @action")
    instances = {name: sheet.transitions(name, method) for name, method in actions.items()}
    every = [t for found in instances.values() for t in found]
    impossible = {t.label: t for t in every if t.guard is FALSE and t.failure is FALSE}
    initial = tuple(sorted({leaves_of(model, state) for state in initial_states(model)}))
    constraints = sheet.predicates(model.predicates("constraint"))
    _require_counted(model, initial, constraints)
    return TransitionSystem(
        model=model.name(),
        settings=dict(model.settings),
        variables=variables,
        leaves=leaves,
        initial=initial,
        actions=tuple(actions),
        transitions=tuple(t for t in every if t.label not in impossible),
        constraints=constraints,
        invariants=sheet.predicates(dict(sorted((invariants or {}).items()))),
        goals=sheet.predicates(model.predicates("goal")),
        bounds=sheet.predicates({n: s.bound for n, s in model.declared_settings().items() if s.bound is not None}),
        absent=frozenset(name for name, found in instances.items() if not found),
        shut_out=tuple(t for t in impossible.values() if t.cut is not FALSE),
        questions=tuple(q for name, asked in sorted((properties or {}).items()) for q in sheet.questions(name, asked)),
    )


def _require_counted(model: Model, initial: tuple[tuple[int, ...], ...], constraints: tuple[Predicate, ...]) -> None:
    """Raises `ModelError` if constraints exclude every initial state, because then no state would be expanded."""
    false = [[c.name for c in constraints if e.evaluate([c.holds, c.failure], leaves) == [0, 0]] for leaves in initial]
    if all(false):
        names = sorted({name for names in false for name in names})
        method = model.predicates("constraint")[names[0]]
        what = f"no initial state satisfies constraint {', '.join(names)}, so nothing would be explored"
        raise mistake_in(method, what, "weaken the constraint")


def with_predicates(model: Model, system: TransitionSystem, invariants: dict[str, Invariant]) -> TransitionSystem:
    """`system` with predicates traced on `model`, because a predicate may ask which actions of `model` are enabled."""
    sheet = _Sheet(model, *layout(model))
    return replace(
        system,
        invariants=sheet.predicates(dict(sorted(invariants.items()))),
        goals=sheet.predicates(model.predicates("goal")),
        constraints=sheet.predicates(model.predicates("constraint")),
    )


def instances_of(model: Model, action: str) -> list[Transition]:
    """Every instance of one action at the model's settings, including instances that no state enables."""
    return _Sheet(model, *layout(model)).transitions(action, model.actions()[action])


def actions_using_enabled(model: Model) -> list[str]:
    """The actions with an instance that calls `s.enabled`, directly or through a function."""
    return [name for name, method in model.actions().items() if _Sheet(model, *layout(model)).asks(name, method)]


def uses_enabled(model: Model, invariants: dict[str, Invariant]) -> bool:
    """Whether an action, a constraint, a goal or one of these invariants calls `s.enabled`."""
    sheet = _Sheet(model, *layout(model))
    for name, method in {**invariants, **model.predicates("constraint"), **model.predicates("goal")}.items():
        sheet.predicate(name, method)
    return bool(sheet._guards) or bool(actions_using_enabled(model))


def instances_at(model: Model, labels: Sequence[Label]) -> list[Transition]:
    """The model's instances with these labels; the model's other instances are not traced."""
    sheet, actions, found = _Sheet(model, *layout(model)), model.actions(), dict[Label, Transition]()
    for label in labels:
        choice = [(d, v) for d, (_, v) in zip(label.domains, label.parameters, strict=True)]
        method = actions[label.action]
        if label not in found:
            s = sheet.run(label.action, method, choice)
            found[label] = sheet.transition(label.action, method.__action__, choice, s)  # type: ignore[attr-defined]
    return [found[label] for label in labels]


def predicate_at(model: Model, name: str, method: Callable[..., Any]) -> Predicate:
    """One predicate of a model as data."""
    return _Sheet(model, *layout(model)).predicate(name, method)


def traced_value(model: Model, method: Callable[[Any, Any], Any]) -> Any:
    """The result of a method `(model, s)` on a traced state; raises `ModelError` for a mistake in the method."""
    sheet = _Sheet(model, *layout(model))
    return heeded(method, model, SymbolicState(model, sheet.variables, sheet.leaves, writable=False))


def meaningless(model: Model, invariants: dict[str, Invariant]) -> frozenset[str]:
    """The invariants that raise `ModelError` at the model's settings, for example because a setting is off."""
    sheet, found = _Sheet(model, *layout(model)), set()
    for name, invariant in invariants.items():
        try:
            sheet.predicates({name: invariant})
        except ModelError:
            found.add(name)
    return frozenset(found)


def checkable(model: Model, invariants: dict[str, Invariant]) -> dict[str, Invariant]:
    """The invariants that apply at the model's settings. The function of any other invariant raises `UnknownName`."""
    return _not_switched_off(invariants, _Sheet(model, *layout(model)).predicate)


def applicable_properties(model: Model, properties: dict[str, Invariant]) -> dict[str, Invariant]:
    """The properties that apply at the model's settings. The function of any other property raises `UnknownName`."""
    return _not_switched_off(properties, _Sheet(model, *layout(model)).questions)


def _not_switched_off(asked: dict[str, Invariant], ask: Callable[[str, Invariant], Any]) -> dict[str, Invariant]:
    found = {}
    for name, method in asked.items():
        with suppress(UnknownName):
            ask(name, method)
            found[name] = method
    return found


def questions_through(
    specification: Model, nodes: Sequence[Expression], properties: dict[str, Invariant]
) -> tuple[Question, ...]:
    """The questions of a specification's properties, asked of a model's states.

    `nodes` are the specification's leaves as expressions over the model's leaves. Raises `UnknownName` for an
    `eventually_never` property, because it is about actions of the specification, which a model does not take.
    """
    for name, method in properties.items():
        if kind_of(method) == "eventually_never":
            what = f"property {name} is about actions of {specification.name()}, which are not actions of the model"
            raise UnknownName(f"{what}; choose one about its states")
    sheet = _Sheet(specification, *layout(specification), nodes)
    return tuple(q for name, asked in sorted(properties.items()) for q in sheet.questions(name, asked))


class _Sheet:
    """Traces the methods of one model, each on a fresh symbolic state."""

    def __init__(
        self,
        model: Model,
        variables: tuple[Variable, ...],
        leaves: tuple[Leaf, ...],
        nodes: Sequence[Expression] | None = None,
    ) -> None:
        self.model, self.variables, self.leaves, self._nodes = model, variables, leaves, nodes
        self._guards: dict[object, list[TracedFlag]] = {}

    def _state(self, writable: bool) -> SymbolicState:
        return SymbolicState(self.model, self.variables, self.leaves, writable, self._nodes, self._guards)

    def transitions(self, name: str, method: Callable[..., Any]) -> list[Transition]:
        spec: Action = method.__action__  # type: ignore[attr-defined]
        found, guards, effect = [], list[TracedFlag](), False
        with no_side_effects(method, f"action {name}", self.model):
            for choice in self.model.instances(method):
                s = self.run(name, method, choice)
                effect = effect or bool(s._updates)
                if s._acts:
                    found.append(self.transition(name, spec, choice, s))
                    guards.append(s._guard)
        if found and not effect:
            raise ModelError(f"{line_of(method)}: action {name} has no effect; assign something, or remove it")
        self._guards[MethodType(method, self.model)] = guards
        return found

    def asks(self, name: str, method: Callable[..., Any]) -> bool:
        """True if an instance of an action calls `s.enabled`; call this on a `_Sheet` that has traced nothing yet."""
        self.transitions(name, method)
        return len(self._guards) > 1

    def run(self, name: str, method: Callable[..., Any], choice: Sequence[tuple[Domain, Value]]) -> SymbolicState:
        """The state after the method of an action has run for a choice of its parameters."""
        s = self._state(writable=True)
        answer = heeded(method, self.model, s, *(as_parameter(d, v) for d, v in choice))
        require_no_answer(method, f"action {name}", answer)
        return s

    def transition(
        self, name: str, spec: Action, choice: Sequence[tuple[Domain, Value]], s: SymbolicState
    ) -> Transition:
        label = Label(
            name, tuple(zip(spec.parameters, (v for _, v in choice), strict=True)), tuple(d for d, _ in choice)
        )
        guard, can = s._guard.node, s._guard.defined
        failure = e.or_(e.not_(can), *(e.and_(guard, e.not_(c)) for c in s._conditions))
        updates = {i: node for i, node in sorted(s._updates.items()) if node is not e.leaf(self.leaves[i])}
        # An undefined effect counts as a change, because nothing says that it is none.
        changes = (e.not_(e.eq(node, e.leaf(self.leaves[i]))) for i, node in updates.items())
        effect = e.or_(*changes, *map(e.not_, s._conditions))
        cut = e.and_(s._wanted.node, s._wanted.defined, e.not_(s._room.node), effect)
        return Transition(label, actor_of(spec.actor, label), spec.environment, guard, updates, failure, cut)

    def predicates(self, methods: dict[str, Callable[..., Any]]) -> tuple[Predicate, ...]:
        return tuple(self.predicate(name, method) for name, method in methods.items())

    def predicate(self, name: str, method: Callable[..., Any]) -> Predicate:
        s = self._state(writable=False)
        with no_side_effects(method, name, self.model):
            answer = heeded(method, self.model, s)
        if not isinstance(answer, bool | TracedFlag):
            raise not_an_answer(method, answer)
        holds = flag_of(answer)
        return Predicate(name, sentence_of(method), holds.node, e.not_(holds.defined))

    def questions(self, name: str, method: Callable[..., Any]) -> list[Question]:
        s = self._state(writable=False)
        with no_side_effects(method, name, self.model):
            answer = heeded(method, self.model, s)
        found = questions_of(method, answer, lambda x: isinstance(x, bool | TracedFlag))
        return [self._question(name, method, choice, said) for choice, said in found]

    def _question(self, name: str, method: Callable[..., Any], choice: Asked, said: Any) -> Question:
        kind = kind_of(method)
        first, last = map(flag_of, said if kind == "leads_to" else (said, said))
        p, q, failure = first.node, last.node, e.not_(e.and_(first.defined, last.defined))
        never = frozenset(getattr(method, "__never__", ()))
        for action in sorted(never - {*self.model.actions()}):
            raise mistake_in(method, f"there is no action {action!r}", nearest(action, self.model.actions()))
        if kind == "leads_to":
            return Question(name, choice, e.not_(q), e.and_(p, e.not_(q)), TRUE, failure)
        if kind in ("eventually", "always_eventually"):
            return Question(name, choice, e.not_(p), e.not_(p), TRUE, failure, initially=kind == "eventually")
        if kind == "eventually_always":
            return Question(name, choice, TRUE, TRUE, e.not_(p), failure)
        return Question(name, choice, p, p, TRUE, failure, never, kind == "stable")


def sentence_of(method: Callable[..., Any]) -> str:
    """The first paragraph of a docstring on one line."""
    return " ".join((method.__doc__ or "").split("\n\n")[0].split())
