"""The LLVM text of a transition system: functions over whole batches of packed states.

All sizes are in states, all arrays are of 64-bit integers, a state is `words` of them, one after the other.

`expand(states, n, successors, sources, transitions, tally) -> count`
    Writes every successor; where `sources` is not null also the position of the state it comes from and its
    transition. Successors of a group of eight states stand together, transition by transition. The arrays need room
    for n * (number of transitions) + 8 entries: whole vectors are stored. `tally` is updated: the least and the
    greatest number of enabled instances of a state, the number of failing instances, then for each action how many
    instances were enabled. A failing instance is not enabled.
`failures(states, n, sources, transitions) -> count`
    The failing instances: state and transition of each. Same room.
`hashes(states, n, out)`
    The owner hash of each state.
`judge(states, n, out)`
    The verdict bits of each state, `verdict_words` words a state.
`survey(states, n, totals)`
    The verdict bits of all states together, or-ed into `totals`.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from isrcheck.checker.kernel.batches import Loop
from isrcheck.checker.kernel.hashing import FIRST, LAST
from isrcheck.checker.kernel.lanes import ALL, FLAGS, INTEGERS, LANES, RAMP, Lanes, splat
from isrcheck.checker.kernel.layout import Layout
from isrcheck.checker.kernel.native import MODULE
from isrcheck.checker.kernel.ranges import require_fitting
from isrcheck.checker.kernel.tally import ACTIONS, FAILURES, GREATEST, HUGE, LEAST
from isrcheck.model.language.expressions import FALSE, Expression
from isrcheck.model.language.system import Transition, TransitionSystem

DECLARATIONS: Final = f"""\
declare {INTEGERS} @llvm.experimental.vector.compress.v{LANES}i64({INTEGERS}, {FLAGS}, {INTEGERS})
declare {INTEGERS} @llvm.ctpop.v{LANES}i64({INTEGERS})
declare {INTEGERS} @llvm.smin.v{LANES}i64({INTEGERS}, {INTEGERS})
declare {INTEGERS} @llvm.smax.v{LANES}i64({INTEGERS}, {INTEGERS})
declare i64 @llvm.smin.i64(i64, i64)
declare i64 @llvm.smax.i64(i64, i64)
declare i64 @llvm.ctpop.i64(i64)
declare i64 @llvm.vector.reduce.smin.v{LANES}i64({INTEGERS})
declare i64 @llvm.vector.reduce.smax.v{LANES}i64({INTEGERS})
declare void @llvm.memcpy.p0.p0.i64(ptr, ptr, i64, i1)
attributes #0 = {{ nounwind "min-legal-vector-width"="512" }}
"""
SURVEYED: Final = 512
"""How many states `survey` judges at once: their verdicts stay in the cache of the processor, and on the stack."""


def kernel_text(system: TransitionSystem, layout: Layout, bits: Sequence[Expression]) -> str:
    """The modules; equal systems have equal texts. Most searches never ask which instances fail."""
    for transition in system.transitions:
        require_fitting((transition.guard, transition.failure, *transition.updates.values()))
    require_fitting(bits)
    always = [_expand(system, layout), _hashes(layout), _judge(layout, bits), _survey(layout, bits)]
    modules = [always, [_failures(system, layout)]]
    return MODULE.join("\n".join([DECLARATIONS, *functions]) for functions in modules)


# --- expansion ------------------------------------------------------------------------------------------------------


def _expand(system: TransitionSystem, layout: Layout) -> str:
    head = "i64 @expand(ptr %states, i64 %n, ptr %successors, ptr %sources, ptr %transitions, ptr %tally)"
    loop = Loop(head, layout.words)
    loop.variable("%count", "i64", "0")
    loop.variable("%degree", INTEGERS, "zeroinitializer")
    loop.variable("%least", INTEGERS, splat(HUGE))
    loop.variable("%greatest", INTEGERS, "zeroinitializer")
    loop.writer.do("%traced = icmp ne ptr %sources, null")
    loop.begin()
    loop.put("%degree", "zeroinitializer", INTEGERS)
    lanes = loop.lanes(layout)
    for number, transition in enumerate(system.transitions):
        if transition.guard is not FALSE:
            _transition(loop, lanes, number, transition, system.actions.index(transition.label.action))
        if transition.failure is not FALSE:
            failing = loop.writer.let(f"and {FLAGS} {lanes.flag(transition.failure)}, {loop.valid}")
            loop.add_to(loop.at("%tally", str(FAILURES)), loop.population(failing))
    _degrees(loop)
    loop.end()
    for place, reduce in ((LEAST, "smin"), (GREATEST, "smax")):
        vector = loop.get("%least" if place == LEAST else "%greatest", INTEGERS)
        value = loop.writer.let(f"call i64 @llvm.vector.reduce.{reduce}.v{LANES}i64({INTEGERS} {vector})")
        known = loop.at("%tally", str(place))
        both = loop.writer.let(f"call i64 @llvm.{reduce}.i64(i64 {value}, i64 {loop.get(known)})")
        loop.put(known, both)
    return loop.text(f"ret i64 {loop.get('%count')}")


def _transition(loop: Loop, lanes: Lanes, number: int, transition: Transition, action: int) -> None:
    """Guards are computed for all; what only this transition needs, in its own block, entered if any lane fires."""
    w = loop.writer
    guard = lanes.flag(transition.guard)
    loop.branch_if_any(guard, f"fire{number}", f"next{number}")
    w.block(f"fire{number}")
    mine = lanes.fork()
    mask = w.let(f"and {FLAGS} {guard}, {loop.valid}")
    if transition.failure is not FALSE:
        sound = w.let(f"xor {FLAGS} {mine.flag(transition.failure)}, {ALL}")
        mask = w.let(f"and {FLAGS} {mask}, {sound}")
    count, size = loop.get("%count"), len(loop.words)
    words = [loop.compress(word, mask) for word in _successor(mine, transition)]
    row = loop.at("%successors", w.let(f"mul i64 {count}, {size}"))
    w.do(f"store <{LANES * size} x i64> {w.interleave(words)}, ptr {row}, align 8")
    w.do(f"br i1 %traced, label %trace{number}, label %tally{number}")
    w.block(f"trace{number}")
    positions = loop.compress(w.let(f"add {INTEGERS} {RAMP}, {loop.spread(loop.index)}"), mask)
    w.do(f"store {INTEGERS} {positions}, ptr {loop.at('%sources', count)}, align 8")
    w.do(f"store {INTEGERS} {splat(number)}, ptr {loop.at('%transitions', count)}, align 8")
    w.do(f"br label %tally{number}")
    w.block(f"tally{number}")
    fired = loop.population(mask)
    loop.put("%count", w.let(f"add i64 {count}, {fired}"))
    loop.add_to(loop.at("%tally", str(ACTIONS + action)), fired)
    more = w.let(f"zext {FLAGS} {mask} to {INTEGERS}")
    loop.put("%degree", w.let(f"add {INTEGERS} {loop.get('%degree', INTEGERS)}, {more}"), INTEGERS)
    w.do(f"br label %next{number}")
    w.block(f"next{number}")


def _successor(lanes: Lanes, transition: Transition) -> list[str]:
    """The words of the state after the transition."""
    words, let = list(lanes.words), lanes.writer.let
    for j in range(len(words)):
        changed = [i for i in transition.updates if lanes.layout.places[i].word == j and lanes.layout.places[i].width]
        if not changed:
            continue
        kept = ((1 << 64) - 1) & ~sum(lanes.layout.places[i].mask for i in changed)
        word = let(f"and {INTEGERS} {words[j]}, {splat(kept)}")
        for i in changed:
            place = lanes.layout.places[i]
            value = lanes.integer(transition.updates[i])
            if place.low:
                value = let(f"sub nsw {INTEGERS} {value}, {splat(place.low)}")
            word = let(f"or {INTEGERS} {word}, {let(f'shl {INTEGERS} {value}, {splat(place.shift)}')}")
        words[j] = word
    return words


def _degrees(loop: Loop) -> None:
    w, degree = loop.writer, loop.get("%degree", INTEGERS)
    present = w.let(f"select {FLAGS} {loop.valid}, {INTEGERS} {degree}, {INTEGERS} {splat(HUGE)}")
    for name, operation, value in (("%least", "smin", present), ("%greatest", "smax", degree)):
        call = f"call {INTEGERS} @llvm.{operation}.v{LANES}i64"
        loop.put(name, w.let(f"{call}({INTEGERS} {value}, {INTEGERS} {loop.get(name, INTEGERS)})"), INTEGERS)


def _failures(system: TransitionSystem, layout: Layout) -> str:
    loop = Loop("i64 @failures(ptr %states, i64 %n, ptr %sources, ptr %transitions)", layout.words)
    loop.variable("%count", "i64", "0")
    loop.begin()
    lanes, w = loop.lanes(layout), loop.writer
    for number, transition in enumerate(system.transitions):
        if transition.failure is FALSE:
            continue
        mask = w.let(f"and {FLAGS} {lanes.flag(transition.failure)}, {loop.valid}")
        count = loop.get("%count")
        positions = loop.compress(w.let(f"add {INTEGERS} {RAMP}, {loop.spread(loop.index)}"), mask)
        w.do(f"store {INTEGERS} {positions}, ptr {loop.at('%sources', count)}, align 8")
        w.do(f"store {INTEGERS} {splat(number)}, ptr {loop.at('%transitions', count)}, align 8")
        loop.put("%count", w.let(f"add i64 {count}, {loop.population(mask)}"))
    loop.end()
    return loop.text(f"ret i64 {loop.get('%count')}")


# --- hashes and verdicts --------------------------------------------------------------------------------------------


def store_rows(loop: Loop, name: str, rows: Sequence[str]) -> None:
    """Store `rows` words a state, not past the last state: whole groups in place, the rest through a copy."""
    w, size = loop.writer, len(rows)
    vector = w.interleave(rows)
    place = loop.at("%out", w.let(f"mul i64 %index, {size}"))
    w.do(f"br i1 %full, label %{name}_full, label %{name}_partial")
    w.block(f"{name}_full")
    w.do(f"store <{LANES * size} x i64> {vector}, ptr {place}, align 8")
    w.do("br label %latch_before")
    w.block(f"{name}_partial")
    w.do(f"store <{LANES * size} x i64> {vector}, ptr %written, align 64")
    w.do(
        f"call void @llvm.memcpy.p0.p0.i64(ptr {place}, ptr %written, i64 {w.let(f'mul i64 %left, {8 * size}')}, i1 0)"
    )
    w.do("br label %latch_before")
    w.block("latch_before")


def _hashes(layout: Layout) -> str:
    loop = Loop("void @hashes(ptr %states, i64 %n, ptr %out)", layout.words)
    loop.writer.do(f"%written = alloca [{LANES} x i64], align 64")
    loop.begin()
    let, h = loop.writer.let, "zeroinitializer"
    for word in loop.words:
        h = let(f"xor {INTEGERS} {h}, {word}")
        h = let(f"xor {INTEGERS} {h}, {let(f'lshr {INTEGERS} {h}, {splat(32)}')}")
        h = let(f"mul {INTEGERS} {h}, {splat(FIRST)}")
        h = let(f"xor {INTEGERS} {h}, {let(f'lshr {INTEGERS} {h}, {splat(29)}')}")
    h = let(f"mul {INTEGERS} {h}, {splat(LAST)}")
    h = let(f"xor {INTEGERS} {h}, {let(f'lshr {INTEGERS} {h}, {splat(32)}')}")
    store_rows(loop, "hash", [h])
    loop.end()
    return loop.text()


def _bits(loop: Loop, layout: Layout, bits: Sequence[Expression]) -> list[str]:
    """The verdict words of the eight states."""
    lanes, let = loop.lanes(layout), loop.writer.let
    words = ["zeroinitializer"] * ((len(bits) + 63) // 64)
    for number, expression in enumerate(bits):
        if expression is not FALSE:
            one = splat(1 << number % 64)
            picked = let(f"select {FLAGS} {lanes.flag(expression)}, {INTEGERS} {one}, {INTEGERS} zeroinitializer")
            words[number // 64] = let(f"or {INTEGERS} {words[number // 64]}, {picked}")
    return words


def _judge(layout: Layout, bits: Sequence[Expression]) -> str:
    loop = Loop("void @judge(ptr %states, i64 %n, ptr %out)", layout.words)
    size = (len(bits) + 63) // 64
    loop.writer.do(f"%written = alloca [{LANES * size} x i64], align 64")
    loop.begin()
    store_rows(loop, "verdict", _bits(loop, layout, bits))
    loop.end()
    return loop.text()


def _survey(layout: Layout, bits: Sequence[Expression]) -> str:
    """`judge` once more, on blocks: the verdicts of states are most of what a wide model has to compile."""
    words, size = layout.words, (len(bits) + 63) // 64
    totals = "\n".join(
        f"""\
  %from{j} = getelementptr i64, ptr %row, i64 {j}
  %here{j} = load i64, ptr %from{j}, align 8
  %total{j} = getelementptr i64, ptr %totals, i64 {j}
  %known{j} = load i64, ptr %total{j}, align 8
  %both{j} = or i64 %here{j}, %known{j}
  store i64 %both{j}, ptr %total{j}, align 8"""
        for j in range(size)
    )
    return f"""\
define void @survey(ptr %states, i64 %n, ptr %totals) #0 {{
entry:
  %verdicts = alloca [{SURVEYED * size} x i64], align 64
  br label %block
block:
  %index = phi i64 [ 0, %entry ], [ %following, %latch ]
  %left = sub i64 %n, %index
  %more = icmp sgt i64 %left, 0
  br i1 %more, label %some, label %done
some:
  %count = call i64 @llvm.smin.i64(i64 %left, i64 {SURVEYED})
  %offset = mul i64 %index, {words}
  %place = getelementptr i64, ptr %states, i64 %offset
  call void @judge(ptr %place, i64 %count, ptr %verdicts)
  br label %rows
rows:
  %i = phi i64 [ 0, %some ], [ %next, %rows ]
  %start = mul i64 %i, {size}
  %row = getelementptr i64, ptr %verdicts, i64 %start
{totals}
  %next = add i64 %i, 1
  %again = icmp slt i64 %next, %count
  br i1 %again, label %rows, label %latch
latch:
  %following = add i64 %index, {SURVEYED}
  br label %block
done:
  ret void
}}
"""
