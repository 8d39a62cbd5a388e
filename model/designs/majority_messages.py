"""Majority vote, messages that are late: requests for votes, votes, fetches and their answers.

A request and its answer are one step, except for up to `late_messages` messages that are *late*. A late message stays
in the network, and arrives at any later time: once, more than once or never. So it may also represent a message that is
lost, or a copy of a message that arrived in time. By default the receiver ignores a late message of an earlier epoch
(`epoch_check`). It handles any other late message as if the message had arrived in time.

A fetch says up to which offset a follower has its leader's log. In Raft's terms, a fetch is the answer to
AppendEntries, and the answer to a fetch is AppendEntries. A leader learns the follower's log end from a late fetch, and
sends no answer. A follower uses a late answer if the follower's log still ends at the offset of the fetch.

Left out: late messages that announce a leader or a later epoch, because they contain nothing new when they arrive. Also
left out: late answers that say that the logs do not match. A follower uses such an answer only if it belongs to the
follower's last fetch.

Sources: the paper on Raft, section 5.1 ("If a server receives a request with a stale term number, it rejects the
request") and figure 2; for fetches KIP-320 and KIP-595.
"""

from __future__ import annotations

from typing import Any

from isrcheck.model.designs import State
from isrcheck.model.designs.majority_elections import ElectionsByMajority
from isrcheck.model.designs.replicas import any_partition
from isrcheck.model.language import action, becomes, broker, enum, minimum, number, optional, per, record, setting, when

KINDS = ("vote-request", "vote", "fetch", "answer")


def any_place(m: Any) -> Any:
    return number(0, max(m.late_messages - 1, 0))


