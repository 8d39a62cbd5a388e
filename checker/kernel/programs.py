"""Writes a transition system as programs over columns."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from isrcheck.checker.kernel.layout import Layout
from isrcheck.checker.kernel.machined import Program
from isrcheck.checker.kernel.operators import Writer
from isrcheck.checker.kernel.registers import Change, Part
from isrcheck.model.language.expressions import FALSE, Expression
from isrcheck.model.language.system import Transition, TransitionSystem

_WORD: Final = (1 << 64) - 1


def expansion(system: TransitionSystem, layout: Layout) -> Program:
    """The program that expands states. It computes the changes of a transition only if one of the states enables the
    transition."""
    writer, parts = Writer(), list[Part]()
    for number, transition in enumerate(system.transitions):
        if transition.guard is FALSE and transition.failure is FALSE:
            continue
        first = writer.shared()
        failure = None if transition.failure is FALSE else writer.register(transition.failure)
        flag = None if transition.guard is FALSE else writer.register(transition.guard)
        body = writer.body()
        changes = [] if flag is None else _changes(writer, layout, transition)
        parts.append(Part(number, first, body, len(writer), flag, failure, changes))
    return Program(writer, parts, layout)


def _changes(writer: Writer, layout: Layout, transition: Transition) -> list[Change]:
    """How a transition changes the words of a state. Each leaf has its own bits of a word. A change sets the bits of
    updated leaves to 0, and then adds the new values at these places. An intermediate sum may be below 0, so sums are
    computed modulo 2**64."""
    changes = dict[int, Change]()
    updates = [(layout.places[i], update) for i, update in transition.updates.items() if layout.places[i].width]
    for place, update in sorted(updates, key=lambda x: x[0].word):
        change = changes.setdefault(place.word, Change(place.word, kept=_WORD))
        change.kept &= ~place.mask
        added = -place.low
        if isinstance(update.value, int):
            added += update.value
        else:
            change.values.append((writer.register(update), place.shift))
        change.base = change.base + (added << place.shift) & _WORD
    return list(changes.values())


def failures(system: TransitionSystem, layout: Layout) -> Program:
    flags = {number: t.failure for number, t in enumerate(system.transitions) if t.failure is not FALSE}
    return _flags(flags, layout)


def judgement(bits: Sequence[Expression], layout: Layout) -> Program:
    return _flags({number: bit for number, bit in enumerate(bits) if bit is not FALSE}, layout)


def _flags(flags: dict[int, Expression], layout: Layout) -> Program:
    writer, parts = Writer(), list[Part]()
    for number, expression in flags.items():
        first, flag = writer.shared(), writer.register(expression)
        end = len(writer)
        parts.append(Part(number, first, end, end, flag))
    return Program(writer, parts, layout)


# --- places ---------------------------------------------------------------------------------------------------------
