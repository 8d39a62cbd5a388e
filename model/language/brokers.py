"""Brokers as parameters: opaque values that are equal or not, hashable, and usable as an index; nothing else."""

from __future__ import annotations

from typing import Any, Final, NoReturn

from isrcheck.model.language.errors import mistake

NO_ORDER: Final = "brokers have no order and no arithmetic"
COMPARE: Final = "compare brokers with == and !=, or keep what is ordered in a number beside them"


class BrokerId:
    """One broker, known while the model is read; `s.log[b]` is its log, `int` its number for printing."""

    __slots__ = ("number",)

    def __init__(self, number: int) -> None:
        object.__setattr__(self, "number", number)

    number: int

    def __setattr__(self, name: str, value: object) -> NoReturn:
        raise mistake(f"{self!r} gets another {name}", "parameters are not changed: assign a variable of the state")

    def __eq__(self, other: object) -> Any:
        if isinstance(other, BrokerId):
            return self.number == other.number
        if other is None or other is none:
            return False
        if isinstance(other, int | str):
            raise mistake(f"{self!r} == {other!r} compares a broker with a value", "write self.broker(number)")
        return NotImplemented

    def __hash__(self) -> int:
        return self.number  # that of a text differs between processes, and with it the order of a set

    def __index__(self) -> int:
        return self.number

    def __repr__(self) -> str:
        return f"broker {self.number}"

    def _refuse(self, other: object = None) -> NoReturn:
        raise mistake(f"{NO_ORDER}: {self!r}", COMPARE)

    __lt__ = __le__ = __gt__ = __ge__ = __add__ = __radd__ = __sub__ = __rsub__ = __mul__ = __rmul__ = _refuse


class NoBroker:
    """What an optional broker holds when it holds none."""

    __slots__ = ()

    def __eq__(self, other: object) -> Any:
        return True if other is None or other is self else NotImplemented

    def __hash__(self) -> int:
        return hash(None)

    def __bool__(self) -> bool:
        return False

    def __repr__(self) -> str:
        return "none"


none: Final = NoBroker()
