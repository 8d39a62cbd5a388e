"""The LLVM text of a transition system: functions over whole batches of packed states.

`n` is the number of given states. Arrays have 64-bit integers, and a state is `words` successive integers.

`expand(states, n, successors, sources, transitions, tally) -> count`
    Writes every successor, and returns the number of successors. If `sources` is not null, also writes the number of
    each successor's transition, and the position of each successor's source in `states`. The successors of each group
    of 64 states lie together, sorted by transition. Each array needs room for n * (number of transitions) entries.
    Updates `tally` (see `isrcheck.checker.kernel.verdict_bits`).
`failures(states, n, sources, transitions) -> count`
    Writes the position of the state and the number of the transition of each failing instance. Returns the number of
    these instances. The arrays need as much room as those of `expand`.
`hashes(states, n, out)`
    Writes the partition hash of each state.
`evaluate(states, n, out)`
    Writes the verdict bits of each state (see `isrcheck.checker.kernel.verdict_bits`), in as many words as these bits
    need.
`survey(states, n, totals)`
    Sets in `totals` every verdict bit that is set for at least one of the states.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from isrcheck.checker.kernel.layout import Layout, require_fitting
from isrcheck.checker.kernel.llvm_batches import Groups, Octets
from isrcheck.checker.kernel.llvm_compiler import MODULE
from isrcheck.checker.kernel.llvm_expansion import declared, expand, failures
from isrcheck.checker.kernel.llvm_words import (
    BYTES,
    FIRST,
    INTEGERS,
    LANES,
    LAST,
    SHUFFLE,
    WORD,
    octets,
    room,
    rows,
    splat,
)
from isrcheck.model.semantics.expressions import FALSE, Expression
from isrcheck.model.semantics.transition_system import TransitionSystem

WORD_DECLARATIONS: Final = """\
declare void @llvm.memcpy.p0.p0.i64(ptr, ptr, i64, i1)
declare void @llvm.memset.p0.i64(ptr, i8, i64, i1)
attributes #0 = { nounwind "min-legal-vector-width"="512" }
"""
DECLARATIONS: Final = f"""\
{declared()}
declare i64 @llvm.smin.i64(i64, i64)
declare i64 @llvm.umin.i64(i64, i64)
declare i64 @llvm.umax.i64(i64, i64)
declare i64 @llvm.ctpop.i64(i64)
declare i64 @llvm.cttz.i64(i64, i1)
{WORD_DECLARATIONS}
{SHUFFLE}"""
SURVEYED: Final = 512
"""How many states `survey` evaluates at a time. Their verdicts lie on the stack and stay in the processor's cache."""


def kernel_text(system: TransitionSystem, layout: Layout, bits: Sequence[Expression]) -> str:
    """The text of the modules, equal for equal systems.

    `failures` has its own module, because most searches never need it.
    """
    for transition in system.transitions:
        require_fitting((transition.guard, transition.failure, *transition.updates.values()))
    require_fitting(bits)
    always = [expand(system, layout), _hashes(layout), _evaluate(layout, bits), _survey(layout, bits)]
    modules = [always, [failures(system, layout)]]
    return MODULE.join("\n".join([DECLARATIONS, *functions]) for functions in modules)


# --- hashes and verdicts --------------------------------------------------------------------------------------------


def _hashes(layout: Layout) -> str:
    loop = Octets("void @hashes(ptr %states, i64 %n, ptr %out)", layout.words)
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
    loop.store_rows("hash", [[h]])
    loop.end()
    return loop.text()


def _verdicts(loop: Groups, layout: Layout, bits: Sequence[Expression]) -> list[list[str]]:
    """Writes the code that computes verdicts.

    Returns a list for every eight states of a group. Each list has a vector for each word of a verdict.
    """
    lanes, let = loop.lanes(layout), loop.writer.let
    bytes_: dict[int, str] = {}
    for number, expression in enumerate(bits):
        if expression is not FALSE:
            picked = let(f"and {BYTES} {lanes.flag(expression)}, {splat(1 << number % 8, 8)}")
            before = bytes_.get(number // 8)
            bytes_[number // 8] = let(f"or {BYTES} {before}, {picked}") if before else picked
    words = []
    for word in range((len(bits) + 63) // 64):
        mine = {byte - WORD * word: name for byte, name in bytes_.items() if byte // WORD == word}
        rows(loop.writer, mine, WORD, f"%verdicts{word}")
        words.append(octets(loop.writer, f"%verdicts{word}"))
    return [list(octet) for octet in zip(*words, strict=True)]


def _evaluate(layout: Layout, bits: Sequence[Expression]) -> str:
    loop = Groups("void @evaluate(ptr %states, i64 %n, ptr %out)", layout.words)
    size = (len(bits) + 63) // 64
    room(loop.writer, "%written", WORD * size)
    for word in range(size):
        room(loop.writer, f"%verdicts{word}", WORD)
    loop.begin()
    loop.store_rows("verdict", _verdicts(loop, layout, bits))
    loop.end()
    return loop.text()


def _survey(layout: Layout, bits: Sequence[Expression]) -> str:
    """Writes `survey`, which calls `evaluate` on blocks of states.

    `survey` has no copy of the code of `evaluate`, because this code is long if there are many verdict bits.
    """
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
  call void @evaluate(ptr %place, i64 %count, ptr %verdicts)
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
