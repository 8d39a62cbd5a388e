"""Sentences about the steps of leaders and followers, shared by the variants of the published model."""

from __future__ import annotations

from typing import Any

from isrcheck.model.language import asked, becomes


def leader_in_words(m: Any, s: Any, leader: Any) -> str:
    """A leader in words. If `is_true_leader` is false, the words add the epoch in which the replica still leads."""
    if asked(s, m.is_true_leader, leader):
        return str(leader)
    return f"{leader}, still leader of epoch {s.replica[leader].leader_epoch} in its own eyes,"


def request_in_words(s: Any, epoch: int) -> str:
    """The request of an epoch in words, with the latest epoch if the request is outdated."""
    latest = s.quorum.leader_epoch
    return f"the request of epoch {epoch}" + (f", though epoch {latest} has begun," if epoch < latest else "")


def kept_in_words(old: Any, new: Any, follower: Any) -> str:
    """The words for the changes that a truncation makes to a log and a high watermark."""
    end, kept = len(old.log[follower]), len(new.log[follower])
    passed, low = old.replica[follower].high_watermark, new.replica[follower].high_watermark
    lost = " and ".join(f"record {r.id} of epoch {r.epoch}" for r in old.log[follower][kept:])
    text = f"truncates {lost}, log end {end} -> {kept}" if kept < end else f"keeps its log, log end {end}"
    return text + (f", high watermark {passed} -> {low}" if low != passed else "")


def shrinks(old: Any, new: Any, leader: Any, follower: Any) -> str:
    """The sentence for a leader that takes a follower out of the ISR, with the reason."""
    ours, theirs = old.replica[leader], old.replica[follower]
    ends = f"{len(old.log[follower])} of {len(old.log[leader])}"
    if theirs.leader != leader:
        why = "which does not follow it"
    elif theirs.leader_epoch != ours.leader_epoch:
        why = f"which has reached {ends} and is in epoch {theirs.leader_epoch}, not in its own {ours.leader_epoch}"
    else:
        why = f"which has reached offset {ends}"
    return f"{leader} takes {follower}, {why}, out of the ISR {becomes(old.quorum.isr, new.quorum.isr)}"


def expands(old: Any, new: Any, leader: Any, follower: Any) -> str:
    """The sentence for a leader that takes a follower into the ISR, with the reason."""
    isr, passed = becomes(old.quorum.isr, new.quorum.isr), old.replica[leader].high_watermark
    ends = f"whose log end {len(old.log[follower])} reaches its high watermark {passed}"
    return f"{leader} takes {follower}, {ends}, into the ISR {isr}"


def commits(m: Any, old: Any, new: Any, leader: Any) -> str:
    """The sentence for a leader that raises its high watermark."""
    passed, isr = old.replica[leader].high_watermark, old.replica[leader].isr
    raised = becomes(passed, new.replica[leader].high_watermark)
    whole = f"the whole of its ISR {isr} has reached offset {passed + 1}"
    return f"{leader_in_words(m, old, leader)} raises its high watermark {raised}: {whole}"


def copies(m: Any, old: Any, new: Any, follower: Any, leader: Any) -> str:
    """The sentence for a follower that appends the next record of a leader."""
    record, at = new.log[follower][-1], len(old.log[follower])
    heard = becomes(old.replica[follower].high_watermark, new.replica[follower].high_watermark)
    whose = leader_in_words(m, old, leader).rstrip(",")
    copied = f"copies record {record.id} of epoch {record.epoch} to offset {at} from {whose}"
    return f"{follower} {copied}; its high watermark {heard}"


def follows(old: Any, new: Any, follower: Any, leader: Any, epoch: int) -> str:
    """The sentence for a replica that becomes a follower, with the changes to its log."""
    ready = old.replica[leader].leader == leader and old.replica[leader].leader_epoch >= epoch
    whom = f"{leader}" if ready else f"{leader}, which does not lead in that epoch yet,"
    kept = kept_in_words(old, new, follower)
    return f"{follower} takes {request_in_words(new, epoch).rstrip(',')}, follows {whom} and {kept}"


def epoch_in_words(old: Any, new: Any) -> str:
    """The change of the leader epoch in words: `1 -> 2`, or `0` for the first epoch."""
    first = old.quorum.leader_epoch < 0
    return f"{new.quorum.leader_epoch}" if first else becomes(old.quorum.leader_epoch, new.quorum.leader_epoch)
