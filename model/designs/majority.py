"""Majority vote: a record is committed when most replicas have it, and most replicas elect a leader.

The page "KafkaController" compares this with the ISR: with 2f+1 replicas a leader waits for f+1 copies, one of them its
own, and f replicas may fail. It does not say who may be elected; what is here is Raft (Ongaro and Ousterhout, "In
Search of an Understandable Consensus Algorithm", 2014), whose rules are settings that can be weakened. Followers pull,
as in Kafka. In Kafka's words: a term is a *leader epoch*, the commit index a *high watermark*.

What a reader of the paper looks for is in the files it is built from: elections in `majority_elections`; what is on
disk, and crashes, in `majority_crashes`; replication in `majority_replication`; messages that are late in
`majority_messages`. Volatile is everything but a replica's epoch, its vote and its log.

Left out: snapshots, changes of the set of replicas.
"""

from __future__ import annotations

from typing import Any

from isrcheck.model.designs import State, design_profiles, going_together
from isrcheck.model.designs.majority_crashes import CrashingReplicas
from isrcheck.model.designs.majority_messages import LateMessages
from isrcheck.model.designs.majority_replication import PulledLogs
from isrcheck.model.language import goal, setting, some


# The parts stand in the order in which `super()` asks them.
class MajorityVote(LateMessages, PulledLogs, CrashingReplicas):
    """Replicas that vote, and a leader that counts copies."""

    invariants = (
        "elected-leader-has-what-is-committed",
        "committed-records-are-stable",
        "single-committed-leader-per-epoch",
        "one-leader-in-each-epoch",
    )
    profiles = design_profiles.MAJORITY

    partitions = 1
    truncation = "high-watermark"  # of the ISR's designs; here a follower goes back until its log fits
    records_have_epochs = True
    acks_one = False
    acknowledgement = "own-epoch"  # a client of a deposed leader asks the next one

    min_isr = setting(
        1,
        at_least=1,
        at_most=5,
        meaning="copies that the invariant acknowledged-has-enough-copies asks for; a leader waits for a majority in "
        "any case",
    )

    together = going_together.MAJORITY

    # --- goals ------------------------------------------------------------------------------------------------------

    @goal
    def another_broker_is_elected(self, s: State) -> Any:
        """A broker other than the first is the last one elected."""
        return some(self.is_legitimate(s, p, b) for p in self.all_partitions for b in self.brokers[1:])
