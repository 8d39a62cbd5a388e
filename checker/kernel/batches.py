"""LLVM text of a function that walks over a batch of states, eight at a time."""

from __future__ import annotations

from isrcheck.checker.kernel.lanes import FLAGS, INTEGERS, LANES, RAMP, Lanes, Writer
from isrcheck.checker.kernel.layout import Layout


class Loop:
    """A function that walks over its states eight at a time.

    `setup` text runs once before. Between `begin` and `end` the writer is inside the loop: `words` are the words of
    the eight states, `valid` the lanes that hold one (the others are all zero), `index` the position of the first.
    """

    def __init__(self, head: str, words: int) -> None:
        self.writer = Writer()
        self.writer.lines += [f"define {head} #0 {{", "entry:", f"  %rest = alloca [{LANES * words} x i64], align 64"]
        self._words = words
        self.words: list[str] = []
        self.index = "%index"
        self.valid = ""

    def begin(self) -> None:
        w = self.writer
        w.do("br label %loop")
        w.block("loop")
        w.lines.append("  %index = phi i64 [ 0, %entry ], [ %following, %latch ]")
        w.lines.append("  %left = sub i64 %n, %index")
        w.do("%more = icmp sgt i64 %left, 0")
        w.do("br i1 %more, label %some, label %done")
        self._load()
        self.valid = w.let(f"icmp slt {INTEGERS} {RAMP}, {self.spread('%left')}")

    def _load(self) -> None:
        """Whole groups are read in place; the last few states are copied first, so that nothing behind is read."""
        w, size = self.writer, self._words
        w.block("some")
        w.do(f"%place = getelementptr i64, ptr %states, i64 {w.let(f'mul i64 %index, {size}')}")
        w.do(f"%full = icmp sge i64 %left, {LANES}")
        w.do("br i1 %full, label %body, label %partial")
        w.block("partial")
        w.do(f"store [{LANES * size} x i64] zeroinitializer, ptr %rest, align 64")
        w.do(
            f"call void @llvm.memcpy.p0.p0.i64(ptr %rest, ptr %place, i64 {w.let(f'mul i64 %left, {8 * size}')}, i1 0)"
        )
        w.do("br label %body")
        w.block("body")
        w.lines.append("  %from = phi ptr [ %place, %some ], [ %rest, %partial ]")
        lanes = LANES * size
        rows = w.let(f"load <{lanes} x i64>, ptr %from, align 8")
        self.words = (
            [w.shuffle(rows, "poison", lanes, range(j, lanes, size)) for j in range(size)] if size > 1 else [rows]
        )

    def end(self) -> None:
        w = self.writer
        w.do("br label %latch")
        w.block("latch")
        w.do(f"%following = add i64 %index, {LANES}")
        w.do("br label %loop")
        w.block("done")

    def text(self, result: str = "ret void") -> str:
        return "\n".join([*self.writer.lines, f"  {result}", "}", ""])

    def spread(self, scalar: str) -> str:
        """A vector with this integer in every lane."""
        one = self.writer.let(f"insertelement {INTEGERS} poison, i64 {scalar}, i64 0")
        picked = ", ".join(["i32 0"] * LANES)
        return self.writer.let(f"shufflevector {INTEGERS} {one}, {INTEGERS} poison, <{LANES} x i32> <{picked}>")

    def lanes(self, layout: Layout) -> Lanes:
        return Lanes(self.writer, layout, self.words)

    def variable(self, name: str, kind: str, initial: str) -> None:
        """A local variable; LLVM turns it into a register."""
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

    def population(self, mask: str) -> str:
        """In how many lanes a flag holds."""
        w = self.writer
        byte = w.let(f"zext i{LANES} {w.let(f'bitcast {FLAGS} {mask} to i{LANES}')} to i64")
        return w.let(f"call i64 @llvm.ctpop.i64(i64 {byte})")

    def compress(self, value: str, mask: str) -> str:
        """The lanes where the flag holds, moved together at the front."""
        name = f"@llvm.experimental.vector.compress.v{LANES}i64"
        return self.writer.let(f"call {INTEGERS} {name}({INTEGERS} {value}, {FLAGS} {mask}, {INTEGERS} poison)")

    def branch_if_any(self, mask: str, yes: str, no: str) -> None:
        w = self.writer
        some = w.let(f"icmp ne i{LANES} {w.let(f'bitcast {FLAGS} {mask} to i{LANES}')}, 0")
        w.do(f"br i1 {some}, label %{yes}, label %{no}")
