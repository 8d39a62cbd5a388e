"""Producers with acks=all: where they wait for an answer, which answer they get, and which records they send again.

A ghost records the answers to producers. A success that any broker reports, rightly or wrongly, is a *promise* that the
record is not lost, and is recorded. Only a deletion of the topic clears the ghost: the owner of the topic wants the
deletion, so earlier answers promise nothing any more. A leader that has not heard of the deletion may still report
success later. Such a late success is also a promise, unless the deletion is still under way (`is_owed`).

In Kafka, a leader answers when its high watermark reaches the end of the written record (DelayedProduce), whatever the
epoch. By default the model is simpler: only producers that wrote in the leader's present epoch get an answer. So no
ghost has to record where producers wait. With other values of `acknowledgement`, producers that have waited since an
earlier epoch get an answer too.

Left out: lost answers, errors other than an ISR that is too small, batches, transactions.
"""

from __future__ import annotations

from typing import Any

from isrcheck.model.designs import State
from isrcheck.model.designs.replicas import Replicas
from isrcheck.model.language import UnknownName, none, some, when


class Producers(Replicas):
    """Producers with acks=all that wait for an answer."""

    abstract = True

    may_acknowledge: Any
    """Whether the records that a leader commits are on enough replicas. `logs` defines this."""

    def check_settings(self) -> None:
        super().check_settings()
        for name in ("acknowledgement", "retries"):
            if getattr(self, name) not in ("own-epoch", 0) and self.partitions > 1:
                raise UnknownName(f"{name} cannot tell partitions apart; set partitions to 1")

    # --- a write ----------------------------------------------------------------------------------------------------

    def is_retry(self, s: State) -> Any:
        """Whether the producer of the last record has no answer yet, and may send the record again."""
        if not self.retries:
            return False
        unanswered = some((s.next_record_id == i + 1) & ~self.has_answer(s, i) for i in range(self.max_records))
        return (s.retries < self.retries) & unanswered

    def has_answer(self, s: State, i: int) -> Any:
        return s.acknowledged[i] | s.acknowledged_by_one[i] if self.acks_one else s.acknowledged[i]

    def end_of_copy(self, s: State, p: int, b: Any, i: Any) -> Any:
        """The offset after the last copy of a record in a broker's log; 0 if there is no copy."""
        end: Any = 0
        for o in range(self.log_size):
            end = when((s.log[p][b].length > o) & (s.log[p][b].at(o).id == i), o + 1, end)
        return end

    def await_answer(self, s: State, p: int, b: Any, i: Any, end: Any, may_tell: Any) -> None:
        """Makes a producer wait until a broker's high watermark reaches `end`.

        At a retry with `idempotence`, the high watermark may have reached `end` already. Then the broker answers now.
        """
        reached = s.replica[p][b].high_watermark >= end
        for k in range(self.max_records):
            if self.retries and self.idempotence:
                s.acknowledged[k] = s.acknowledged[k] | ((i == k) & reached & may_tell)
            if self.remembers_producers:
                waits = (i == k) & ~reached
                s.waiting[k].at = when(waits, b, s.waiting[k].at)
                s.waiting[k].end = when(waits, end, s.waiting[k].end)

    # --- answers ----------------------------------------------------------------------------------------------------

    def may_tell(self, s: State, p: int, b: Any) -> Any:
        """Whether a leader may report success to a producer now and the report would be a promise (`is_owed`)."""
        return self.may_acknowledge(s, p, b) & self.is_owed(s, p)

    def is_owed(self, s: State, p: int) -> Any:
        """Whether an answer given now is a promise.

        An answer is no promise while the topic is being deleted. (Deletions take time in V2 and with `deletion_waits`.)
        """
        return True

    def note_answers(self, s: State, p: int, b: Any, start: Any, end: Any) -> None:
        """Notes which producers get a success while a leader's high watermark moves from `start` to `end`."""
        may_tell = self.may_tell(s, p, b)
        for i in range(self.max_records):
            answered = self.hears_from(s, p, b, i, start, end)
            s.acknowledged[i] = s.acknowledged[i] | (may_tell & answered)
            if self.remembers_producers:
                self.stop_waiting(s, i, answered)

    def hears_from(self, s: State, p: int, b: Any, i: int, start: Any, end: Any) -> Any:
        """Whether a leader answers the producer of a record: with success or, if the ISR is too small, an error."""
        if self.remembers_producers:
            return (s.waiting[i].at == b) & (s.waiting[i].end <= end)
        replica, log = s.replica[p][b], s.log[p][b]
        passed = some(
            (start <= o) & (end > o) & (log.at(o).id == i) & (log.at(o).epoch == replica.epoch)
            for o in range(self.log_size)
        )
        return passed & ~s.acknowledged_by_one[i] if self.acks_one else passed

    def stop_waiting(self, s: State, i: int, condition: Any) -> None:
        s.waiting[i].at = when(condition, none, s.waiting[i].at)
        s.waiting[i].end = when(condition, 0, s.waiting[i].end)

    def turn_producers_away(self, s: State, b: Any) -> None:
        """Producers that wait at a broker get an error or no answer at all, and wait no longer."""
        for i in range(self.max_records):
            self.stop_waiting(s, i, s.waiting[i].at == b)

    def acknowledged_in_words(self, old: Any, new: Any) -> str:
        """The words `, and acknowledges record 0` if a step acknowledges a record; otherwise no words."""
        ids = [i for i in range(self.max_records) if new.acknowledged[i] and not old.acknowledged[i]]
        return f", and acknowledges record {' and '.join(map(str, ids))}" if ids else ""
