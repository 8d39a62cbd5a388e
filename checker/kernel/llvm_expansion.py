"""LLVM text that expands states.

The text computes each guard for many states at a time, and then writes the successors one by one.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from isrcheck.checker.kernel.layout import Layout, Place
from isrcheck.checker.kernel.llvm_batches import Groups
from isrcheck.checker.kernel.llvm_expressions import ONES, SIZES, Lanes, shifted, stored_width, vector, width
from isrcheck.checker.kernel.llvm_words import BYTES, GROUP, WORD, room, rows, splat
from isrcheck.checker.kernel.verdict_bits import ACTIONS, FAILURES, GREATEST, HUGE, LEAST
from isrcheck.model.semantics.expressions import FALSE, Expression
from isrcheck.model.semantics.transition_system import Transition, TransitionSystem

_WORD: Final = (1 << 64) - 1


def expand(system: TransitionSystem, layout: Layout) -> str:
    head = "i64 @expand(ptr %states, i64 %n, ptr %successors, ptr %sources, ptr %transitions, ptr %tally)"
    loop = Groups(head, layout.words)
    # A degree is the number of enabled instances of a state. `%least` begins with a number above all degrees.
    degrees = width(0, len(system.transitions) + 1)
    kind = vector(degrees)
    loop.variable("%count", "i64", "0")
    loop.variable("%degree", kind, "zeroinitializer")
    loop.variable("%least", kind, splat(len(system.transitions) + 1, degrees))
    loop.variable("%greatest", kind, "zeroinitializer")
    for word in range(layout.words):
        room(loop.writer, f"%changes{word}", WORD)
    loop.writer.do("%traced = icmp ne ptr %sources, null")
    loop.begin()
    loop.put("%degree", "zeroinitializer", kind)
    lanes = loop.lanes(layout)
    for number, transition in enumerate(system.transitions):
        failing = _failing(loop, lanes, transition)
        if transition.guard is not FALSE:
            _transition(loop, lanes, number, transition, system.actions.index(transition.label.action), degrees)
        if failing:
            loop.add_to(loop.at("%tally", str(FAILURES)), loop.population(failing))
    _degrees(loop, len(system.transitions) + 1, degrees)
    loop.end()
    _tell_degrees(loop, len(system.transitions) + 1, degrees)
    return loop.text(f"ret i64 {loop.get('%count')}")


def _failing(loop: Groups, lanes: Lanes, transition: Transition) -> str:
    """The name of an integer with a bit for each state, set if the transition fails in the state.

    The name is "" if the transition cannot fail.
    """
    if transition.failure is FALSE:
        return ""
    return loop.writer.let(f"and i64 {loop.bits(lanes.flag(transition.failure))}, {loop.valid}")


def _transition(loop: Groups, lanes: Lanes, number: int, transition: Transition, action: int, degrees: int) -> None:
    """Writes the code of a transition, for the states of a group.

    This code computes the guard for all states of the group. If no state enables the transition, the code does nothing
    more. Otherwise, it computes the changes for all states, and writes the successors of the states that enable the
    transition.
    """
    w = loop.writer
    enabled = lanes.flag(transition.guard)
    if transition.failure is not FALSE:
        sound = w.let(f"xor {BYTES} {lanes.flag(transition.failure)}, {ONES}")
        enabled = w.let(f"and {BYTES} {enabled}, {sound}")
    fired = w.let(f"and i64 {loop.bits(enabled)}, {loop.valid}")
    loop.branch_if_any(fired, f"fire{number}", f"next{number}")
    w.block(f"fire{number}")
    changes = _changes(lanes.fork(), transition)
    count = loop.get("%count")
    with loop.each(f"succeed{number}", fired, count) as (lane, at):
        _successor(loop, lanes.layout.words, changes, lane, at)
    w.do(f"br i1 %traced, label %trace{number}, label %tally{number}")
    w.block(f"trace{number}")
    with loop.each(f"note{number}", fired, count) as (lane, at):
        loop.put(loop.at("%sources", at), w.let(f"add i64 %index, {lane}"))
        loop.put(loop.at("%transitions", at), str(number))
    w.do(f"br label %tally{number}")
    w.block(f"tally{number}")
    times = loop.population(fired)
    loop.put("%count", w.let(f"add i64 {count}, {times}"))
    loop.add_to(loop.at("%tally", str(ACTIONS + action)), times)
    kind = vector(degrees)
    one = enabled if degrees == 8 else w.let(f"sext {BYTES} {enabled} to {kind}")
    loop.put("%degree", w.let(f"sub {kind} {loop.get('%degree', kind)}, {one}"), kind)
    w.do(f"br label %next{number}")
    w.block(f"next{number}")


# --- successors -----------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class _Change:
    """A transition's change of a word. The word becomes `word & kept | base | new << shift`.

    `new` is a number of `bits` bits that is computed for each state. The numbers for word 0 are in the array
    `%changes0`, and so on. If `bits` is 0, nothing is computed, and `new` is left out.
    """

    kept: int
    base: int
    bits: int
    shift: int


def _changes(lanes: Lanes, transition: Transition) -> dict[int, _Change]:
    """The change of each word that a transition changes.

    Writes code that computes and stores the new values of leaves for all lanes. New values that are constants are left
    out, because they are part of `base`.
    """
    places, found = lanes.layout.places, dict[int, _Change]()
    for word in range(lanes.layout.words):
        changed = {i: x for i, x in transition.updates.items() if places[i].word == word and places[i].width}
        if not changed:
            continue
        kept, base, bytes_ = _WORD, 0, dict[int, str]()
        for i, update in changed.items():
            kept &= ~places[i].mask
            if isinstance(update.value, int):
                base |= update.value - places[i].low << places[i].shift
            else:
                _add_field(lanes, bytes_, places[i], update)
        found[word] = _Change(kept, base & _WORD, *_stored(lanes, word, bytes_))
    return found


def _add_field(lanes: Lanes, bytes_: dict[int, str], place: Place, update: Expression) -> None:
    """Adds the new value of a leaf to the bytes of its word. `bytes_` has these bytes by position in the word."""
    w, bits = lanes.writer, stored_width(place.width)
    value = lanes.integer(update, bits)
    if place.low:
        value = w.let(f"sub {vector(bits)} {value}, {splat(place.low, bits)}")
    for byte in place.bytes:
        piece = shifted(w, value, place.shift - 8 * byte, bits)
        if bits > 8:
            piece = w.let(f"trunc {vector(bits)} {piece} to {BYTES}")
        bytes_[byte] = w.let(f"or {BYTES} {bytes_[byte]}, {piece}") if byte in bytes_ else piece


def _stored(lanes: Lanes, word: int, bytes_: dict[int, str]) -> tuple[int, int]:
    """Stores bytes of a word as one number for each state.

    Returns the number's size in bits, and the position of its first bit in the word. If there are no bytes, stores
    nothing and returns zeros.
    """
    if not bytes_:
        return 0, 0
    size = 1
    while max(bytes_) - min(bytes_) >= size:
        size *= 2
    first = min(bytes_)
    rows(lanes.writer, {byte - first: name for byte, name in bytes_.items()}, size, f"%changes{word}")
    return 8 * size, 8 * first


def _successor(loop: Groups, words: int, changes: dict[int, _Change], lane: str, at: str) -> None:
    """Stores the successor of one state."""
    let = loop.writer.let
    source = loop.at("%from", let(f"mul i64 {lane}, {words}"))
    target = loop.at("%successors", let(f"mul i64 {at}, {words}"))
    for word in range(words):
        value = loop.get(loop.at(source, str(word)))
        if word in changes:
            value = _changed(loop, value, word, changes[word], lane)
        loop.put(loop.at(target, str(word)), value)


def _changed(loop: Groups, value: str, word: int, change: _Change, lane: str) -> str:
    let = loop.writer.let
    value = let(f"and i64 {value}, {change.kept}")
    if change.base:
        value = let(f"or i64 {value}, {change.base}")
    if change.bits:
        place = let(f"getelementptr i{change.bits}, ptr %changes{word}, i64 {lane}")
        new = let(f"load i{change.bits}, ptr {place}, align {change.bits // 8}")
        if change.bits < 64:
            new = let(f"zext i{change.bits} {new} to i64")
        value = let(f"or i64 {value}, {let(f'shl i64 {new}, {change.shift}')}")
    return value


# --- degrees --------------------------------------------------------------------------------------------------------


def _degrees(loop: Groups, none: int, bits: int) -> None:
    """Updates the least and the greatest degree (number of enabled instances) that each lane has had so far.

    A lane without a state changes neither. For the least degree, the degree of such a lane is taken as `none`, which is
    greater than any degree.
    """
    w, kind = loop.writer, vector(bits)
    degree = loop.get("%degree", kind)
    there = w.let(f"bitcast i64 {loop.valid} to {vector(1)}")
    for name, absent, less in (("%least", none, "ult"), ("%greatest", 0, "ugt")):
        here = w.let(f"select {vector(1)} {there}, {kind} {degree}, {kind} {splat(absent, bits)}")
        before = loop.get(name, kind)
        closer = w.let(f"icmp {less} {kind} {here}, {before}")
        loop.put(name, w.let(f"select {vector(1)} {closer}, {kind} {here}, {kind} {before}"), kind)


def _tell_degrees(loop: Groups, none: int, bits: int) -> None:
    """Updates the least and the greatest degree in the tally, after the last group."""
    let = loop.writer.let
    for place, name, reduce in ((LEAST, "%least", "umin"), (GREATEST, "%greatest", "umax")):
        seen = f"{vector(bits)} {loop.get(name, vector(bits))}"
        value = let(f"call i{bits} @llvm.vector.reduce.{reduce}.v{GROUP}i{bits}({seen})")
        if bits < 64:
            value = let(f"zext i{bits} {value} to i64")
        if place == LEAST:
            value = let(f"select i1 {let(f'icmp eq i64 {value}, {none}')}, i64 {HUGE}, i64 {value}")
        known = loop.at("%tally", str(place))
        loop.put(known, let(f"call i64 @llvm.{reduce}.i64(i64 {value}, i64 {loop.get(known)})"))


# --- failures -------------------------------------------------------------------------------------------------------


def failures(system: TransitionSystem, layout: Layout) -> str:
    loop = Groups("i64 @failures(ptr %states, i64 %n, ptr %sources, ptr %transitions)", layout.words)
    loop.variable("%count", "i64", "0")
    loop.begin()
    lanes, w = loop.lanes(layout), loop.writer
    for number, transition in enumerate(system.transitions):
        failing = _failing(loop, lanes, transition)
        if not failing:
            continue
        loop.branch_if_any(failing, f"fail{number}", f"next{number}")
        w.block(f"fail{number}")
        count = loop.get("%count")
        with loop.each(f"note{number}", failing, count) as (lane, at):
            loop.put(loop.at("%sources", at), w.let(f"add i64 %index, {lane}"))
            loop.put(loop.at("%transitions", at), str(number))
        loop.put("%count", w.let(f"add i64 {count}, {loop.population(failing)}"))
        w.do(f"br label %next{number}")
        w.block(f"next{number}")
    loop.end()
    return loop.text(f"ret i64 {loop.get('%count')}")


def declared() -> str:
    """Declarations of LLVM's intrinsic functions for vectors of lanes."""
    lines = []
    for bits in SIZES:
        kind = vector(bits)
        lines.append(f"declare {kind} @llvm.ctpop.v{GROUP}i{bits}({kind})")
        lines += [f"declare i{bits} @llvm.vector.reduce.{r}.v{GROUP}i{bits}({kind})" for r in ("umin", "umax")]
    return "\n".join(lines)
