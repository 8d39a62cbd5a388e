"""LLVM text of a function with variables, loops and conditions, for code that is the same for all models."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager

from isrcheck.checker.kernel.llvm_words import Writer


class Routine(Writer):
    """A function that returns a 64-bit integer or nothing. Its parameters (`names`) are 64-bit integers or addresses.

    Variables are 64-bit integers. They are declared at the function's beginning, so that LLVM keeps them in registers.
    """

    def __init__(self, name: str, names: Sequence[str], variables: Sequence[str], returns: bool = False) -> None:
        super().__init__()
        self._labels = 0
        parameters = ", ".join(f"i64 %{each}" for each in names)
        self.lines += [f"define {'i64' if returns else 'void'} @{name}({parameters}) #0 {{", "entry:"]
        for each in variables:
            self.do(f"%{each} = alloca i64, align 8")

    def text(self, result: str = "ret void") -> str:
        return "\n".join([*self.lines, f"  {result}", "}", ""])

    # --- variables and memory ---------------------------------------------------------------------------------------

    def get(self, variable: str) -> str:
        return self.let(f"load i64, ptr %{variable}, align 8")

    def put(self, variable: str, value: str | int) -> None:
        self.do(f"store i64 {value}, ptr %{variable}, align 8")

    def add_to(self, variable: str, amount: str | int) -> None:
        self.put(variable, self.plus(self.get(variable), amount))

    def plus(self, a: str, b: str | int) -> str:
        return self.let(f"add i64 {a}, {b}")

    def times(self, a: str, b: str | int) -> str:
        return self.let(f"mul i64 {a}, {b}")

    def address(self, array: str, position: str | int, size: int = 8) -> str:
        """The address of an element of `size` bytes in the array at the address `array`. Addresses are integers."""
        return self.plus(array, position * size if isinstance(position, int) else self.times(position, size))

    def pointer(self, address: str) -> str:
        return self.let(f"inttoptr i64 {address} to ptr")

    def load(self, address: str, kind: str = "i64", align: int = 8) -> str:
        return self.let(f"load {kind}, ptr {self.pointer(address)}, align {align}")

    def store(self, address: str, value: str, kind: str = "i64", align: int = 8) -> None:
        self.do(f"store {kind} {value}, ptr {self.pointer(address)}, align {align}")

    def element(self, array: str, position: str | int) -> str:
        """Loads an element of an array of 64-bit integers."""
        return self.load(self.address(array, position))

    # --- control ----------------------------------------------------------------------------------------------------

    def _label(self) -> str:
        self._labels += 1
        return f"l{self._labels}"

    @contextmanager
    def when(self, condition: str) -> Iterator[None]:
        """The text written in the body of the `with` statement runs only if a condition (`"ne i64 %a, 0"`) holds."""
        label = self._label()
        self.do(f"br i1 {self.let(f'icmp {condition}')}, label %{label}yes, label %{label}end")
        self.block(f"{label}yes")
        yield
        self.do(f"br label %{label}end")
        self.block(f"{label}end")

    @contextmanager
    def while_not_zero(self, variable: str) -> Iterator[None]:
        """The text written in the body of the `with` statement runs again and again, as long as a variable is not 0."""
        label = self._label()
        self.do(f"br label %{label}head")
        self.block(f"{label}head")
        more = self.let(f"icmp ne i64 {self.get(variable)}, 0")
        self.do(f"br i1 {more}, label %{label}body, label %{label}end")
        self.block(f"{label}body")
        yield
        self.do(f"br label %{label}head")
        self.block(f"{label}end")

    @contextmanager
    def each(self, variable: str, limit: str, first: str | int = 0, step: int = 1) -> Iterator[str]:
        """The text written in the body of the `with` statement runs for each number in `range(first, limit, step)`.

        Yields the name that the number has in the text.
        """
        label = self._label()
        self.put(variable, first)
        self.do(f"br label %{label}head")
        self.block(f"{label}head")
        number = self.get(variable)
        more = self.let(f"icmp slt i64 {number}, {limit}")
        self.do(f"br i1 {more}, label %{label}body, label %{label}end")
        self.block(f"{label}body")
        yield number
        self.add_to(variable, step)
        self.do(f"br label %{label}head")
        self.block(f"{label}end")
