"""LLVM text of a function that walks over a batch of states, group by group."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager

from isrcheck.checker.kernel.layout import Layout
from isrcheck.checker.kernel.llvm_expressions import Lanes, vector
from isrcheck.checker.kernel.llvm_words import BYTES, GROUP, INTEGERS, LANES, RAMP, WORD, Writer, planes, room


class Loop:
    """The LLVM text of a function that walks over a batch of states in groups of `size` states.

    Text that is written between `begin` and `end` lies inside the loop. There, `%index` is the position of the group's
    first state, and `%left` is the number of states from this position to the end of the batch. `%full` tells whether
    the group has `size` states. Only the last group may have fewer. `%from` is the address of the group's states. In a
    group that is not full, zeros follow the states.

    The loops of `isrcheck.checker.kernel.jit` are something else.
    """

    size: int

    def __init__(self, head: str, words: int) -> None:
        self.writer = Writer()
        rest = f"  %rest = alloca [{self.size * words} x i64], align 64"
        self.writer.lines += [f"define {head} #0 {{", "entry:", rest]
        self._words = words

    def begin(self) -> None:
        w = self.writer
        w.do("br label %loop")
        w.block("loop")
        w.lines.append("  %index = phi i64 [ 0, %entry ], [ %following, %latch ]")
        w.lines.append("  %left = sub i64 %n, %index")
        w.do("%more = icmp sgt i64 %left, 0")
        w.do("br i1 %more, label %some, label %done")
        self._place()

    def _place(self) -> None:
        """Sets `%from`. Copies a group that is not full, so that no memory after its last state is read."""
        w, size = self.writer, self._words
        w.block("some")
        w.do(f"%place = getelementptr i64, ptr %states, i64 {w.let(f'mul i64 %index, {size}')}")
        w.do(f"%full = icmp sge i64 %left, {self.size}")
        w.do("br i1 %full, label %body, label %partial")
        w.block("partial")
        w.do(f"call void @llvm.memset.p0.i64(ptr align 64 %rest, i8 0, i64 {8 * self.size * size}, i1 0)")
        w.do(
            f"call void @llvm.memcpy.p0.p0.i64(ptr %rest, ptr %place, i64 {w.let(f'mul i64 %left, {8 * size}')}, i1 0)"
        )
        w.do("br label %body")
        w.block("body")
        w.lines.append("  %from = phi ptr [ %place, %some ], [ %rest, %partial ]")

    def end(self) -> None:
        w = self.writer
        w.do("br label %latch")
        w.block("latch")
        w.do(f"%following = add i64 %index, {self.size}")
        w.do("br label %loop")
        w.block("done")

    def text(self, result: str = "ret void") -> str:
        return "\n".join([*self.writer.lines, f"  {result}", "}", ""])

    def variable(self, name: str, kind: str, initial: str) -> None:
        """Declares a local variable and sets it to `initial`. LLVM turns the variable into a register."""
        self.writer.do(f"{name} = alloca {kind}, align 64")
        self.writer.do(f"store {kind} {initial}, ptr {name}, align 64")

    def get(self, name: str, kind: str = "i64") -> str:
        return self.writer.let(f"load {kind}, ptr {name}, align {8 if kind == 'i64' else 64}")

    def put(self, name: str, value: str, kind: str = "i64") -> None:
        self.writer.do(f"store {kind} {value}, ptr {name}, align {8 if kind == 'i64' else 64}")

    def at(self, array: str, position: str) -> str:
        return self.writer.let(f"getelementptr i64, ptr {array}, i64 {position}")

    def add_to(self, place: str, amount: str) -> None:
        self.put(place, self.writer.let(f"add i64 {self.get(place)}, {amount}"))

    def store_rows(self, name: str, groups: Sequence[Sequence[str]]) -> None:
        """Stores one row in `%out` for each state of the group, and nothing after the last row.

        `groups` has a list for every eight states. Each list has one vector for each word of a row. The caller must
        have reserved memory at `%written` for the rows of a full group.
        """
        w, size = self.writer, len(groups[0])
        vectors = [w.interleave(rows) for rows in groups]
        place = self.at("%out", w.let(f"mul i64 %index, {size}"))
        w.do(f"br i1 %full, label %{name}_full, label %{name}_partial")
        for label, begin in (("full", place), ("partial", "%written")):
            w.block(f"{name}_{label}")
            for number, row in enumerate(vectors):
                at = self.at(begin, str(number * LANES * size))
                w.do(f"store <{LANES * size} x i64> {row}, ptr {at}, align 8")
            if label == "partial":
                count = w.let(f"mul i64 %left, {8 * size}")
                w.do(f"call void @llvm.memcpy.p0.p0.i64(ptr {place}, ptr %written, i64 {count}, i1 0)")
            w.do("br label %latch_before")
        w.block("latch_before")


class Octets(Loop):
    """A loop over eight states at a time.

    `words` has a vector for each word of a state. `valid` has a flag for each lane, true if the lane has a state.
    """

    size = LANES

    def begin(self) -> None:
        super().begin()
        w, lanes = self.writer, LANES * self._words
        rows = w.let(f"load <{lanes} x i64>, ptr %from, align 8")
        starts = range(self._words)
        self.words = [w.shuffle(rows, "poison", lanes, range(j, lanes, self._words)) for j in starts]
        self.valid = w.let(f"icmp slt {INTEGERS} {RAMP}, {self._spread('%left')}")

    def _spread(self, scalar: str) -> str:
        """The vector that has the integer `scalar` in every lane."""
        one = self.writer.let(f"insertelement {INTEGERS} poison, i64 {scalar}, i64 0")
        picked = ", ".join(["i32 0"] * LANES)
        return self.writer.let(f"shufflevector {INTEGERS} {one}, {INTEGERS} poison, <{LANES} x i32> <{picked}>")


class Groups(Loop):
    """A loop over `GROUP` states at a time. Each group is converted to planes (`isrcheck.checker.kernel.llvm_words`).

    `valid` is a 64-bit integer with a bit for each lane, set if the lane has a state.
    """

    size = GROUP

    def __init__(self, head: str, words: int) -> None:
        super().__init__(head, words)
        for name, vectors in (("%planes", WORD * words), ("%spare", WORD * words), ("%parts", WORD)):
            room(self.writer, name, vectors)

    def begin(self) -> None:
        super().begin()
        planes(self.writer, "%from", self._words)
        let = self.writer.let
        below = let(f"shl i64 1, {let(f'and i64 %left, {GROUP - 1}')}")
        some = let(f"sub i64 {below}, 1")
        self.valid = let(f"select i1 %full, i64 -1, i64 {some}")

    def lanes(self, layout: Layout) -> Lanes:
        return Lanes(self.writer, layout)

    def bits(self, flag: str) -> str:
        """A 64-bit integer with a bit for each lane, set if `flag` holds in the lane."""
        negative = self.writer.let(f"icmp slt {BYTES} {flag}, zeroinitializer")
        return self.writer.let(f"bitcast {vector(1)} {negative} to i64")

    def population(self, bits: str) -> str:
        return self.writer.let(f"call i64 @llvm.ctpop.i64(i64 {bits})")

    def branch_if_any(self, bits: str, yes: str, no: str) -> None:
        self.writer.do(f"br i1 {self.writer.let(f'icmp ne i64 {bits}, 0')}, label %{yes}, label %{no}")

    @contextmanager
    def each(self, name: str, bits: str, start: str) -> Iterator[tuple[str, str]]:
        """Writes a loop over the set bits of `bits`, which must not be 0.

        The text that is written in the body of the `with` statement is the body of the loop. Yields the names of two
        values in the loop: the bit's position, and a number that counts up from `start`.
        """
        w = self.writer
        w.do(f"br label %{name}_begin")
        w.block(f"{name}_begin")
        w.do(f"br label %{name}")
        w.block(name)
        w.lines.append(f"  %{name}_bits = phi i64 [ {bits}, %{name}_begin ], [ %{name}_rest, %{name} ]")
        w.lines.append(f"  %{name}_at = phi i64 [ {start}, %{name}_begin ], [ %{name}_next, %{name} ]")
        yield w.let(f"call i64 @llvm.cttz.i64(i64 %{name}_bits, i1 true)"), f"%{name}_at"
        w.do(f"%{name}_next = add i64 %{name}_at, 1")
        w.do(f"%{name}_rest = and i64 %{name}_bits, {w.let(f'sub i64 %{name}_bits, 1')}")
        w.do(f"br i1 {w.let(f'icmp eq i64 %{name}_rest, 0')}, label %{name}_end, label %{name}")
        w.block(f"{name}_end")
