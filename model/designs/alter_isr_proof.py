"""The proof that with AlterIsr the leader is always in the ISR: a broker requests only ISRs that contain the broker.

Only the invariant `isr-sane` is proved here. The lemmas of V3 about versions are not needed, because the controller
alone writes the ISR, and checks at each write which broker leads. docs/explanation/proofs.md says how far the other
invariants are from a proof.
"""

from __future__ import annotations

from typing import Any

from isrcheck.model.designs import State
from isrcheck.model.designs.alter_isr import AlterIsr
from isrcheck.model.designs.alterations import any_arriving_request
from isrcheck.model.designs.controller import any_controller, any_place
from isrcheck.model.designs.replicas import any_partition
from isrcheck.model.language import broker, implies
from isrcheck.model.language.proofs import Proof, lemma


class AlterIsrProof(Proof):
    """Where a replica, a message in flight or the controller names a leader and an ISR, the leader is in this ISR."""

    of = AlterIsr
    invariants = ("isr-sane",)

    @lemma(p=any_partition, b=broker)
    def who_leads_is_in_its_own_isr(self, s: State, p: int, b: Any) -> Any:
        """A broker that believes that it leads is in the ISR that it knows."""
        return implies(s.replica[p][b].role == "leader", s.replica[p][b].isr.has(b))

    @lemma(p=any_partition, b=broker, i=any_arriving_request)
    def who_asks_for_an_isr_is_in_it(self, s: State, p: int, b: Any, i: int) -> Any:
        """While a request for an ISR or the response is under way, the requesting broker is in that ISR."""
        one = s.alteration[p][b][i]
        return implies(one.stage != "none", one.isr.has(b))

    @lemma(c=any_controller, b=broker, place=any_place)
    def a_command_names_a_leader_in_the_isr(self, s: State, c: Any, b: Any, place: int) -> Any:
        """The leader that a command names, if any, is in the ISR of that command."""
        sent, request = s.channel[c][b].length > place, s.channel[c][b].at(place)
        return implies(sent & ~request.leader.is_none, request.isr.has(request.leader))

    @lemma(p=any_partition)
    def the_leader_is_in_the_isr(self, s: State, p: int) -> Any:
        """The leader, if there is one, is in the ISR."""
        return s.state[p].leader.is_none | s.state[p].isr.has(s.state[p].leader)
