"""Producers with acks=all: who waits where for an answer, what they were told, and what they send once more.

The answer to a producer is a ghost: it is written when a broker, whichever it is, gives the answer, rightly or wrongly;
only a deletion of the topic takes it back. The deletion is the wish of the topic's owner, so nothing told before it is
owed any more. But an answer that a leader gives after it, because it has not heard of it, is owed.

A leader answers when its high watermark reaches the end of what was written (DelayedProduce), and asks for no epoch.
By default the producers of the leader's present epoch are told, for which no ghost has to remember who waits where; one
that waits since an earlier epoch is told with another `acknowledgement`.

Left out: answers that get lost on their way, other errors than a smaller ISR, batches, transactions.
"""

from __future__ import annotations

from typing import Any

from isrcheck.model.designs import State
from isrcheck.model.designs.replicas import Replicas
from isrcheck.model.language import UnknownName, none, some, when


class Producers(Replicas):
    """What producers with acks=all wait for."""

    abstract = True

    may_acknowledge: Any
    """`logs` says it: whether what a leader commits is on enough replicas."""

    def check_settings(self) -> None:
        super().check_settings()
        for name in ("acknowledgement", "retries"):
            if getattr(self, name) not in ("own-epoch", 0) and self.partitions > 1:
                raise UnknownName(f"{name} cannot tell partitions apart; set partitions to 1")

    # --- a write ----------------------------------------------------------------------------------------------------

    def is_retry(self, s: State) -> Any:
        """Whether a producer has no answer yet for the last record, and shall send it once more."""
        if not self.retries:
            return False
        unanswered = some((s.next_record_id == i + 1) & ~self.has_answer(s, i) for i in range(self.max_records))
        return (s.retries < self.retries) & unanswered

    def has_answer(self, s: State, i: int) -> Any:
        return s.acknowledged[i] | s.acknowledged_by_one[i] if self.acks_one else s.acknowledged[i]

    def end_of_copy(self, s: State, p: int, b: Any, i: Any) -> Any:
        """Where the last copy of a record ends in a broker's log, 0 if it has none."""
        end: Any = 0
        for o in range(self.log_size):
            end = when((s.log[p][b].length > o) & (s.log[p][b].at(o).id == i), o + 1, end)
        return end

    def await_answer(self, s: State, p: int, b: Any, i: Any, end: Any, may_tell: Any) -> None:
        """A producer waits at a broker for its high watermark to reach an end; of a retry it may have done so."""
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
        """Whether a leader that tells a producer of success now can be held to it."""
        return self.may_acknowledge(s, p, b) & self.is_owed(s, p)

    def is_owed(self, s: State, p: int) -> Any:
        """Whether an answer given now is still owed: not if a deletion of the topic was asked for and goes on."""
        return True

    def note_answers(self, s: State, p: int, b: Any, start: Any, end: Any) -> None:
        """Writes down whom a leader tells of success as its high watermark goes from one offset to another."""
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
        """Producers that wait at a broker get an error, or never an answer."""
        for i in range(self.max_records):
            self.stop_waiting(s, i, s.waiting[i].at == b)

    def acknowledged_in_words(self, old: Any, new: Any) -> str:
        """`, and acknowledges record 0`, of a step that does."""
        ids = [i for i in range(self.max_records) if new.acknowledged[i] and not old.acknowledged[i]]
        return f", and acknowledges record {' and '.join(map(str, ids))}" if ids else ""
