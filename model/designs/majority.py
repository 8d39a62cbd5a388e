"""Majority vote: a record is committed when most replicas have it, and a leader is elected by most replicas.

The page "KafkaController" compares majority vote with the ISR: with 2f+1 replicas a leader waits for f+1 copies, its
own included, and f replicas may fail. The page does not say which replica may be elected. This design has the rules of
Raft (Ongaro and Ousterhout, "In Search of an Understandable Consensus Algorithm", 2014), and settings that weaken them.
Followers pull, as in Kafka. The words are Kafka's: a term is a *leader epoch*, the commit index is a *high watermark*.

The parts of the design are elections in `majority_elections`, disks and crashes in `majority_crashes`, replication in
`majority_replication`, and late messages in `majority_messages`. A replica's epoch, its vote and its log survive a
crash, unless the crash is lossy. Everything else is volatile.

Left out: snapshots, changes of the set of replicas.
"""

from __future__ import annotations

from typing import Any

from isrcheck.model.designs import State, design_constraints, design_profiles
from isrcheck.model.designs.majority_crashes import CrashingReplicas
from isrcheck.model.designs.majority_messages import LateMessages
from isrcheck.model.designs.majority_replication import PulledLogs
from isrcheck.model.language import goal, setting, some


# The order of the parts is the order in which `super()` calls them.
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
    truncation = "high-watermark"  # no epoch cache: here a follower steps back
    records_have_epochs = True
    acks_one = False
    acknowledgement = "own-epoch"  # a client of a deposed leader asks the next leader

    min_isr = setting(
        1,
        at_least=1,
        at_most=5,
        meaning="copies that the invariant acknowledged-has-enough-copies requires; a leader waits for a majority in "
        "any case",
    )

    setting_constraints = design_constraints.MAJORITY

    # --- goals ------------------------------------------------------------------------------------------------------

    @goal
    def another_broker_is_elected(self, s: State) -> Any:
        """A broker other than broker 0 leads, and nobody was elected after this broker."""
        return some(self.is_legitimate(s, p, b) for p in self.all_partitions for b in self.brokers[1:])
