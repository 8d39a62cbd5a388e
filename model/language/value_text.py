"""The text of values in every output and every message."""

from __future__ import annotations

from isrcheck.model.language.domains import (
    Bag,
    Broker,
    BrokerSet,
    Domain,
    Flag,
    Messages,
    Per,
    Record,
    Sequence_,
    Value,
)


def text_of(domain: Domain, value: Value) -> str:
    """A value as text: `{0, 1}` (set), `[0: (id 0, epoch 1)]` (log), `(id 0, epoch 1)` (record), `none` (no broker).

    >>> from isrcheck.model.language.domains import broker, set_of
    >>> text_of(set_of(broker), frozenset({1, 0}))
    '{0, 1}'
    """
    match domain:
        case Flag():
            return "true" if value else "false"
        case Broker():
            return "none" if value is None else str(value)
        case BrokerSet():
            return "{" + ", ".join(map(str, sorted(value))) + "}"
        case Record():
            parts = zip(domain.names, domain.domains, value, strict=True)
            return "(" + ", ".join(f"{name} {text_of(d, x)}" for name, d, x in parts) + ")"
        case Sequence_():
            return "[" + ", ".join(f"{i}: {text_of(domain.element, x)}" for i, x in enumerate(value)) + "]"
        case Messages():
            return "{" + ", ".join(text_of(domain.element, x) for x in domain.elements if x in value) + "}"
        case Bag():
            return "{" + ", ".join(text_of(domain.element, x) for x in value) + "}"
        case Per():
            keys = domain.index.values()
            pairs = zip(keys, value, strict=True)
            return "<" + ", ".join(f"{text_of(domain.index, k)}: {text_of(domain.element, x)}" for k, x in pairs) + ">"
        case _:
            return str(value)
