"""The proof that in V3 the leader is always in the ISR: a leader with the current zkVersion knows the current ISR.

Only the invariant `isr-sane` is proved here, at the settings of the design with all its fixes.
docs/explanation/proofs.md says how far the other invariants are from a proof.
"""

from __future__ import annotations

from typing import Any

from isrcheck.model.designs import State
from isrcheck.model.designs.controller import any_controller, any_place
from isrcheck.model.designs.replicas import any_partition
from isrcheck.model.designs.v3 import ControllerDesign
from isrcheck.model.language import broker, implies
from isrcheck.model.language.proofs import Proof, lemma


class V3Proof(Proof):
    """Whoever has the current zkVersion (a leader, a command, a controller's read) has the current leader and ISR."""

    of = ControllerDesign
    invariants = ("isr-sane",)

    def is_sent(self, s: State, c: Any, b: Any, p: int, place: int) -> Any:
        """Whether the channel from a controller to a broker has a command about the partition at index `place`."""
        there = s.channel[c][b].length > place
        return there if self.model.partitions == 1 else there & (s.channel[c][b].at(place).partition == p)

    @lemma(p=any_partition, b=broker)
    def no_broker_knows_a_later_version(self, s: State, p: int, b: Any) -> Any:
        """No broker knows a zkVersion that ZooKeeper does not have yet."""
        return s.replica[p][b].version <= s.state[p].version

    @lemma(c=any_controller, b=broker, p=any_partition, place=any_place)
    def no_command_has_a_later_version(self, s: State, c: Any, b: Any, p: int, place: int) -> Any:
        """No command has a zkVersion that ZooKeeper does not have yet."""
        sent = self.is_sent(s, c, b, p, place)
        return implies(sent, s.channel[c][b].at(place).version <= s.state[p].version)

    @lemma(p=any_partition, b=broker)
    def a_leader_at_the_current_version_knows_the_state(self, s: State, p: int, b: Any) -> Any:
        """If a broker has the current zkVersion and believes that it leads, it is the leader and knows the ISR."""
        replica, state = s.replica[p][b], s.state[p]
        current = (replica.role == "leader") & (replica.version == state.version)
        return implies(current, (state.leader == b) & (replica.isr == state.isr))

    @lemma(c=any_controller, b=broker, p=any_partition, place=any_place)
    def a_command_at_the_current_version_says_the_state(self, s: State, c: Any, b: Any, p: int, place: int) -> Any:
        """A command with the current zkVersion names the leader and the ISR that ZooKeeper has."""
        sent, state = self.is_sent(s, c, b, p, place), s.state[p]
        request = s.channel[c][b].at(place)
        same = (request.leader == state.leader) & (request.isr == state.isr)
        return implies(sent & (request.version == state.version), same)

    @lemma(c=any_controller, p=any_partition)
    def what_a_controller_read_is_not_from_the_future(self, s: State, c: Any, p: int) -> Any:
        """A controller that has read the path knows no zkVersion that ZooKeeper does not have yet."""
        if not self.model.reads_first:
            return True
        return implies(s.read[c][p].done, s.read[c][p].version <= s.state[p].version)

    @lemma(c=any_controller, p=any_partition)
    def what_a_controller_read_at_the_current_version_is_the_state(self, s: State, c: Any, p: int) -> Any:
        """If a controller has read the current zkVersion, it has also read the current leader and the current ISR."""
        if not self.model.reads_first:
            return True
        known, state = s.read[c][p], s.state[p]
        same = (known.leader == state.leader) & (known.isr == state.isr)
        return implies(known.done & (known.version == state.version), same)

    @lemma(p=any_partition, b=broker)
    def leaders_have_an_epoch(self, s: State, p: int, b: Any) -> Any:
        """A broker that believes it leads has a leader epoch."""
        return implies(s.replica[p][b].role == "leader", s.replica[p][b].epoch >= 0)

    @lemma(p=any_partition)
    def the_leader_is_in_the_isr(self, s: State, p: int) -> Any:
        """The leader, if there is one, is in the ISR."""
        return s.state[p].leader.is_none | s.state[p].isr.has(s.state[p].leader)
