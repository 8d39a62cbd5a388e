"""Members of scalarsets as parameters: opaque values that can be compared for equality, hashed, and used as an index.

A *scalarset* is a set of values that have no order and no arithmetic. The brokers are a scalarset. A model may declare
other scalarsets (`scalarset("client")`). No value belongs to two scalarsets.
"""

from __future__ import annotations

import zlib
from functools import cache
from typing import Any, Final, NoReturn

from isrcheck.model.language.errors import mistake

BROKER: Final = "broker"


def no_order(of: str) -> tuple[str, str]:
    """The error for an operator that members of a scalarset do not have: what is wrong, and what to write instead."""
    return (
        f"{of}s have no order and no arithmetic",
        f"compare {of}s with == and !=, or keep their order in a separate number",
    )


class BrokerId:
    """A member of a scalarset, by default a broker. `s.log[b]` is the log of broker `b`. `number` is for printing."""

    __slots__ = ("number", "of")

    def __init__(self, number: int, of: str = BROKER) -> None:
        object.__setattr__(self, "number", number)
        object.__setattr__(self, "of", of)

    number: int
    of: str

    def __setattr__(self, name: str, value: object) -> NoReturn:
        raise mistake(f"{name} of {self!r} is assigned", "parameters cannot be changed; assign a variable of the state")

    def __eq__(self, other: object) -> Any:
        if isinstance(other, BrokerId):
            if self.of != other.of:
                raise mistake(f"{self!r} is compared with {other!r}", f"compare a {self.of} with a {self.of}")
            return self.number == other.number
        if other is None or other is none:
            return False
        if isinstance(other, int | str):
            raise mistake(f"{self!r} == {other!r} compares a {self.of} with a value", self._remedy())
        return NotImplemented

    def __hash__(self) -> int:
        # Python's hash of a text differs between processes. With this hash the order of a set would differ, too.
        return self.number if self.of == BROKER else _begin(self.of) + self.number

    def __index__(self) -> int:
        return self.number

    def __repr__(self) -> str:
        return f"{self.of} {self.number}"

    def _remedy(self) -> str:
        return "write self.broker(number)" if self.of == BROKER else f"write self.members({self.of})[number]"

    def _refuse(self, other: object = None) -> NoReturn:
        what, remedy = no_order(self.of)
        raise mistake(f"{what}: {self!r}", remedy)

    __lt__ = __le__ = __gt__ = __ge__ = __add__ = __radd__ = __sub__ = __rsub__ = __mul__ = __rmul__ = _refuse


@cache
def _begin(of: str) -> int:
    """The hash of the first member of a scalarset. It is computed from the name `of`, so all processes agree on it."""
    return zlib.crc32(of.encode()) << 6


class NoBroker:
    """The value `none` of an optional broker."""

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