class LateMessages(ElectionsByMajority):
    """Messages that arrive when nobody awaits them any more; without `late_messages` there are none."""

    abstract = True

    late_messages = setting(
        0,
        at_least=0,
        at_most=2,
        meaning="messages that are late: each may arrive at any later time, more than once, or never; all others "
        "arrive immediately",
        bound=lambda m, s: s.late[0][m.late_messages - 1].kind != "none" if m.late_messages else False,
    )
    epoch_check = setting(
        "both",
        choices=("both", "votes", "fetches", "none"),
        meaning="which late messages a replica ignores when it is in a later epoch. both: votes, and fetches with "
        "their answers (Raft's rule); votes: only votes; fetches: only fetches with their answers; none: no message",
    )

    # Defined in `majority_replication` (for messages in time) and in `majority_crashes` (`flush`).
    pulls: Any
    fits: Any
    record_in_words: Any
    flush: Any

    # --- the network ------------------------------------------------------------------------------------------------

    @property
    def checks_votes(self) -> bool:
        return self.epoch_check in ("both", "votes")

    @property
    def checks_fetches(self) -> bool:
        return self.epoch_check in ("both", "fetches")

    @property
    def late_votes(self) -> bool:
        return bool(self.late_messages and self.votes == "one-by-one")

    def variables(self) -> dict[str, Any]:
        """Adds the late messages, in the order in which they were sent."""
        found = super().variables()
        if self.late_messages:
            message = record(
                kind=enum("none", *KINDS),
                sender=optional(broker),
                receiver=optional(broker),
                epoch=self.any_epoch(),
                end=self.any_end(),
                last_epoch=self.any_epoch(-1),
                id=number(0, self.max_records),
                high_watermark=self.any_end(),
            )
            found["late"] = per(any_partition(self), per(any_place(self), message))
        return found

    def initial(self, s: State) -> None:
        super().initial(s)
        if self.late_messages:
            for p in self.all_partitions:
                for i in range(self.late_messages):
                    s.late[p][i].last_epoch = -1

    def send_late(self, s: State, p: int, kind: str, sender: Any, receiver: Any, **says: Any) -> None:
        """Puts a message into the network, in the first place that is free."""
        s.require(s.late[p][self.late_messages - 1].kind == "none")
        fields = {"epoch": 0, "end": 0, "last_epoch": -1, "id": 0, "high_watermark": 0, **says}
        used = [s.late[p][i].kind != "none" for i in range(self.late_messages)]
        for i in range(self.late_messages):
            place, here = s.late[p][i], ~used[i] & (used[i - 1] if i else True)
            place.kind = when(here, kind, place.kind)
            place.sender = when(here, sender, place.sender)
            place.receiver = when(here, receiver, place.receiver)
            for name, value in fields.items():
                setattr(place, name, when(here, value, getattr(place, name)))

    def arriving(self, s: State, p: int, i: int, kind: str, sender: Any, receiver: Any) -> Any:
        """The late message in place `i`. Requires this kind, these brokers, and a receiver that is up."""
        message = s.late[p][i]
        s.require(message.kind == kind, message.sender == sender, message.receiver == receiver)
        s.require(self.is_up(s, receiver))
        return message

    # --- requests for votes -----------------------------------------------------------------------------------------

    @action(
        p=any_partition,
        candidate=broker,
        voter=broker,
        actor="candidate",
        environment=True,
        where=lambda m: m.late_votes,
    )
    def request_vote_late(self, s: State, p: int, candidate: Any, voter: Any) -> None:
        """A candidate's request for a vote is late."""
        if voter == candidate:
            return
        own, log = s.replica[p][candidate], s.log[p][candidate]
        s.require(self.is_up(s, candidate), own.role == "candidate", ~own.votes.has(voter))
        last = self.last_epoch(s, p, candidate)
        self.send_late(s, p, "vote-request", candidate, voter, epoch=own.epoch, end=log.length, last_epoch=last)

    def describe_request_vote_late(self, old: Any, new: Any, p: int, candidate: Any, voter: Any) -> str:
        who = f"{candidate}, {self.last_in_words(old, p, candidate)},"
        return f"{who} asks {voter} for its vote in epoch {old.replica[p][candidate].epoch}; the request is late"

    @action(
        p=any_partition,
        place=any_place,
        voter=broker,
        candidate=broker,
        actor="voter",
        environment=True,
        where=lambda m: m.late_votes,
    )
    def late_vote_request_arrives(self, s: State, p: int, place: int, voter: Any, candidate: Any) -> None:
        """A replica gets a late request and votes as usual; the candidate, if it still stands, counts the vote."""
        if voter == candidate:
            return
        message = self.arriving(s, p, place, "vote-request", candidate, voter)
        s.require(self.may_vote(s, p, voter, message.epoch))
        s.require(self.accepts_log(s, p, voter, message.last_epoch, message.end))
        other = s.replica[p][candidate]
        counts = self.is_up(s, candidate) & (other.role == "candidate") & (other.epoch == message.epoch)
        self.give_vote(s, p, voter, message.epoch)
        other.votes = when(counts, other.votes.including(voter), other.votes)

    def describe_late_vote_request_arrives(
        self, old: Any, new: Any, p: int, place: int, voter: Any, candidate: Any
    ) -> str:
        message, before, after = old.late[p][place], old.replica[p][candidate].votes, new.replica[p][candidate].votes
        counted = f"votes for it {becomes(before, after)}" if before != after else "it stands in that epoch no more"
        votes = f"votes for it in epoch {message.epoch}{self.deposed_in_words(old, p, voter)}"
        return f"{voter} gets the late request of {candidate} and {votes}: {counted}"

    @action(
        p=any_partition, voter=broker, candidate=broker, actor="voter", environment=True, where=lambda m: m.late_votes
    )
    def vote_late(self, s: State, p: int, voter: Any, candidate: Any) -> None:
        """A replica votes for a candidate, and its answer is late."""
        if voter == candidate:
            return
        other = s.replica[p][candidate]
        s.require(self.is_up(s, candidate), other.role == "candidate")
        s.require(self.grants(s, p, voter, candidate, other.epoch))
        self.give_vote(s, p, voter, other.epoch)
        self.send_late(s, p, "vote", voter, candidate, epoch=other.epoch)

    def describe_vote_late(self, old: Any, new: Any, p: int, voter: Any, candidate: Any) -> str:
        whom = f"{candidate}, {self.last_in_words(old, p, candidate)},{self.deposed_in_words(old, p, voter)}".rstrip(
            ","
        )
        votes = f"votes in epoch {new.replica[p][voter].epoch} for {whom}"
        return f"{voter}, {self.last_in_words(old, p, voter)}, {votes}; its answer is late"

    def deposed_in_words(self, old: Any, p: int, voter: Any) -> str:
        return " and leads no more" if old.replica[p][voter].role == "leader" else ""

    @action(
        p=any_partition,
        place=any_place,
        voter=broker,
        candidate=broker,
        actor="candidate",
        environment=True,
        where=lambda m: m.late_votes,
    )
    def late_vote_arrives(self, s: State, p: int, place: int, voter: Any, candidate: Any) -> None:
        """A candidate counts a late vote. A vote of an earlier epoch is ignored if `epoch_check` covers votes."""
        if voter == candidate:
            return
        message, own = self.arriving(s, p, place, "vote", voter, candidate), s.replica[p][candidate]
        s.require(own.role == "candidate", ~own.votes.has(voter))
        s.require(own.epoch == message.epoch if self.checks_votes else own.epoch >= message.epoch)
        own.votes = own.votes.including(voter)

    def describe_late_vote_arrives(self, old: Any, new: Any, p: int, place: int, voter: Any, candidate: Any) -> str:
        counted = self.counted_in_words(old.late[p][place].epoch, old.replica[p][candidate].epoch)
        votes = becomes(old.replica[p][candidate].votes, new.replica[p][candidate].votes)
        return f"{candidate} gets the late vote of {voter}, which it gave {counted}: votes for it {votes}"

    def counted_in_words(self, given: int, now: int) -> str:
        return f"in epoch {given}, and counts it in epoch {now}" if given != now else f"in this epoch, {now}"

    # --- fetches ----------------------------------------------------------------------------------------------------

    @action(
        p=any_partition,
        follower=broker,
        leader=broker,
        actor="follower",
        environment=True,
        where=lambda m: m.late_messages,
    )
    def fetch_late(self, s: State, p: int, follower: Any, leader: Any) -> None:
        """A follower asks for the record after its last record, and the request is late."""
        if follower == leader:
            return
        own, end = s.replica[p][follower], s.log[p][follower].length
        s.require(self.pulls(s, p, follower, leader), self.fits(s, p, follower, leader), end > 0)
        self.flush(s, p, follower, end)
        last = self.last_epoch(s, p, follower)
        self.send_late(s, p, "fetch", follower, leader, epoch=own.epoch, end=end, last_epoch=last)

    def describe_fetch_late(self, old: Any, new: Any, p: int, follower: Any, leader: Any) -> str:
        at = f"at offset {len(old.log[p][follower])} in epoch {old.replica[p][follower].epoch}"
        return f"{follower} fetches from {leader} {at}; the request is late"

    def is_in_log(self, s: State, p: int, leader: Any, message: Any) -> Any:
        """Whether a leader has the record that was the follower's last record when the fetch was sent."""
        log: Any = s.log[p][leader]
        found: Any = False
        for o in range(self.log_size):
            found = found | ((message.end == o + 1) & (log.length > o) & (log.at(o).epoch == message.last_epoch))
        return found

    @action(
        p=any_partition,
        place=any_place,
        follower=broker,
        leader=broker,
        actor="leader",
        environment=True,
        where=lambda m: m.late_messages,
    )
    def late_fetch_arrives(self, s: State, p: int, place: int, follower: Any, leader: Any) -> None:
        """A leader learns a log end from a late fetch. An earlier epoch is ignored if `epoch_check` covers fetches."""
        if follower == leader:
            return
        message, own = self.arriving(s, p, place, "fetch", follower, leader), s.replica[p][leader]
        counts = (own.epoch == message.epoch) & self.is_in_log(s, p, leader, message)
        if not self.checks_fetches:
            # Only the offset counts, as in Raft's answers to AppendEntries: the logs matched when the fetch was sent.
            counts = counts | ((own.epoch > message.epoch) & (s.log[p][leader].length >= message.end))
        s.require(self.leads(s, p, leader), counts, message.end > s.known_end[p][leader][follower])
        s.known_end[p][leader][follower] = message.end

    def describe_late_fetch_arrives(self, old: Any, new: Any, p: int, place: int, follower: Any, leader: Any) -> str:
        message, before = old.late[p][place], old.known_end[p][leader][follower]
        counted = self.counted_in_words(message.epoch, old.replica[p][leader].epoch).replace("counts it", "counts that")
        learns = f"learns its log end {becomes('none' if before < 0 else before, message.end)}"
        return f"{leader} gets a late fetch of {follower}, sent {counted}: it {learns}"

    @action(
        p=any_partition,
        follower=broker,
        leader=broker,
        actor="leader",
        environment=True,
        where=lambda m: m.late_messages,
    )
    def answer_late(self, s: State, p: int, follower: Any, leader: Any) -> None:
        """A leader sends a follower the next record, and its answer is late."""
        if follower == leader:
            return
        end, log = s.log[p][follower].length, s.log[p][leader]
        s.require(self.pulls(s, p, follower, leader), self.fits(s, p, follower, leader), end < log.length)
        self.flush(s, p, follower, end)
        s.known_end[p][leader][follower] = end
        sent, own = log.at(end), s.replica[p][leader]
        says = {"end": end, "last_epoch": sent.epoch, "id": sent.id}
        known = minimum(own.high_watermark, end + 1)
        self.send_late(s, p, "answer", leader, follower, epoch=own.epoch, high_watermark=known, **says)

    def describe_answer_late(self, old: Any, new: Any, p: int, follower: Any, leader: Any) -> str:
        end = len(old.log[p][follower])
        sent = self.record_in_words(old.log[p][leader][end])
        return f"{leader} answers a fetch of {follower} at offset {end} with {sent}; the answer is late"

    @action(
        p=any_partition,
        place=any_place,
        follower=broker,
        leader=broker,
        actor="follower",
        environment=True,
        where=lambda m: m.late_messages,
    )
    def late_answer_arrives(self, s: State, p: int, place: int, follower: Any, leader: Any) -> None:
        """A follower appends a late record if its log end is the fetch offset and `epoch_check` allows the epoch."""
        if follower == leader:
            return
        message, own = self.arriving(s, p, place, "answer", leader, follower), s.replica[p][follower]
        log = s.log[p][follower]
        s.require(own.role == "follower", log.length == message.end, ~log.is_full)
        if self.checks_fetches:
            s.require(own.epoch == message.epoch, own.leader == leader)
        else:
            s.require(own.epoch >= message.epoch)
        s.log[p][follower].append({"id": message.id, "epoch": message.last_epoch})
        high_watermark = own.high_watermark
        own.high_watermark = when(message.high_watermark > high_watermark, message.high_watermark, high_watermark)

    def describe_late_answer_arrives(self, old: Any, new: Any, p: int, place: int, follower: Any, leader: Any) -> str:
        message, added = old.late[p][place], self.record_in_words(new.log[p][follower][-1])
        now = old.replica[p][follower].epoch
        which = f"of epoch {message.epoch}, although epoch {now} is there," if message.epoch != now else "of its epoch"
        return f"{follower} gets a late answer of {leader} {which} and appends {added} at offset {message.end}"
