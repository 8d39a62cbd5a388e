"""Translates a recording for the search: each line gets the action instances of its step, and its values as bits."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

from isrcheck.checker.kernel.compiled import Kernel
from isrcheck.checker.kernel.layout import Layout
from isrcheck.checker.trace.trace_files import from_json
from isrcheck.checker.trace_validation.recording_file import Line, Pattern, Recording
from isrcheck.model.language.domains import Domain, Per, Record, Value
from isrcheck.model.language.errors import UnknownName, nearest
from isrcheck.model.semantics.concrete_values import State
from isrcheck.model.semantics.interpreter import Interpreter
from isrcheck.model.semantics.transition_system import Label, Transition, TransitionSystem

Row = tuple[int, ...]
"""A packed state: its 64-bit words, as numbers."""
Positions = tuple[int, ...]
"""For each process log, how many of its lines have been explained."""


@dataclass(frozen=True)
class Check:
    """An observed part of the state, and its observed value.

    `place` has the position of the variable, and the positions that lead to the part inside the variable's value.
    `bits` is the same check for packed states, as triples (number of a word, mask, wanted value).
    """

    path: str
    domain: Domain
    value: Value
    place: tuple[int, tuple[int, ...]]
    bits: tuple[tuple[int, int, int], ...]

    def holds(self, row: Row) -> bool:
        return all(row[word] & mask == wanted for word, mask, wanted in self.bits)

    def found(self, state: State) -> Value:
        """The value of this part in a state."""
        position, steps = self.place
        value = state[position]
        for step in steps:
            value = value[step]
        return value


@dataclass(frozen=True)
class Seen:
    """A line, the labels of the instances that its step may be, and checks of its observed values.

    `labels` is None if the line has no step. For each pair (process log, number) in `after`, at least `number` lines of
    `process_log` must be explained before this line.
    """

    line: Line
    labels: frozenset[Label] | None
    checks: tuple[Check, ...]
    after: tuple[tuple[int, int], ...]

    def may_come(self, positions: Positions) -> bool:
        return all(positions[process_log] >= least for process_log, least in self.after)

    def fits(self, row: Row) -> bool:
        return all(check.holds(row) for check in self.checks)


@dataclass(frozen=True)
class Question:
    """A recording in terms of a model: the lines of each process log, the hidden instances, and a kernel for steps.

    A step of an instance in `hidden` may happen without a line. `system` and `kernel` have only the transitions of
    hidden instances and of instances in `Seen.labels` of a line (for a question from `widened`: all transitions).
    `numbers` maps each label to the number of its transition in the kernel. `kept` has a mask for each word of a packed
    state: the bits that no hidden step may change. `whole` is the system of the model with all transitions.
    """

    interpreter: Interpreter
    names: tuple[str, ...]
    process_logs: tuple[tuple[Seen, ...], ...]
    hidden: frozenset[Label]
    kept: tuple[int, ...]
    system: TransitionSystem
    kernel: Kernel
    numbers: Mapping[Label, int]
    whole: TransitionSystem

    def widened(self) -> Question:
        """This question with a system and a kernel of all transitions of the model."""
        return replace(self, **_parts(self.whole, self.whole.transitions))

    @property
    def lines(self) -> int:
        return sum(map(len, self.process_logs))


def question(recording: Recording, interpreter: Interpreter, system: TransitionSystem) -> Question:
    """The recording in terms of a model. Raises `UnknownName` for names and values that the model does not have."""
    layout = Layout(system.leaves)
    names = tuple(recording.process_logs)
    counted = {line.place: i + 1 for lines in recording.process_logs.values() for i, line in enumerate(lines)}

    def seen(line: Line) -> Seen:
        where = f"line {line.row}"
        labels = frozenset(x for each in line.events for x in instances(interpreter, each, where))
        checks = tuple(_check(interpreter, layout, path, data, where) for path, data in line.observed.items())
        after = tuple((names.index(process_log), counted[process_log, order]) for process_log, order in line.after)
        return Seen(line, labels if line.events else None, checks, after)

    process_logs = tuple(tuple(map(seen, lines)) for lines in recording.process_logs.values())
    hidden = frozenset(x for each in recording.hidden for x in instances(interpreter, each, "line 1: hidden"))
    wanted = hidden.union(*(each.labels for lines in process_logs for each in lines if each.labels is not None))
    left = tuple(t for t in system.transitions if t.label in wanted)
    kept = _masks(interpreter, layout, recording.complete)
    return Question(interpreter, names, process_logs, hidden, kept, whole=system, **_parts(system, left))


def _parts(system: TransitionSystem, transitions: tuple[Transition, ...]) -> dict[str, Any]:
    """The fields of a question for the given transitions: a system, its kernel, and the number of each transition."""
    part = replace(system, transitions=transitions, invariants=(), goals=(), bounds=(), questions=())
    return {"system": part, "kernel": Kernel(part), "numbers": {t.label: i for i, t in enumerate(transitions)}}


def instances(interpreter: Interpreter, pattern: Pattern, where: str) -> list[Label]:
    """The instances that a pattern matches. If the settings switch the action off, there are no instances."""
    if pattern.action not in interpreter.actions:
        raise UnknownName(
            f"{where}: there is no action {pattern.action!r}; {nearest(pattern.action, interpreter.actions)}"
        )
    known = [label for label in interpreter.labels if label.action == pattern.action]
    domains = interpreter.model.parameter_domains(interpreter.model.actions()[pattern.action])
    wanted = {}
    for name, data in pattern.parameters.items():
        if name not in domains:
            raise UnknownName(f"{where}: {pattern.action} has no parameter {name!r}; {nearest(name, domains)}")
        wanted[name] = _value(domains[name], data, f"{where}: {pattern.action}: {name}")
    return [x for x in known if all(dict(x.parameters)[name] == value for name, value in wanted.items())]


def _value(domain: Domain, data: Any, where: str) -> Value:
    try:
        return from_json(domain, data)
    except (ValueError, RecursionError) as error:
        raise UnknownName(f"{where}: {error or 'nested too deeply'}") from None


def _check(interpreter: Interpreter, layout: Layout, path: str, data: Any, where: str) -> Check:
    domain, place, at = _found(interpreter, path, where)
    value = _value(domain, data, f"{where}: {path}")
    masks: dict[int, tuple[int, int]] = {}
    for bits, leaf in zip(layout.places[at : at + domain.width], domain.encode(value), strict=True):
        if bits.width:
            mask, wanted = masks.get(bits.word, (0, 0))
            masks[bits.word] = mask | bits.mask, wanted | (leaf - bits.low) << bits.shift
    return Check(path, domain, value, place, tuple((word, *pair) for word, pair in masks.items()))


def _masks(interpreter: Interpreter, layout: Layout, paths: tuple[str, ...]) -> tuple[int, ...]:
    """For each word of a packed state, a mask of the bits that store the named parts of the state."""
    masks = [0] * layout.words
    for path in paths:
        domain, _, at = _found(interpreter, path, "line 1: complete")
        for bits in layout.places[at : at + domain.width]:
            masks[bits.word] |= bits.mask
    return tuple(masks)


def _found(interpreter: Interpreter, path: str, where: str) -> tuple[Domain, tuple[int, tuple[int, ...]], int]:
    """The domain of the part of the state at `path`, its place (`Check`), and the index of its first leaf (scalar)."""
    domains = interpreter.model.domains
    name, *steps = _steps(path)
    if name not in domains:
        raise UnknownName(f"{where}: the model has no variable {name!r}; {nearest(name, domains)}")
    variable = list(domains).index(name)
    domain, at = domains[name], sum(each.width for each in list(domains.values())[:variable])
    taken = []
    for step in steps:
        position, inner, before = _part(domain, step, f"{where}: {path}")
        taken.append(position)
        domain, at = inner, at + before
    return domain, (variable, tuple(taken)), at


def _steps(path: str) -> list[str]:
    """The names and indexes in the path of a part of the state: `state[0].epoch` gives `state`, `0`, `epoch`."""
    return [step for step in path.replace("[", ".").replace("]", "").split(".") if step] or [""]


def _part(domain: Domain, step: str, where: str) -> tuple[int, Domain, int]:
    """The part with the field name or index `step`: its position, its domain, and how many leaves precede it."""
    if isinstance(domain, Record):
        if step not in domain.fields:
            raise UnknownName(f"{where}: there is no field {step!r}; {nearest(step, domain.fields)}")
        position, inner = domain.fields[step]
        return position, inner, sum(each.width for each in domain.domains[:position])
    if isinstance(domain, Per):
        keys = [domain.index.text(key) for key in domain.index.values()]
        if step not in keys:
            raise UnknownName(f"{where}: there is no index [{step}]; {nearest(step, keys)}")
        position = keys.index(step)
        return position, domain.element, position * domain.element.width
    raise UnknownName(f"{where}: {domain} has no elements; name the variable without [{step}]")
