"""The committed records, as a history variable of the published models: no condition or other variable depends on it.

At each offset, the first record that a leader's high watermark has passed is *committed*. A deposed leader that still
believes it leads also commits records, because consumers may read its records.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from isrcheck.model.language import ModelError, action, broker, number, record, sequence, when
from isrcheck.model.published.kafka_replication import KafkaReplication

RAISES = "-inc-high-watermark"
"""The suffix of the names of the actions in which a leader raises its high watermark."""


def with_history(cls: Any) -> type[KafkaReplication]:
    """A subclass of a published model that adds the variable `committed`."""

    def variables(self: Any) -> dict[str, Any]:
        """The model's own variables, and the committed records."""
        written = record(id=number(0, self.max_records - 1), epoch=number(0, self.max_leader_epoch))
        return {**cls.variables(self), "committed": sequence(written, self.log_size)}

    raising = {name: method for name, method in cls.actions().items() if name.endswith(RAISES)}
    taking = {name: list(method.__action__.parameters) for name, method in raising.items()}
    if not raising or any(parameters != ["leader"] for parameters in taking.values()):
        what = f"model {cls.name()} has no action ...{RAISES}(leader), in which it would be seen what is committed"
        raise ModelError(f"{cls.__stands__}: {what}; call it so, or write a mapping of your own")
    noting = {method.__name__: _noting(method) for method in raising.values()}
    body = {"__doc__": cls.__doc__, "__module__": cls.__module__, "variables": variables, **noting}
    return type(cls.__name__, (cls,), body)


def _noting(method: Callable[..., Any]) -> Callable[..., Any]:
    """An action that raises a leader's high watermark by one, extended so that it also notes the committed record."""

    def raise_and_note(self: Any, s: Any, leader: Any) -> None:
        passed, log, records = s.replica[leader].high_watermark, s.log[leader], s.committed
        for o in range(self.log_size):
            news = (o <= passed) & (records.length == o) & (log.length > o)
            records = when(news, records.appended(log.at(o)), records)
        method(self, s, leader)
        s.committed = records

    raise_and_note.__name__, raise_and_note.__doc__ = method.__name__, method.__doc__
    return action(leader=broker, actor="leader")(raise_and_note)
