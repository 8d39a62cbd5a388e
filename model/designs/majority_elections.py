"""Majority vote, elections: a replica leads in an epoch in which most replicas have voted for it.

A replica stands for election in a new epoch and asks the others for their votes (RequestVote of Raft). Each replica has
one vote in every epoch. `elected` is a ghost: the leader that was elected in the greatest epoch.

Left out: the length of timeouts. A replica may time out and stand for election at any moment, but only `timeouts` times
in all. Without a timeout, a replica stands only if no leader is up and it would be elected (Raft's pre-vote).
"""

from __future__ import annotations

from typing import Any

from isrcheck.model.designs import State
from isrcheck.model.designs.logs import Logs
from isrcheck.model.designs.replicas import UNKNOWN, any_partition
from isrcheck.model.designs.sentences import now
from isrcheck.model.language import (
    action,
    asked,
    becomes,
    broker,
    budget,
    count,
    enum,
    flag,
    listed,
    none,
    number,
    optional,
    per,
    record,
    set_of,
    setting,
    some,
    when,
)


class ElectionsByMajority(Logs):
    """Replicas that stand for election, vote, and learn each other's epochs."""

    abstract = True

    timeouts = budget(
        1,
        at_most=5,
        meaning="elections that a replica starts at any moment, even if a leader is up or no majority votes for it",
    )
    vote = setting(
        "up-to-date",
        choices=("up-to-date", "longest-log", "any"),
        meaning="whom a replica votes for, once in each epoch. up-to-date: a candidate whose last record has a later "
        "epoch, or the same epoch in a log at least as long; longest-log: a candidate whose log is at least as long; "
        "any: any candidate",
    )
    votes = setting(
        "one-by-one",
        choices=("one-by-one", "at-once"),
        meaning="one-by-one: each RequestVote is a step; at-once: a whole election is one step",
    )
    # --- variables --------------------------------------------------------------------------------------------------

    @property
    def majority(self) -> int:
        """The smallest number that is more than half of the replicas."""
        return int(self.replicas) // 2 + 1

    def role_fields(self) -> dict[str, Any]:
        """The fields of a replica. `votes` has the brokers that voted for it, if it is a candidate or leader."""
        return {
            "role": enum("none", "follower", "candidate", "leader"),
            "leader": optional(broker),
            "epoch": self.any_epoch(),
            "voted": flag,
            "votes": set_of(broker),
            "high_watermark": self.any_end(),
        }

    def variables(self) -> dict[str, Any]:
        found = super().variables()
        found["elected"] = per(any_partition(self), record(leader=optional(broker), epoch=self.any_epoch()))
        if self.timeouts:
            found["timeouts"] = number(0, self.timeouts)
        return found

    def initial(self, s: State) -> None:
        """Broker 0 leads in epoch 0, elected by all."""
        first = self.broker(0)
        if self.has_crashes:
            s.up = set(self.brokers)
        for p in self.all_partitions:
            s.elected[p].leader = first
            for b in self.brokers:
                leads = b == first
                self.take_role(s, p, b, "leader" if leads else "follower", first)
                s.replica[p][b].voted = True
                s.replica[p][b].votes = set(self.brokers) if leads else set()

    # --- words ------------------------------------------------------------------------------------------------------

    def is_legitimate(self, s: State, p: int, b: Any) -> Any:
        """Whether a broker leads, and nobody was elected in a later epoch."""
        return self.leads(s, p, b) & (s.elected[p].leader == b) & (s.elected[p].epoch == s.replica[p][b].epoch)

    def take_role(self, s: State, p: int, b: Any, role: str, leader: Any) -> None:
        s.replica[p][b].role = role
        s.replica[p][b].leader = leader
        s.known_end[p][b] = [UNKNOWN for _ in self.brokers]

    def last_epoch(self, s: State, p: int, b: Any) -> Any:
        """The epoch of a log's last record, -1 if there is none."""
        log = s.log[p][b]
        return when(log.is_empty, -1, log.last.epoch)

    def accepts(self, s: State, p: int, voter: Any, candidate: Any) -> Any:
        """Whether a replica may vote for a candidate, judged by their logs."""
        return self.accepts_log(s, p, voter, self.last_epoch(s, p, candidate), s.log[p][candidate].length)

    def accepts_log(self, s: State, p: int, voter: Any, others_last: Any, other: Any) -> Any:
        """Whether a replica may vote for a candidate whose log has the given last epoch and log end offset."""
        mine = s.log[p][voter].length
        if self.vote == "any":
            return other >= 0
        if self.vote == "longest-log":
            return other >= mine
        last = self.last_epoch(s, p, voter)
        return (others_last > last) | ((others_last == last) & (other >= mine))

    def may_vote(self, s: State, p: int, voter: Any, epoch: Any) -> Any:
        """Whether a replica has not voted in an epoch and knows no later epoch."""
        own = s.replica[p][voter]
        return (own.epoch < epoch) | ((own.epoch == epoch) & ~own.voted)

    def grants(self, s: State, p: int, voter: Any, candidate: Any, epoch: Any) -> Any:
        """Whether a replica votes for a candidate in an epoch: it is up, may still vote, and accepts the candidate."""
        return self.is_up(s, voter) & self.may_vote(s, p, voter, epoch) & self.accepts(s, p, voter, candidate)

    def give_vote(self, s: State, p: int, voter: Any, epoch: Any) -> None:
        """A replica votes in an epoch; if it leads in an earlier epoch, it stops leading."""
        own = s.replica[p][voter]
        own.epoch = epoch
        own.voted = True
        own.votes = set()
        self.take_role(s, p, voter, "follower", none)

    # --- elections --------------------------------------------------------------------------------------------------

    def stand(self, s: State, p: int, b: Any) -> None:
        """A replica votes for itself in a new epoch."""
        epoch = s.replica[p][b].epoch + 1
        s.require(self.is_up(s, b), s.replica[p][b].role != "leader", s.room(epoch <= self.max_leader_epoch))
        s.replica[p][b].epoch = epoch
        s.replica[p][b].voted = True
        s.replica[p][b].votes = {b}
        self.take_role(s, p, b, "candidate", none)

    def would_win(self, s: State, p: int, b: Any) -> Any:
        """Whether most replicas are up and would vote for a replica in its next epoch (pre-vote)."""
        epoch = s.replica[p][b].epoch + 1
        votes = [self.grants(s, p, voter, b, epoch) if voter != b else self.is_up(s, b) for voter in self.brokers]
        return count(votes) >= self.majority

    def is_winning(self, s: State, p: int) -> Any:
        """Whether some candidate has the votes of most replicas, or may still get them."""
        possible = []
        for b in self.brokers:
            own = s.replica[p][b]
            votes = [
                own.votes.has(voter) | (self.grants(s, p, voter, b, own.epoch) if voter != b else False)
                for voter in self.brokers
            ]
            possible.append(self.is_up(s, b) & (own.role == "candidate") & (count(votes) >= self.majority))
        return some(possible)

    @action(p=any_partition, b=broker, actor="b", where=lambda m: m.votes == "one-by-one")
    def stand_for_election(self, s: State, p: int, b: Any) -> None:
        """No leader is up: a replica that a majority would vote for becomes a candidate."""
        s.require(~some(self.leads(s, p, x) for x in self.brokers), ~self.is_winning(s, p), self.would_win(s, p, b))
        self.stand(s, p, b)

    def describe_stand_for_election(self, old: Any, new: Any, p: int, b: Any) -> str:
        epochs = becomes(old.replica[p][b].epoch, new.replica[p][b].epoch)
        return f"{b}, {self.last_in_words(old, p, b)}, finds no leader up and stands for election in epoch {epochs}"

    @action(
        p=any_partition, b=broker, actor="b", environment=True, where=lambda m: m.timeouts and m.votes == "one-by-one"
    )
    def time_out(self, s: State, p: int, b: Any) -> None:
        """A replica has not heard of a leader for too long, and becomes a candidate."""
        s.require(s.timeouts < self.timeouts)
        s.timeouts += 1
        self.stand(s, p, b)

    def describe_time_out(self, old: Any, new: Any, p: int, b: Any) -> str:
        epochs = becomes(old.replica[p][b].epoch, new.replica[p][b].epoch)
        leaders = [x for x in self.brokers if asked(old, self.leads, p, x)]
        up = f", although {listed(leaders)} leads," if len(leaders) == 1 else ""
        return f"{b}, {self.last_in_words(old, p, b)}, times out{up} and stands for election in epoch {epochs}"

    def last_in_words(self, s: Any, p: int, b: Any) -> str:
        """Says what voters compare in a log: its end and its last epoch."""
        log = s.log[p][b]
        return f"whose log ends at {len(log)} with a record of epoch {log[-1].epoch}" if log else "whose log is empty"

    @action(p=any_partition, voter=broker, candidate=broker, actor="voter", where=lambda m: m.votes == "one-by-one")
    def grant_vote(self, s: State, p: int, voter: Any, candidate: Any) -> None:
        """A replica votes for a candidate (RequestVote); if it led in an earlier epoch, it steps down."""
        if voter == candidate:
            return
        other = s.replica[p][candidate]
        s.require(self.is_up(s, candidate), other.role == "candidate")
        s.require(self.grants(s, p, voter, candidate, other.epoch))
        self.give_vote(s, p, voter, other.epoch)
        other.votes = other.votes.including(voter)

    def describe_grant_vote(self, old: Any, new: Any, p: int, voter: Any, candidate: Any) -> str:
        epoch = now(old.replica[p][voter].epoch, new.replica[p][voter].epoch)
        deposed = " and leads no more" if old.replica[p][voter].role == "leader" else ""
        votes = becomes(old.replica[p][candidate].votes, new.replica[p][candidate].votes)
        whom = f"votes in epoch {epoch} for {candidate}, {self.last_in_words(old, p, candidate)},{deposed}"
        return f"{voter}, {self.last_in_words(old, p, voter)}, {whom.rstrip(',')}: votes for {candidate} {votes}"

    @action(p=any_partition, b=broker, actor="b", where=lambda m: m.votes == "one-by-one")
    def become_leader(self, s: State, p: int, b: Any) -> None:
        """A candidate with the votes of a majority becomes leader."""
        replica = s.replica[p][b]
        s.require(self.is_up(s, b), replica.role == "candidate", replica.votes.size >= self.majority)
        self.note_election(s, p, b, replica.epoch)
        self.take_role(s, p, b, "leader", b)

    def describe_become_leader(self, old: Any, new: Any, p: int, b: Any) -> str:
        replica = old.replica[p][b]
        return f"{b}, {self.last_in_words(old, p, b)}, leads in epoch {replica.epoch} with the votes of {replica.votes}"

    def note_election(self, s: State, p: int, b: Any, epoch: Any) -> None:
        later = epoch > s.elected[p].epoch
        s.elected[p].leader = when(later, b, s.elected[p].leader)
        s.elected[p].epoch = when(later, epoch, s.elected[p].epoch)

    @action(p=any_partition, b=broker, voters=set_of(broker), actor="b", where=lambda m: m.votes == "at-once")
    def elect(self, s: State, p: int, b: Any, voters: Any) -> None:
        """No leader is up: a majority that is as small as possible elects one of its members."""
        if b not in voters or len(voters) != self.majority:
            return
        s.require(~some(self.leads(s, p, x) for x in self.brokers))
        self.win(s, p, b, voters)

    def describe_elect(self, old: Any, new: Any, p: int, b: Any, voters: Any) -> str:
        return f"with no leader up, {self.winning_in_words(old, new, p, b, voters)}"

    @action(
        p=any_partition,
        b=broker,
        voters=set_of(broker),
        actor="b",
        environment=True,
        where=lambda m: m.votes == "at-once" and m.timeouts,
    )
    def depose(self, s: State, p: int, b: Any, voters: Any) -> None:
        """A replica has not heard of a leader for too long, and a majority as small as possible elects it."""
        if b not in voters or len(voters) != self.majority:
            return
        s.require(s.timeouts < self.timeouts, s.replica[p][b].role != "leader")
        s.timeouts += 1
        self.win(s, p, b, voters)

    def describe_depose(self, old: Any, new: Any, p: int, b: Any, voters: Any) -> str:
        return f"{b} times out, and {self.winning_in_words(old, new, p, b, voters)}"

    def winning_in_words(self, old: Any, new: Any, p: int, b: Any, voters: Any) -> str:
        """Says which replicas elect which leader, and which leaders stop leading because they vote."""
        deposed = [v for v in self.brokers if v in voters and v != b and old.replica[p][v].role == "leader"]
        over = f"; {listed(deposed)} leads no more" if deposed else ""
        epochs = becomes(old.replica[p][b].epoch, new.replica[p][b].epoch)
        return f"{voters} elect {b}, {self.last_in_words(old, p, b)}: it leads in epoch {epochs}{over}"

    def win(self, s: State, p: int, b: Any, voters: Any) -> None:
        """A replica is elected in its next epoch by the given voters."""
        epoch = s.replica[p][b].epoch + 1
        s.require(self.is_up(s, b), s.room(epoch <= self.max_leader_epoch))
        for voter in voters:
            if voter != b:
                s.require(self.grants(s, p, voter, b, epoch))
                self.take_role(s, p, voter, "follower", b)
                s.replica[p][voter].votes = set()
            s.replica[p][voter].epoch = epoch
            s.replica[p][voter].voted = True
        self.take_role(s, p, b, "leader", b)
        s.replica[p][b].votes = voters
        self.note_election(s, p, b, epoch)

    @action(p=any_partition, b=broker, leader=broker, actor="b")
    def hear_of_leader(self, s: State, p: int, b: Any, leader: Any) -> None:
        """A replica hears of a leader in its own epoch or a later one, and follows it."""
        if b == leader:
            return
        own, other = s.replica[p][b], s.replica[p][leader]
        s.require(self.is_up(s, b), self.leads(s, p, leader))
        later = own.epoch < other.epoch
        s.require(later | ((own.epoch == other.epoch) & (own.leader != leader) & (own.role != "leader")))
        own.voted = when(later, False, own.voted)
        own.epoch = other.epoch
        own.votes = set()
        self.take_role(s, p, b, "follower", leader)

    def describe_hear_of_leader(self, old: Any, new: Any, p: int, b: Any, leader: Any) -> str:
        epoch = now(old.replica[p][b].epoch, new.replica[p][b].epoch)
        return f"{b}{self.ceasing_in_words(old, p, b)} hears that {leader} leads, and follows it in epoch {epoch}"

    def ceasing_in_words(self, old: Any, p: int, b: Any) -> str:
        """Says which role a replica loses when it hears of another epoch."""
        before = old.replica[p][b]
        was = {"leader": "leader", "candidate": "candidate"}.get(before.role)
        return f", {was} of epoch {before.epoch}," if was else ""

    @action(p=any_partition, b=broker, other=broker, actor="b")
    def hear_of_later_epoch(self, s: State, p: int, b: Any, other: Any) -> None:
        """A replica learns a later epoch of another, which it can neither follow nor vote for, and awaits a leader."""
        if b == other:
            return
        mine, theirs = s.replica[p][b], s.replica[p][other]
        s.require(self.is_up(s, b), self.is_up(s, other), mine.epoch < theirs.epoch, theirs.role != "leader")
        s.require(~((theirs.role == "candidate") & self.accepts(s, p, b, other)))
        mine.epoch = theirs.epoch
        mine.voted = False
        mine.votes = set()
        self.take_role(s, p, b, "follower", none)

    def describe_hear_of_later_epoch(self, old: Any, new: Any, p: int, b: Any, other: Any) -> str:
        epoch = becomes(old.replica[p][b].epoch, new.replica[p][b].epoch)
        was = {"leader": "leads no more and ", "candidate": "stands no more and "}.get(old.replica[p][b].role, "")
        return f"{b} hears of a later epoch from {other}, {epoch}: it {was}waits to hear of a leader"
