"""The scalars in which unnoticed mutants reach new states, at two sizes, as docs/explanation/mutation.md says."""

from __future__ import annotations

import importlib
import sys
from pathlib import Path
from types import FunctionType
from typing import Any

import pytest

from isrcheck.checker.changes.mutation.mutants import mutated
from isrcheck.checker.registry.loader import load_model_class
from isrcheck.model.designs.commands import Commands
from isrcheck.model.designs.controller import Controller
from isrcheck.model.designs.data_plane import DataPlane
from isrcheck.model.designs.fetches import Fetching
from isrcheck.model.designs.logs import Logs
from isrcheck.model.designs.partition_state import PartitionState
from isrcheck.model.designs.pending_isr import PendingIsr
from isrcheck.model.designs.v1 import ZookeeperListeners
from isrcheck.model.designs.v2_leader_nodes import LeaderNodes
from isrcheck.model.designs.zookeeper_watches import ZookeeperWatches
from tests.mutation.test_explained_survivors import line

sys.path.insert(0, str(Path(__file__).parents[2] / "benchmarks"))
beyond = importlib.import_module("beyond").beyond

ONE = {"replicas": 2, "log_size": 1, "max_records": 1, "max_leader_epoch": 1}
TWO = {**ONE, "max_leader_epoch": 2}
V1 = {"election": "multi", "isr_write": "conditional", "skip_same_leader": True, "expiries": 1}
V2 = {"crashes": 1, "truncation": "kip-101"}
OWNER = {"expiries": 1, "truncation": "kip-101", "isr_write": "conditional", "new_epoch": "owner"}
V3 = {"expiries": 1, "crashes": 1, "truncation": "kip-320"}
SIZES: dict[str, tuple[dict[str, Any], dict[str, Any]]] = {
    "v1": ({**ONE, **V1, "max_version": 3}, {**TWO, **V1, "max_version": 4}),
    "v2": ({**ONE, **V2}, {**TWO, **V2, "log_size": 2, "max_records": 2}),
    "alter-isr": ({**ONE, "expiries": 1, "max_version": 2}, {**ONE, "expiries": 1, "max_version": 3}),
    "v3": ({**ONE, **V3, "max_version": 2, "crashes": 0}, {**ONE, **V3, "max_version": 2}),
}
ISR_WRITTEN = ({**ONE, **OWNER, "max_version": 2}, {**TWO, **OWNER, "max_version": 3})
TWO_CRASHES = ({**ONE, **V2, "crashes": 2}, {**ONE, **V2, "crashes": 2, "max_records": 2})
CRASHES = ({**ONE, **V3, "max_version": 2}, {**ONE, **V3, "max_version": 2, "max_records": 2})
VERSIONS = "replica.version state.version"
UNLAGGED = "without self.lags(s, p, b, follower)"
NOT_PENDING = "without replica.pending = replica.pending | isr if self.pending_isr == 'union' else isr"
TRUNCATES_ON = "without s.replica[p][follower].truncating = when(done, False, True)"
IS_TRUNCATING = "without ~s.replica[p][follower].truncating"
COMMITS_NOTHING = "end >= replica.high_watermark, not end > replica.high_watermark"
NOT_PAST_THE_END = "s.log[p][follower].length >= end, not s.log[p][follower].length > end"
MUTANTS: list[tuple[str, str, FunctionType, str, str]] = [
    ("v1", "follow-leader", ZookeeperListeners.follow_leader, "without self.has_notification(s, p, b, 'leader')",
     "live watch"),
    ("v1", "session-expires", ZookeeperWatches.fire, "without condition", "watch"),
    ("v1", "register-again", ZookeeperWatches.register_again, "without ~s.live.has(b)", "watch"),
    ("v1", "register-again", ZookeeperWatches.register_again, "without s.live = s.live | {b}", "watch"),
    ("v1", "expand-isr", PartitionState.may_expand, "without ~replica.isr.has(follower)", VERSIONS),
    ("v1", "shrink-isr", PartitionState.shrink_isr, "without s.replica[p][b].isr.has(follower)", VERSIONS),
    ("v1", "shrink-isr", PartitionState.shrink_isr, UNLAGGED, VERSIONS),
    ("v1", "commit", Logs.commit, COMMITS_NOTHING, "committed.by"),
    ("v2", "create-leader-node", LeaderNodes.create_leader_node, "without s.watch[p][b][PATH] = 'set'", "watch"),
    ("v2", "session-of-the-dead-expires", ZookeeperWatches.fire, "without condition", "watch"),
    ("v2", "fetch-out-of-range", Fetching.may_fetch, IS_TRUNCATING, "replica.truncating"),
    ("v2", "truncate", Fetching.truncate, TRUNCATES_ON, "replica.truncating"),
    ("v2", "shrink-isr", PartitionState.shrink_isr, "without s.replica[p][b].isr.has(follower)", VERSIONS),
    ("v2", "fetch-out-of-range", Fetching.fetch_out_of_range, NOT_PAST_THE_END, "epoch_cache"),
    ("v2", "truncate", Fetching.truncate, "without s.replica[p][follower].truncating", "epoch_cache"),
    ("v2", "crash", DataPlane.crash, "without s.up.has(b)", "watch"),
    ("v3", "become-follower-by-command", Commands.is_followed, "without request.epoch > replica.epoch",
     "replica.truncating replica.version"),
    ("v3", "become-follower-by-command", Commands.taken, "without s.channel[c][b].remove_first()", "channel"),
    ("v3", "become-leader-by-command", Commands.taken, "without s.channel[c][b].remove_first()", "channel"),
    ("v3", "expand-isr", PartitionState.may_expand, "without ~replica.isr.has(follower)", f"channel {VERSIONS}"),
    ("v3", "shrink-isr", PartitionState.shrink_isr, "without s.replica[p][b].isr.has(follower)",
     f"channel {VERSIONS}"),
    ("v3", "fetch-out-of-range", Fetching.may_fetch, IS_TRUNCATING, "replica.truncating"),
    ("v3", "fetch-out-of-range", Fetching.fetch_out_of_range, NOT_PAST_THE_END, "epoch_cache"),
    ("v3", "commit", Logs.commit, COMMITS_NOTHING, "committed.by"),
    ("v3", "on-broker-change", Controller.decide, "without changed | ~s.seen_live[c][p].has(b)", "channel"),
    ("v3", "on-broker-startup", Commands._take_role, "without length > 0", "epoch_cache replica.truncating"),
    ("alter-isr", "become-follower-by-command", Commands.is_followed, "without request.epoch > replica.epoch",
     "replica.version"),
    ("alter-isr", "on-broker-change", Controller.decide, "without changed | ~s.seen_live[c][p].has(b)", "channel"),
    ("alter-isr", "on-broker-change", Controller.decide, "without recipients.has(b)",
     "alteration channel live seen_live"),
    ("alter-isr", "on-broker-change-without-leader", Controller.decide, "without recipients.has(b)",
     "channel known_end replica.epoch replica.isr replica.leader replica.pending replica.role replica.version"),
    ("alter-isr", "commit", Logs.commit, COMMITS_NOTHING, "committed.by"),
    ("alter-isr", "truncate", Fetching.truncate, "without self.diverges(s, p, follower, leader)", "epoch_cache"),
    ("alter-isr", "roll-back-isr", PendingIsr.roll_back_isr,
     "without s.alteration[p][b][request] = self.no_alteration()", "alteration"),
    ("alter-isr", "shrink-isr", PendingIsr.change_isr, NOT_PENDING, "replica.pending"),
]  # fmt: skip
"""A design, an action, the line that it lacks, and the scalars with values that the design does not reach."""
SIZES_OF = {
    ("v2", "shrink-isr"): ISR_WRITTEN,
    ("v2", "crash"): TWO_CRASHES,
    ("v3", "on-broker-startup"): CRASHES,
}
"""Other sizes, for mutants that differ only there."""


@pytest.mark.exhaustive
@pytest.mark.parametrize(
    ("design", "action", "function", "words", "names"), MUTANTS, ids=[f"{m[0]}-{m[1]}-{m[2].__name__}" for m in MUTANTS]
)
def test_but_for_these_a_survivor_reaches_nothing_new(
    design: str, action: str, function: FunctionType, words: str, names: str
) -> None:
    """At both sizes, an invariant that does not read these scalars cannot be false only in the mutant."""
    cls = load_model_class(design).cls
    mutant = mutated(cls, action, line(function, words))
    found = [beyond(cls, mutant, settings) for settings in SIZES_OF.get((design, action), SIZES[design])]
    assert found == [tuple(names.split())] * 2


def test_a_mutant_that_is_noticed_goes_beyond_in_what_is_said_of_records() -> None:
    """With two leaders at the same time, logs and committed records have values that the design never has."""
    cls = load_model_class("v1").cls
    edit = line(ZookeeperListeners.take_the_lead, "without state.leader.is_none")
    found = beyond(cls, mutated(cls, "take-the-lead", edit), SIZES["v1"][1])
    assert {"log.epoch", "state.leader"} <= set(found)
