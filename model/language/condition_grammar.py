"""The parser of conditions written as text: quantifiers at the front, and Python's grammar for the rest."""

from __future__ import annotations

import ast
import re
from dataclasses import dataclass
from typing import Final

from isrcheck.model.language.errors import UnknownName

LONGEST: Final = 2000
"""The greatest length of a text, in characters, and of a list that a quantifier goes through."""
QUANTIFIER: Final = re.compile(r"\s*(every|some)\s+([^:]*?)\s*:", re.DOTALL)
BINDER: Final = re.compile(r"\s*([A-Za-z]\w*)(?:\s+in\s+(.+?))?\s*", re.DOTALL)


class ConditionSyntaxError(UnknownName):
    """A text that is not a condition or uses an unknown name. The message has the column, the error and the remedy."""


Binder = tuple[str, ast.expr | None, int]
"""A bound name, the expression that it ranges over, and the column of this expression.

If the text has no `in`, the expression is None, and the column is that of the binding.
"""


@dataclass(frozen=True)
class Quantified:
    """A quantifier: `every b in brokers: ...`.

    Without `in`, `b` ranges over the model's only scalarset or, if there are several, over the brokers.
    """

    word: str
    binders: tuple[Binder, ...]
    body: Condition


@dataclass(frozen=True)
class Bare:
    """The part of a text after its quantifiers, from column `at` on, parsed by Python's grammar."""

    tree: ast.expr
    at: int


Condition = Quantified | Bare


def whole(text: str) -> Condition:
    """The parsed text; raises `ConditionSyntaxError` unless it is one printable line, short enough, and parses."""
    if len(text) > LONGEST:
        raise ConditionSyntaxError(f"a condition of {len(text)} characters; the limit is {LONGEST}")
    if not text.isprintable():
        raise error_at(text, 0, "it has more than one line, or invisible characters", "write it on one line")
    return _parsed(text, 0)


def _parsed(text: str, at: int) -> Condition:
    found = QUANTIFIER.match(text, at)
    if found is None:
        return Bare(_tree(text, at, len(text)), at)
    binders, start = [], found.start(2)
    for piece in _pieces(found[2]):
        bound = BINDER.fullmatch(piece)
        if bound is None or bound[1] in ("every", "some"):
            raise error_at(
                text, start, f"{piece.strip()!r} is not a name", "write every b: ..., or some p in partitions: ..."
            )
        over = None if bound[2] is None else _tree(text, start + bound.start(2), start + bound.end(2))
        binders.append((bound[1], over, start + max(bound.start(2), 0)))
        start += len(piece) + 1
    return Quantified(found[1], tuple(binders), _parsed(text, found.end()))


def _pieces(text: str) -> list[str]:
    """The pieces of a text, split at the commas outside brackets."""
    depth, pieces = 0, [""]
    for character in text:
        depth += (character in "([{") - (character in ")]}")
        if character == "," and depth == 0:
            pieces.append("")
        else:
            pieces[-1] += character
    return pieces


def _tree(text: str, begin: int, end: int) -> ast.expr:
    """The part of a text between two columns as a tree of Python's grammar."""
    try:
        return ast.parse(text[begin:end].strip() or "?", mode="eval").body
    except SyntaxError as error:
        column = begin + (len(text[begin:end]) - len(text[begin:end].lstrip())) + (error.offset or 1) - 1
        raise error_at(text, min(column, len(text)), error.msg, "write a Python expression") from None
    except (ValueError, RecursionError, MemoryError):
        raise error_at(
            text, begin, "it cannot be parsed", "write a shorter condition, without unusual characters"
        ) from None


def error_at(text: str, column: int, what: str, remedy: str) -> ConditionSyntaxError:
    return ConditionSyntaxError(f"{text.strip()!r}, column {column + 1}: {what}; {remedy}")
