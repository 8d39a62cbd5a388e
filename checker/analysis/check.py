"""The Python function `check`: explores a model, evaluates its invariants, and finds a trace to each violation."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import replace
from importlib import import_module
from typing import Any, Final

from isrcheck.checker.analysis.change_effects import change_of
from isrcheck.checker.analysis.free_memory import free_memory
from isrcheck.checker.analysis.result_builder import ResultBuilder
from isrcheck.checker.engines.spark.cluster import Cluster
from isrcheck.checker.kernel.exchanges import Member
from isrcheck.checker.kernel.interchangeable import why_distinguishable
from isrcheck.checker.registry.capabilities import ENGINES, refusal_of_arguments
from isrcheck.checker.registry.loader import LoadedModel, blaming, fitting, fitting_properties, load_model_class
from isrcheck.checker.registry.profile_settings import begun, profile_of
from isrcheck.checker.results.exploration import Checkpointing, Exploration, Limits, Paths, Report, StateStore
from isrcheck.checker.results.result import Result
from isrcheck.checker.results.size_estimate import outlook
from isrcheck.checker.trace.canonical import CanonicalPaths
from isrcheck.model.language.errors import UnknownName, nearest
from isrcheck.model.language.fairness import Fairness
from isrcheck.model.language.model import Model
from isrcheck.model.language.settings import BARE
from isrcheck.model.semantics.expressions import Expression
from isrcheck.model.semantics.interpreter import Interpreter
from isrcheck.model.semantics.tracing import applicable_properties, trace
from isrcheck.model.semantics.transition_system import TransitionSystem

DEPTH: Final = 20
"""The number of levels that the symbolic engine examines if neither depth nor time is limited."""
SHARE_OF_MEMORY: Final = 0.9
"""The share of the free memory that a search may take if no limit is given. The rest keeps the system from swapping."""

SEARCHES: Final = {
    "local": "isrcheck.checker.engines.explicit.search",
    "spark": "isrcheck.checker.engines.spark.spark_search",
    "symbolic": "isrcheck.checker.engines.symbolic.bounded_search",
}
"""The module with the search of each engine, imported when the engine is asked."""


def check(
    model: str | type[Model] | Model | LoadedModel,
    settings: dict[str, Any] | None = None,
    *,
    profile: str | None = None,
    invariants: Sequence[str] | None = None,
    liveness: Sequence[str] = (),
    fairness: Fairness = Fairness(),
    engine: str = "local",
    keep_going: bool = False,
    deadlock: bool = False,
    symmetry: bool = False,
    limits: Limits = Limits(),
    workers: int | None = None,
    fail_on_vacuity: bool = False,
    report: Report | None = None,
    stage: Callable[[str], None] | None = None,
    spark: Any = None,
    cluster: Cluster | None = None,
    checkpointing: Checkpointing | None = None,
    state_store: StateStore = StateStore(),
    start: Mapping[str, Any] | None = None,
) -> Result:
    """Explores a model within its settings and says for each invariant whether it holds.

    `model` is a name, a file (`my_model.py`, `my_model.py:Class`), a class, an instance, or a result of
    `load_model_class`. `settings` override the settings of the `profile`. The default profile is `plain` if the model
    has a profile of this name, and otherwise `bare`. The profile `bare` has the default of each setting. An instance
    already has its settings, so neither `settings` nor a profile other than `bare` can be given with it.

    `invariants` are names; None selects the model's default invariants. `liveness` are names of properties of whole
    behaviours, or `all` for every property that the settings do not switch off. These properties are checked under
    `fairness`. Only a complete exploration shows that they hold. With `deadlock` the search also looks for states
    without an enabled action instance. With `keep_going` the search continues after a violation or a deadlock, until
    everything is explored, a limit is reached, or the model cannot be evaluated in a state.

    The engine `symbolic` looks for violations level by level, stops at `limits.depth`, and never says `holds`. If
    neither depth nor time is limited, it stops at level 20. For the engine `spark`, `cluster` says where and how to
    explore, and `spark` is the Spark session to use. Spark's own settings limit the memory of this engine. If `limits`
    has no limit on memory, any other engine may take nine tenths of the free memory.

    Only the local engine takes `liveness`, `workers`, `symmetry`, `checkpointing`, `state_store`. `workers` is the
    number of threads. The default is one for each processor, or fewer if there is too little memory. The result does
    not depend on `workers`. With `symmetry` the engine keeps one state of each orbit. An orbit is a set of states that
    differ only by exchanges of interchangeable members of scalarsets, such as brokers. All counts are then about the
    kept states. Verdicts and traces are the same as without `symmetry`. `checkpointing` names the folder for
    checkpoints, and says whether the search continues from a checkpoint. `state_store` says where the states are kept.

    With `start`, the result says in `change` whether a change of the model acts in an explored state. The change is the
    difference between a user's model and the model from which it inherits, or between the settings and `start`, the
    settings from which the user began. With `fail_on_vacuity` a change that never acts is an error.

    `report` is called with the progress of the search. `stage` is called at the beginning of each stage, with its name,
    such as "trace", "compile", "search" and "counterexample".

    Raises `UnknownName` for names and values that the model does not have, for arguments that the engine cannot use,
    and for `symmetry` if no members are interchangeable. Raises `ModelError` for a mistake in the model, OSError for a
    file that cannot be read, `LimitTooSmall` if a search cannot begin within the memory limit, and `CheckpointRefused`
    if the search cannot begin in the folder for checkpoints, or cannot continue from the checkpoint there.

    >>> check("kip-101", {"replicas": 2, "log_size": 1, "max_records": 1, "max_leader_epoch": 0}).verdict
    'holds'
    """
    if engine not in ENGINES:
        raise UnknownName(f"there is no engine {engine!r}; {nearest(engine, ENGINES)}")
    if workers is not None and not (type(workers) is int and workers > 0):
        raise UnknownName(f"workers must be an integer of at least 1, not {workers!r}")
    if not isinstance(limits, Limits):
        raise UnknownName(f"limits must be isrcheck.Limits(states=..., seconds=..., memory=...), not {limits!r}")
    if isinstance(invariants, str):
        raise UnknownName(f"invariants must be a list of names: [{invariants!r}]")
    if isinstance(liveness, str):
        raise UnknownName(f"liveness must be a list of names: [{liveness!r}]")
    asked = {
        "liveness": bool(liveness),
        "workers": workers is not None,
        "symmetry": symmetry,
        "checkpointing": checkpointing is not None,
        "state_store": state_store != StateStore(),
        "limits.states": limits.states is not None,
        "limits.depth": limits.depth is not None,
        "limits.memory": limits.memory is not None,
        "fail_on_vacuity": fail_on_vacuity,
        "cluster": cluster is not None,
        "spark": spark is not None,
    }
    if liveness and not isinstance(fairness, Fairness):
        raise UnknownName(f"fairness must be isrcheck.Fairness(default=...), not {fairness!r}")
    # Without this refusal, an engine would silently ignore an argument that it cannot use.
    if (refusal := refusal_of_arguments(engine, asked)) is not None:
        raise UnknownName(refusal)
    limits = _limits(engine, limits)
    begin, tell = time.perf_counter(), stage or (lambda name: None)
    tell("trace")
    loaded, instance, begins_with = resolved(model, settings or {}, profile)
    with blaming(loaded.source_file):
        chosen = loaded.chosen(None if invariants is None else tuple(invariants))
        properties = properties_of(loaded, instance, liveness, fairness)
        system = trace(instance, chosen, properties)
        interpreter = Interpreter(instance, chosen, properties)
        traced = time.perf_counter() - begin
        change = None if start is None else change_of(loaded, instance, start, system, (chosen, properties))
        classes = interchangeable(system, tell) if symmetry else []
        if change is not None:
            if symmetry and change.goals and not _is_symmetric(change.noted_by(system), classes):
                change = change.hidden_by_symmetry()
            system = change.noted_by(system)
        compared = time.perf_counter() - begin - traced
        tell("search" if engine == "reference" else "compile")
        free = int(free_memory() * SHARE_OF_MEMORY)
        within = limits if limits.memory is not None else replace(limits, memory=free)
        question = {"keep_going": keep_going, "deadlock": deadlock, "limits": within, "report": report}
        with ExitStack() as leaving:
            if engine == "local":
                question |= {
                    "workers": workers,
                    "classes": classes,
                    "checkpointing": checkpointing,
                    "state_store": state_store,
                }
            if engine == "spark":
                wanted = cluster or Cluster()
                wanted = replace(wanted, session=wanted.session if spark is None else spark)
                question |= {"model": loaded.name, "cluster": wanted, "leaving": leaving}
            began = time.perf_counter()
            searched = change.asked_of(interpreter) if change is not None and engine == "reference" else interpreter
            exploration, paths, labels = _search(engine, searched, system, question)
            tell("counterexample")
            effect = None if change is None else change.effect(exploration)
            builder = ResultBuilder(loaded.name, interpreter, system, exploration, paths, labels, effect)
            result = builder.result(engine, deadlock, fail_on_vacuity, limits)
            result.profile = begins_with
            if exploration.stopped == "memory" and engine == "local" and state_store.kind == "memory":
                result.reason = f"{result.reason}; --store disk needs much less"
            if properties:
                tell("liveness")
                asking = time.perf_counter()
                from isrcheck.checker.analysis.liveness.liveness_verdicts import PropertyChecker

                properties_checked = PropertyChecker(builder, fairness, within, fail_on_vacuity=fail_on_vacuity)
                properties_checked.add_to(result, paths, began)
                exploration.seconds["liveness"] = time.perf_counter() - asking
    result.unchecked = loaded.unchecked() if invariants is None else []
    compare = {"symmetry": compared} if symmetry else {}
    result.seconds = {"trace": traced, **compare, "compile": 0.0, **exploration.seconds}
    if exploration.stopped in ("states", "memory", "time", "interrupt", "disk") and result.counted:
        result.extra = result.extra | {"forecast": outlook(result)}
    result.seconds["total"] = time.perf_counter() - begin
    return result


def properties_of(
    loaded: LoadedModel, model: Model, names: Sequence[str], fairness: Fairness
) -> dict[str, Callable[[Any, Any], Any]]:
    """The properties with these names. `all` selects each property that the model's settings do not switch off.

    Raises `UnknownName` for a property that the model does not have. If `names` is not empty, also raises `UnknownName`
    for an action in `fairness` that the model does not have.
    """
    if names:
        fairness.require_known(model)
    return named_properties(loaded, model, names)


def named_properties(loaded: LoadedModel, model: Model, names: Sequence[str]) -> dict[str, Callable[[Any, Any], Any]]:
    """Returns the same properties as `properties_of`, but does not check the names of actions in a `Fairness`.

    `isrcheck refine` needs this for the properties of a specification, because its fairness options name actions of the
    model, not of the specification.
    """
    named = loaded.asked(set(names) - {"all"})
    return named | applicable_properties(model, loaded.asked(names)) if "all" in names else named


def _limits(engine: str, limits: Limits) -> Limits:
    """The limits of an engine. The symbolic engine gets a depth limit if neither depth nor time is limited."""
    ends = engine != "symbolic" or (limits.depth, limits.seconds) != (None, None)
    return limits if ends else replace(limits, depth=DEPTH)


def interchangeable(
    system: TransitionSystem, tell: Callable[[str], None], values: Sequence[tuple[str, Expression]] = ()
) -> list[list[Member]]:
    """The classes of interchangeable members of scalarsets, such as brokers. A search permutes the members of a class.

    Members are interchangeable if their exchange changes neither the transition system nor the value of an expression
    in `values`. Each item of `values` is a name for messages and an expression. Large classes are cut to limit the
    number of permutations. Raises `UnknownName` if no members are interchangeable.
    """
    from isrcheck.checker.engines.symbolic.symmetry_proof import symmetry
    from isrcheck.checker.kernel.llvm_orbits import affordable

    tell("symmetry")
    found = symmetry(system, values)
    classes = found.classes()
    if not classes:
        raise UnknownName(f"symmetry reduction is not possible: {why_distinguishable(found)}; check without it")
    return affordable(classes)


def _is_symmetric(system: TransitionSystem, classes: list[list[Member]]) -> bool:
    """Whether the same members are interchangeable in a system to which goals were added."""
    try:
        return interchangeable(system, lambda name: None) == classes
    except UnknownName:
        return False


def resolved(
    model: str | type[Model] | Model | LoadedModel, settings: dict[str, Any], profile: str | None = None
) -> tuple[LoadedModel, Model, str | None]:
    """The loaded model, its instance at the settings, and the name of the profile.

    The name is None for the bare defaults, and if `model` is already an instance.
    """
    if not isinstance(model, Model):
        model = loaded_of(model)
    if not isinstance(settings, Mapping):
        raise UnknownName(f"settings must be a dict of names and values, such as {{'replicas': 2}}, not {settings!r}")
    if isinstance(model, Model):
        _require_nothing_over(settings, profile)
        return loaded_of(type(model)), model, None
    with blaming(model.source_file):
        name = profile_of(model, profile)
        return model, begun(model, name, settings), name


def loaded_of(model: str | type[Model] | LoadedModel) -> LoadedModel:
    """The model with this name, in this file, or of this class."""
    if isinstance(model, str):
        return load_model_class(model)
    if isinstance(model, LoadedModel):
        return model
    if not (isinstance(model, type) and issubclass(model, Model)):
        raise UnknownName(
            f"a model must be a name, a file, a subclass of isrcheck.Model or an instance of one, not {model!r}"
        )
    return LoadedModel(model, model.name(), None, fitting(model, None), properties=fitting_properties(model, None))


def _require_nothing_over(settings: dict[str, Any], profile: str | None) -> None:
    """Raises `UnknownName` if a model's instance is given with settings, or with a profile other than `bare`."""
    if settings:
        raise UnknownName("settings cannot be given with an instance of a model; pass them to its constructor")
    if profile not in (None, BARE):
        raise UnknownName(
            f"profile {profile} cannot be given with an instance of a model, which already has its settings"
        )


def _search(
    engine: str, interpreter: Interpreter, system: TransitionSystem, question: dict[str, Any]
) -> tuple[Exploration, Paths, list[int]]:
    """Runs an engine. Returns its exploration, the paths to violations, and a number for each action instance.

    For each action instance of the engine, the number is the index of the same instance in the interpreter.
    """
    if engine == "reference":
        from isrcheck.checker.engines import reference

        exploration, levels = reference.search(interpreter, **question)
        return exploration, CanonicalPaths(levels, interpreter.actors), list(range(len(interpreter.labels)))
    numbers = {label: i for i, label in enumerate(interpreter.labels)}
    instances = [numbers[t.label] for t in system.transitions]
    search = import_module(SEARCHES[engine]).search
    if engine != "local":
        return *search(system, **question), instances
    answer, native = search(system, **question)
    return answer, CanonicalPaths(native, [t.actor for t in system.transitions]), instances
