"""Checks that expressions have only values that every engine with 64-bit integers can hold."""

from __future__ import annotations

from collections.abc import Iterable

from isrcheck.model.language.expressions import LARGEST, Expression


def require_fitting(roots: Iterable[Expression]) -> None:
    """Raises `ValueError` if the value of an expression, or of a part of it, can lie outside `-LARGEST..LARGEST`."""
    seen, stack = set[Expression](), list(roots)
    while stack:
        node = stack.pop()
        if node in seen:
            continue
        seen.add(node)
        if node.low < -LARGEST or node.high > LARGEST:
            raise ValueError(f"{node!r} can reach {node.low}..{node.high}, more than 63 bits hold")
        stack.extend(node.arguments)


def require_in_set(broker: Expression) -> None:
    """Raises `ValueError` unless every value of `broker` is -1 (no broker) or one of the 62 brokers of a set."""
    if broker.low < -1 or broker.high > 61:
        raise ValueError(f"a broker from {broker.low} to {broker.high} does not fit a set of 62")
