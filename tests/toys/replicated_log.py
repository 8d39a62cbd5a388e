"""FiniteReplicatedLog and IdSequence of the published Kafka specifications: their counts are closed formulas."""

from __future__ import annotations

from typing import Any

from isrcheck.model.language import Model, action, broker, number, per, sequence, setting


class ReplicatedLog(Model):
    replicas = setting(2, at_least=1, at_most=4, counts=broker, meaning="replicas")
    records = setting(2, at_least=1, at_most=4, meaning="different records")
    log_size = setting(2, at_least=1, at_most=4, meaning="records a log can hold")

    def variables(self) -> dict[str, Any]:
        return {"log": per(broker, sequence(number(0, self.records - 1), self.log_size))}

    @action(replica=broker, record=lambda m: number(0, m.records - 1), actor="replica", environment=True)
    def append(self, s: Any, replica: Any, record: int) -> None:
        """Any record is appended where there is room."""
        s.require(~s.log[replica].is_full)
        s.log[replica].append(record)

    @action(replica=broker, length=lambda m: number(0, m.log_size - 1), actor="replica", environment=True)
    def truncate(self, s: Any, replica: Any, length: int) -> None:
        """A log loses its end."""
        s.require(s.log[replica].length >= length)
        s.log[replica].truncate(length)

    @action(source=broker, target=broker, actor="target")
    def replicate(self, s: Any, source: Any, target: Any) -> None:
        """A shorter log takes the next record of a longer one."""
        if source == target:
            return
        end = s.log[target].length
        s.require(end < s.log[source].length)
        s.log[target].append(s.log[source].at(end))


class IdSequence(Model):
    greatest = setting(3, at_least=0, at_most=100_000, meaning="greatest identifier")

    def variables(self) -> dict[str, Any]:
        return {"next_id": number(0, self.greatest + 1)}

    @action(actor="counter", environment=True)
    def take(self, s: Any) -> None:
        """Hands out the next identifier."""
        s.require(s.next_id <= self.greatest)
        s.next_id += 1
