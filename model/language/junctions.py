"""`and`, `or` and `not`, simplified when they are built, so that equal conditions become equal nodes."""

from __future__ import annotations

from functools import lru_cache

from isrcheck.model.language.nodes import FALSE, TRUE, Expression, flag_node, is_constant


def not_(a: Expression) -> Expression:
    """The negation, pushed inwards through `and` and `or`, so that equal conditions become equal nodes."""
    if a.negation is None:
        if is_constant(a):
            a.negation = FALSE if a is TRUE else TRUE
        elif a.operator == "not":
            a.negation = a.arguments[0]
        else:
            dual = {"and": or_, "or": and_}.get(a.operator)
            a.negation = dual(*map(not_, a.arguments)) if dual else flag_node("not", a)
    return a.negation


def and_(*arguments: Expression) -> Expression:
    return _junction("and", arguments)


def or_(*arguments: Expression) -> Expression:
    return _junction("or", arguments)


def implies(a: Expression, b: Expression) -> Expression:
    return or_(not_(a), b)


@lru_cache(maxsize=1 << 15)  # a model builds most junctions several times, and junctions are the most expensive nodes
def _junction(op: str, given: tuple[Expression, ...]) -> Expression:
    """The `and` or `or` of `given`: flattened, without repetitions, with arguments simplified against each other."""
    dual, neutral, dominant = ("or", TRUE, FALSE) if op == "and" else ("and", FALSE, TRUE)
    parts: dict[Expression, None] = {}
    pending = list(reversed(given))
    while pending:
        part = pending.pop()
        if part.operator == op:
            pending.extend(reversed(part.arguments))
        elif part is dominant or (part.negation or not_(part)) in parts:
            return dominant
        elif part is not neutral:
            parts[part] = None
    for part in [p for p in parts if p.operator == dual]:
        smaller = _absorbed(part, dual, neutral, parts)
        if smaller is not part:
            return _junction(op, tuple(smaller if p is part else p for p in parts))
    kept = _tightest(list(parts), conjunction=op == "and")
    if kept is None:
        return dominant
    if len(kept) < 2:
        return kept[0] if kept else neutral
    return flag_node(op, *kept)


def _absorbed(part: Expression, dual: str, neutral: Expression, others: dict[Expression, None]) -> Expression:
    """`part`, an `or` in an `and` (or dually), without the arguments that its siblings `others` already decide."""
    if not others.keys().isdisjoint(part.arguments):
        return neutral
    left = [p for p in part.arguments if (p.negation or not_(p)) not in others]
    if len(left) == len(part.arguments):
        return part
    return and_(*left) if dual == "and" else or_(*left)


def _compares(part: Expression) -> bool:
    """True if `part` is a comparison, negated or not, that may bound the interval of a number. Most parts are not."""
    literal = part.arguments[0] if part.operator == "not" else part
    return literal.operator == "le" or (literal.operator == "eq" and literal.arguments[0].kind == "number")


def _bound(part: Expression, conjunction: bool) -> tuple[Expression, int, int] | None:
    """The bound `(x, low, high)` that a literal sets if it compares x with a constant; else None.

    In a disjunction, this is the bound that the negation of the literal sets.
    """
    literal, positive = (part.arguments[0], False) if part.operator == "not" else (part, True)
    x, c = literal.arguments
    if not is_constant(c):
        return None
    positive = positive == conjunction
    if literal.operator == "le":
        return (x, x.low, c.low) if positive else (x, c.low + 1, x.high)
    return (x, c.low, c.low) if positive else None


def _comparison(part: Expression, conjunction: bool) -> list[tuple[Expression, int, int]]:
    """The bounds that a comparison of two numbers implies for each of them, in the form of `_bound`."""
    literal, positive = (part.arguments[0], False) if part.operator == "not" else (part, True)
    if literal.operator != "le" or is_constant(literal.arguments[1]):
        return []
    x, y = literal.arguments
    if positive == conjunction:
        return [(x, x.low, y.high), (y, x.low, y.high)]
    return [(x, y.low + 1, x.high), (y, y.low, x.high - 1)]


def _tightest(parts: list[Expression], conjunction: bool) -> list[Expression] | None:
    """The parts, except for bounds that other bounds imply; None if the bounds contradict each other."""
    comparing = [part for part in parts if _compares(part)]
    if len(comparing) < 2:
        return parts  # a single comparison was already simplified by intervals when it was built
    bounds = {part: bound for part in comparing if (bound := _bound(part, conjunction))}
    compared = [bound for part in comparing for bound in _comparison(part, conjunction)]
    if not bounds and not compared:
        return parts
    ranges: dict[Expression, tuple[int, int]] = {}
    literals: dict[Expression, list[tuple[Expression, int, int]]] = {}
    for part, (x, low, high) in bounds.items():
        literals.setdefault(x, []).append((part, low, high))
    for x, low, high in [*bounds.values(), *compared]:
        known = ranges.get(x, (x.low, x.high))
        ranges[x] = max(low, known[0]), min(high, known[1])
    if any(low > high for low, high in ranges.values()):
        return None
    implied = set()
    for part, (x, low, high) in bounds.items():
        if any(other is not part and other not in implied and low <= a and b <= high for other, a, b in literals[x]):
            implied.add(part)
    return [part for part in parts if part not in implied]
