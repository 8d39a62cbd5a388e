"""The common part of all exported forms of a model: identifiers, and names for values that several expressions need.

Expressions form a graph in which a node may have many parents. Written as trees, the expressions could become very
large. So a node gets a name and is written only once, if it is used more than once and is larger than a comparison of
two leaves. A *leaf* is a scalar part of a state. Only `inlined`, which writes the guards in Murphi and Promela, uses no
names.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Any, Final, Generic, TypeVar

from isrcheck.model.language.domains import a_or_an
from isrcheck.model.language.errors import UnknownName
from isrcheck.model.semantics.expressions import Expression, Leaf, evaluate, topological
from isrcheck.model.semantics.operators import OPERATORS, filled
from isrcheck.model.semantics.transition_system import Transition, TransitionSystem

Text = TypeVar("Text")
SMALL: Final = 4
"""An expression that is used more than once gets a name if it has at least this many nodes."""


@dataclass(frozen=True)
class Spelled(Generic[Text]):
    """The texts of expressions (`roots`), and the names that these texts use (`named`).

    Each name comes with its expression and with the text of the expression. The text may use earlier names.
    """

    named: tuple[tuple[str, Expression, Text], ...]
    roots: tuple[Text, ...]


def spelled(
    roots: Sequence[Expression],
    spell: Callable[[Expression, list[Text]], Text],
    refer: Callable[[Expression, str], Text],
    prefix: str = "t",
) -> Spelled[Text]:
    """The texts of expressions.

    `spell` writes a node from the texts of its arguments. `refer` writes the name of a node where the node is used.
    """
    order = topological(roots)
    uses = _uses(order, roots)
    sizes: dict[Expression, int] = {}
    texts: dict[Expression, Text] = {}
    named: list[tuple[str, Expression, Text]] = []
    for node in order:
        sizes[node] = 1 + sum(sizes[a] for a in node.arguments)
        texts[node] = spell(node, [texts[a] for a in node.arguments])
        if uses[node] > 1 and sizes[node] >= SMALL:
            name = f"{prefix}{len(named) + 1}"
            named.append((name, node, texts[node]))
            texts[node], sizes[node] = refer(node, name), 1
    return Spelled(tuple(named), tuple(texts[r] for r in roots))


def _uses(order: Sequence[Expression], roots: Sequence[Expression]) -> dict[Expression, int]:
    uses = dict.fromkeys(order, 0)
    for node in (*roots, *(a for n in order for a in n.arguments)):
        uses[node] += 1
    return uses


def inlined(root: Expression, spell: Callable[[Expression, list[Text]], Text], limit: int = 200_000) -> Text | None:
    """The text of an expression without names for its parts; None if the text would have more than `limit` nodes."""
    sizes: dict[Expression, int] = {}
    texts: dict[Expression, Text] = {}
    for node in topological([root]):
        sizes[node] = 1 + sum(sizes[a] for a in node.arguments)
        if sizes[node] > limit:
            return None
        texts[node] = spell(node, [texts[a] for a in node.arguments])
    return texts[root]


# --- operators ------------------------------------------------------------------------------------------------------


def applied(form: str, arguments: Sequence[str]) -> str:
    """The text of an operator's form (`Operator`) with these arguments."""
    text = filled(form, *arguments)
    return text if "{" in form else f"({text})"


def as_numbers(node: Expression, texts: Sequence[str], number: Callable[[str], str]) -> list[str]:
    """The texts of a node's arguments. If an argument is a flag where a number is wanted, `number` changes its text."""
    takes = OPERATORS[node.operator].takes
    wanted = [takes[min(i, len(takes) - 1)] for i in range(len(texts))]
    alike = {a.kind for a, kind in zip(node.arguments, wanted, strict=True) if kind == "any"}
    return [
        number(text) if a.kind == "flag" and (kind == "number" or (kind == "any" and len(alike) > 1)) else text
        for text, a, kind in zip(texts, node.arguments, wanted, strict=True)
    ]


# --- identifiers ----------------------------------------------------------------------------------------------------


def identifiers(paths: Iterable[str], reserved: frozenset[str] = frozenset()) -> list[str]:
    """A name for each path: `log[0].length` becomes `log_0_length`. Names differ, and none is in `reserved`."""
    taken, found = set(reserved), []
    for path in paths:
        plain = re.sub(r"\W+", "_", path, flags=re.ASCII).strip("_")
        name, again = plain, 1
        while name in taken:
            again += 1
            name = f"{plain}_{again}" if plain not in reserved or again > 2 else f"{plain}_"
        taken.add(name)
        found.append(name)
    return found


def by_action(system: TransitionSystem) -> dict[str, list[Transition]]:
    """The transitions of each action, in order. Actions without a transition are left out."""
    found: dict[str, list[Transition]] = {}
    for transition in system.transitions:
        found.setdefault(transition.label.action, []).append(transition)
    return found


def initial_states(system: TransitionSystem) -> tuple[list[tuple[int, ...]], list[tuple[int, ...]]]:
    """The initial states that every constraint allows, and the others.

    The others are not counted and have no successors, but they must satisfy the invariants. Raises `UnknownName` if
    the constraints are false or undefined in every initial state.
    """
    constraints = [c.holds for c in system.constraints]
    inside, outside = list[tuple[int, ...]](), list[tuple[int, ...]]()
    for leaves in system.initial:
        (inside if all(evaluate(constraints, leaves)) else outside).append(leaves)
    if not inside:
        raise UnknownName("no initial state satisfies the constraints, so there is nothing to export; check the model")
    return inside, outside


def heading(system: TransitionSystem) -> list[str]:
    """The lines that describe the exported model: its name and its settings."""
    settings = [f"  {name} = {_value(value)}" for name, value in system.settings.items()]
    return [f"isrcheck's model {system.model} with the settings", *settings]


def _value(value: Any) -> str:
    return str(value).lower() if isinstance(value, bool) else str(value)


def meaning(leaf: Leaf) -> str:
    """The possible values of a leaf in words, for a comment in the export."""
    low, high = leaf.low, leaf.high
    if leaf.kind == "broker" and low < 0:
        return f"{a_or_an(leaf.of)} 0..{high}, or -1 for none"
    return {
        "flag": "a flag",
        "number": f"a number {low}..{high}",
        "enum": f"a named value, by position 0..{high}",
        "broker": f"{a_or_an(leaf.of)} {low}..{high}",
        "set": f"a set of the {leaf.of}s 0..{high.bit_length() - 1}",
    }[leaf.kind]
