"""The language in which protocols are written: everything that a model's file imports.

    from isrcheck.model.language import Model, action, broker, number, per, setting

A *model* declares settings and variables, and decorates methods as actions. A method runs on a *state* `s`: it
`require`s conditions, reads the state before the step, and assigns the values that change. Parameters of actions are
plain Python values, so Python's own `if` and `for` may use them. Conditions on the state are combined with `& | ~`,
`every`, `some`, `when`.
"""

from isrcheck.model.language.decorators import action, constraint, goal, initial, invariant, needs
from isrcheck.model.language.descriptions import asked, becomes, last_held, listed
from isrcheck.model.language.domains import (
    bag,
    broker,
    channel,
    enum,
    flag,
    identity,
    messages,
    number,
    optional,
    per,
    record,
    scalarset,
    sequence,
    set_of,
)
from isrcheck.model.language.errors import EvaluationError, ModelError, UnknownName
from isrcheck.model.language.model import Model
from isrcheck.model.language.parts import Part
from isrcheck.model.language.properties import (
    always_eventually,
    eventually,
    eventually_always,
    eventually_never,
    for_each,
    leads_to,
    stable,
)
from isrcheck.model.language.quantifiers import (
    below,
    count,
    every,
    for_all,
    implies,
    maximum,
    minimum,
    one_past_last,
    some,
    when,
)
from isrcheck.model.language.refinements import refinement
from isrcheck.model.language.scalarset_members import BrokerId, none
from isrcheck.model.language.setting_constraints import conflict, inert
from isrcheck.model.language.settings import budget, setting

__all__ = [
    "BrokerId",
    "EvaluationError",
    "Model",
    "ModelError",
    "Part",
    "UnknownName",
    "action",
    "always_eventually",
    "asked",
    "bag",
    "becomes",
    "below",
    "broker",
    "budget",
    "channel",
    "conflict",
    "constraint",
    "count",
    "enum",
    "eventually",
    "eventually_always",
    "eventually_never",
    "every",
    "flag",
    "for_all",
    "for_each",
    "goal",
    "identity",
    "implies",
    "inert",
    "initial",
    "invariant",
    "last_held",
    "leads_to",
    "listed",
    "maximum",
    "messages",
    "minimum",
    "needs",
    "none",
    "number",
    "one_past_last",
    "optional",
    "per",
    "record",
    "refinement",
    "scalarset",
    "sequence",
    "set_of",
    "setting",
    "some",
    "stable",
    "when",
]
