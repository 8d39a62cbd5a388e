"""Fetching: a follower copies the leader's log, after it has truncated what the leader does not have.

In a *fetch* the leader learns the follower's log end offset, and the follower gets at most one record and the leader's
high watermark from before the fetch. With `fetch_reply = at-once` a fetch is one step, and a check does not cover late
answers. Otherwise a fetch is two steps, and its answer may be late. A request for the end of an epoch is one step with
`truncation_reply = at-once`, and otherwise two steps.

Sources: KIP-101, KIP-279, KIP-320, KIP-392, and the JIRA ids that the settings name. Left out: fetch sessions,
throttling.
"""

from __future__ import annotations

from typing import Any

from isrcheck.model.designs import State, epoch_cache, sentences
from isrcheck.model.designs.replicas import Replicas, any_partition
from isrcheck.model.language import (
    action,
    becomes,
    broker,
    count,
    enum,
    flag,
    minimum,
    none,
    optional,
    record,
    setting,
    when,
)


class Fetching(Replicas):
    """Followers that truncate and fetch."""

    abstract = True

    fence_fetch = setting(
        True, meaning="with truncation = kip-320 or on-fetch: a leader answers only fetches of its own epoch"
    )
    fence_truncation = setting(
        True,
        meaning="with truncation = kip-320: a leader tells only followers in its own epoch where an epoch ends",
    )
    assign_on_leader = setting(True, meaning="a new leader immediately adds its epoch to its epoch cache (KAFKA-7415)")
    refuse_undefined_epoch = setting(
        True,
        meaning="a leader that is asked where an undefined epoch ends gives no offset; if false, it gives its log end "
        "(KAFKA-6857)",
    )
    truncation_reply = setting(
        "at-once",
        choices=("at-once", "unchecked", "checked"),
        meaning="when a follower applies the leader's answer about the end of an epoch. at-once: immediately; "
        "unchecked: later; checked: later, unless its own epoch has changed by then (KAFKA-7040, KAFKA-7786)",
    )
    truncate_before_high_watermark = setting(
        True,
        meaning="with truncation = on-fetch: an answer that says where logs diverge does not raise the high watermark "
        "(KAFKA-14704)",
    )

    fetch_reply = setting(
        "at-once",
        choices=("at-once", "unchecked", "checked"),
        meaning="when a follower applies the answer to a fetch. at-once: immediately; unchecked: later, if its log "
        "still ends at the offset of the fetch; checked: later, if its epoch is also still the same (KAFKA-18991)",
        leaves_out={"at-once": "answers to fetches that come late"},
    )

    @property
    def fetches_late(self) -> bool:
        return bool(self.fetch_reply != "at-once")

    @property
    def asks_where_epochs_end(self) -> bool:
        """Whether truncation has a request of its own, before fetching begins."""
        return self.truncation in ("kip-101", "kip-279", "kip-320")

    @property
    def replies_late(self) -> bool:
        return bool(self.asks_where_epochs_end and self.truncation_reply != "at-once")

    def replica_fields(self) -> dict[str, Any]:
        return {**super().replica_fields(), **({"truncating": flag} if self.asks_where_epochs_end else {})}

    def replica_variables(self) -> dict[str, Any]:
        found = super().replica_variables()
        if self.replies_late:
            answer = {"epoch": self.any_epoch(-1), "end": self.any_end(-1)}
            found["reply"] = record(leader=optional(broker), asked_in=self.any_epoch(-1), **answer)
        if self.fetches_late:
            found["fetched_reply"] = record(
                leader=optional(broker),
                asked_in=self.any_epoch(-1),
                offset=self.any_end(),
                kind=enum("nothing", "record", "diverging"),
                record=self.any_record(),
                high_watermark=self.any_end(),
                end_epoch=self.any_epoch(-1),
                end=self.any_end(-1),
            )
        return found

    # --- words ------------------------------------------------------------------------------------------------------

    def answers(self, s: State, p: int, leader: Any, follower: Any, fenced: bool) -> Any:
        """Whether a follower gets an answer to a request to its leader.

        With `truncation` kip-320 or on-fetch, a `fenced` request is answered only if both brokers are in the same
        epoch.
        """
        same_epoch = s.replica[p][leader].epoch == s.replica[p][follower].epoch
        asked = self.leads(s, p, leader) & self.follows(s, p, follower, leader)
        return asked & same_epoch if self.truncation in ("kip-320", "on-fetch") and fenced else asked

    def may_fetch(self, s: State, p: int, follower: Any, leader: Any) -> Any:
        """Whether a follower has finished truncating and gets an answer to its fetch."""
        answers = self.answers(s, p, leader, follower, self.fence_fetch)
        return answers & ~s.replica[p][follower].truncating if self.asks_where_epochs_end else answers

    def has_a_quorum(self, s: State, p: int, leader: Any) -> Any:
        """Whether the leader and the ISR members that may fetch from it are at least min.insync.replicas in number.

        Members that may not fetch do not count: when they lag, the leader removes them from the ISR if it can.
        """
        fetch = [self.may_fetch(s, p, f, leader) if f != leader else True for f in self.brokers]
        present = count(
            s.replica[p][leader].isr.has(f) & fetches for f, fetches in zip(self.brokers, fetch, strict=True)
        )
        return present >= self.min_isr

    def end_of_epoch(self, s: State, p: int, leader: Any, asked: Any) -> tuple[Any, Any]:
        """A leader's answer: the greatest epoch in its cache up to the epoch `asked`, and where `asked` ends."""
        cache, end, top = s.epoch_cache[p][leader], s.log[p][leader].length, self.max_leader_epoch
        epoch = epoch_cache.floor_epoch(cache, asked, top)
        answer = epoch_cache.end_of_epoch(cache, asked, end, top)
        if not self.refuse_undefined_epoch:
            answer = when((asked < 0) & cache.is_empty, end, answer)
        return epoch, answer

    def truncation_point(self, s: State, p: int, follower: Any, epoch: Any, end: Any) -> tuple[Any, Any]:
        """How many records a follower keeps after a leader's answer, and whether it has then finished truncating.

        If the answer has no offset, the follower truncates to its high watermark. Otherwise it truncates to the offset
        in the answer. Except with `truncation = kip-101`, the follower's cache counts too. If the answer's epoch ends
        earlier there, the follower truncates to this end. If this cache has a smaller and a greater epoch, but not the
        answer's, the follower truncates to the end of the smaller epoch, whatever the offset, and must ask again.
        """
        top, own = self.max_leader_epoch, s.epoch_cache[p][follower]
        own_end, high_watermark = s.log[p][follower].length, s.replica[p][follower].high_watermark
        if self.truncation == "kip-101":
            return when(end < 0, high_watermark, minimum(end, own_end)), True
        floor = epoch_cache.floor_epoch(own, epoch, top)
        own_floor_end = epoch_cache.end_of_epoch(own, epoch, own_end, top)
        known = (own_floor_end >= 0) & (floor >= 0)
        back = minimum(own_floor_end, own_end)
        length = when(known, when(floor == epoch, minimum(back, end), back), minimum(end, own_end))
        done = (end < 0) | ~known | (floor == epoch)
        return when(end < 0, high_watermark, length), done

    def keep(self, s: State, p: int, b: Any, length: Any) -> None:
        """Truncates a log and its epoch cache to a length."""
        s.log[p][b].truncate(length)
        if self.has_epoch_cache:
            s.epoch_cache[p][b] = epoch_cache.truncated(s.epoch_cache[p][b], length, self.max_leader_epoch)

    def truncate_to(self, s: State, p: int, follower: Any, length: Any) -> None:
        self.keep(s, p, follower, length)
        s.replica[p][follower].high_watermark = minimum(length, s.replica[p][follower].high_watermark)

    def diverges(self, s: State, p: int, follower: Any, leader: Any) -> Any:
        """Whether a fetch shows that the logs diverge (`truncation = on-fetch`).

        They diverge if the leader does not have the follower's last epoch, or if this epoch ends earlier at the leader.
        """
        if self.truncation != "on-fetch":
            return False
        last, log_end = epoch_cache.latest_epoch(s.epoch_cache[p][follower]), s.log[p][follower].length
        epoch, end = self.end_of_epoch(s, p, leader, last)
        return (last >= 0) & (log_end > 0) & ((end < log_end) | (epoch < last))

    # --- fetch ------------------------------------------------------------------------------------------------------

    @action(p=any_partition, follower=broker, leader=broker, actor="follower")
    def fetch(self, s: State, p: int, follower: Any, leader: Any) -> None:
        """A follower sends its log end offset to the leader, and gets the next record and the high watermark."""
        if follower == leader:
            return
        s.require(self.may_fetch(s, p, follower, leader))
        if self.truncation == "on-fetch":
            s.require(~self.diverges(s, p, follower, leader))
        if self.fetches_late:
            s.require(s.fetched_reply[p][follower].leader.is_none)
        end, leaders = s.log[p][follower].length, s.log[p][leader]
        behind = end < leaders.length
        new_end = when(behind, end + 1, end)
        high_watermark = minimum(s.replica[p][leader].high_watermark, new_end)
        news = (s.known_end[p][leader][follower] != end) | (s.replica[p][follower].high_watermark != high_watermark)
        s.require(end <= leaders.length, behind | news)
        s.known_end[p][leader][follower] = end
        self.note_fetch(s, p, leader, follower)
        if self.fetches_late:
            copied = when(behind, leaders.at(end), {"id": 0, "epoch": 0})
            kind = when(behind, "record", "nothing")
            self.send_fetched(s, p, follower, leader, kind=kind, record=copied, high_watermark=high_watermark)
            return
        s.replica[p][follower].high_watermark = high_watermark
        s.log[p][follower] = when(behind, s.log[p][follower].appended(leaders.at(end)), s.log[p][follower])
        if self.has_epoch_cache:
            noted = self.noted_epoch(s, p, follower, leaders.at(end).epoch, end)
            s.epoch_cache[p][follower] = when(behind, noted, s.epoch_cache[p][follower])

    def describe_fetch(self, old: Any, new: Any, p: int, follower: Any, leader: Any) -> str:
        end, known = len(old.log[p][follower]), new.known_end[p][leader][follower]
        passed, heard = old.replica[p][follower].high_watermark, new.replica[p][follower].high_watermark
        whom = sentences.leader_in_words(self, old, p, leader)
        asks = f"{follower} asks {whom} for the record at offset {end}"
        news = f"; {leader} learns that its log end was {end}" if old.known_end[p][leader][follower] != known else ""
        if self.fetches_late:
            return f"{asks}; on its way is {self.fetched_in_words(new.fetched_reply[p][follower])}{news}"
        copied = "there is none"
        if len(new.log[p][follower]) > end:
            copied = f"it appends {sentences.record_in_words(new.log[p][follower][-1])}"
        raised = f", high watermark {passed} -> {heard}" if heard != passed else ""
        return f"{asks}: {copied}{raised}{news}"

    def note_fetch(self, s: State, p: int, leader: Any, follower: Any) -> None:
        """Notes what a leader learns from a fetch besides the follower's log end offset. By default this is nothing."""

    # --- answers that are late --------------------------------------------------------------------------------------

    def no_fetched_reply(self) -> dict[str, Any]:
        nothing = {"leader": none, "asked_in": -1, "offset": 0, "kind": "nothing", "record": {"id": 0, "epoch": 0}}
        return {**nothing, "high_watermark": 0, "end_epoch": -1, "end": -1}

    def send_fetched(self, s: State, p: int, follower: Any, leader: Any, **said: Any) -> None:
        """Sends the answer to a fetch, which arrives in a later step."""
        asked = {"leader": leader, "asked_in": s.replica[p][follower].epoch, "offset": s.log[p][follower].length}
        s.fetched_reply[p][follower] = {**self.no_fetched_reply(), **asked, **said}

    @action(
        p=any_partition,
        follower=broker,
        leader=broker,
        actor="leader",
        where=lambda m: m.fetches_late and m.truncation == "on-fetch",
    )
    def answer_that_logs_diverge(self, s: State, p: int, follower: Any, leader: Any) -> None:
        """A leader answers a fetch with the offset at which the logs diverge; the answer is on its way."""
        if follower == leader:
            return
        s.require(self.may_fetch(s, p, follower, leader), self.diverges(s, p, follower, leader))
        s.require(s.fetched_reply[p][follower].leader.is_none)
        last = epoch_cache.latest_epoch(s.epoch_cache[p][follower])
        epoch, end = self.end_of_epoch(s, p, leader, last)
        self.send_fetched(s, p, follower, leader, kind="diverging", end_epoch=epoch, end=end)

    def describe_answer_that_logs_diverge(self, old: Any, new: Any, p: int, follower: Any, leader: Any) -> str:
        whom, end = sentences.leader_in_words(self, old, p, leader), len(old.log[p][follower])
        on_its_way = self.fetched_in_words(new.fetched_reply[p][follower])
        return f"{follower} asks {whom} for the record at offset {end}; on its way is {on_its_way}"

    def heeds_fetched(self, s: State, p: int, follower: Any, leader: Any) -> Any:
        """Whether a follower acts on the answer to a fetch.

        The follower must still follow the leader, still have the log end of the fetch, and not be about to truncate.
        With `fetch_reply = checked`, the follower must also still be in the same epoch. In another epoch, another
        record may belong at the same offset (KAFKA-18991).
        """
        reply, replica = s.fetched_reply[p][follower], s.replica[p][follower]
        same = (reply.leader == leader) & (reply.offset == s.log[p][follower].length)
        expected = self.follows(s, p, follower, leader) & same
        if self.asks_where_epochs_end:
            expected = expected & ~replica.truncating
        return expected & (reply.asked_in == replica.epoch) if self.fetch_reply == "checked" else expected

    @action(p=any_partition, follower=broker, leader=broker, actor="follower", where=lambda m: m.fetches_late)
    def handle_fetched(self, s: State, p: int, follower: Any, leader: Any) -> None:
        """A follower gets the answer to its fetch: it appends the record, or truncates to where the logs diverge."""
        if follower == leader:
            return
        s.require(self.heeds_fetched(s, p, follower, leader))
        reply, log, replica = s.fetched_reply[p][follower], s.log[p][follower], s.replica[p][follower]
        has, high_watermark = reply.kind == "record", reply.high_watermark
        length: Any = log.length
        if self.truncation == "on-fetch":
            point, _ = self.truncation_point(s, p, follower, reply.end_epoch, reply.end)
            diverging = reply.kind == "diverging"
            length = when(diverging, minimum(point, length), length)
            high_watermark = when(diverging, minimum(length, replica.high_watermark), high_watermark)
        if self.has_epoch_cache:
            noted = self.noted_epoch(s, p, follower, reply.record.epoch, log.length)
            cut = epoch_cache.truncated(s.epoch_cache[p][follower], length, self.max_leader_epoch)
            s.epoch_cache[p][follower] = when(has, noted, cut)
        s.replica[p][follower].high_watermark = high_watermark
        s.log[p][follower] = when(has, log.appended(reply.record), log.truncated(length))
        s.fetched_reply[p][follower] = self.no_fetched_reply()

    def describe_handle_fetched(self, old: Any, new: Any, p: int, follower: Any, leader: Any) -> str:
        reply, now = old.fetched_reply[p][follower], old.replica[p][follower].epoch
        late = f", now that it follows in epoch {now}" if now != reply.asked_in else ""
        gets = f"{follower} gets what {leader} answered in epoch {reply.asked_in}{late}, {self.fetched_in_words(reply)}"
        if reply.kind == "diverging":
            return f"{gets}: it {sentences.log_in_words(old, new, p, follower)}"
        passed, heard = old.replica[p][follower].high_watermark, new.replica[p][follower].high_watermark
        did = "appends that" if reply.kind == "record" else "has nothing to append"
        return f"{gets}: it {did}" + (f", high watermark {passed} -> {heard}" if passed != heard else "")

    @action(p=any_partition, follower=broker, leader=broker, actor="follower", where=lambda m: m.fetches_late)
    def ignore_fetched(self, s: State, p: int, follower: Any, leader: Any) -> None:
        """A replica gets the answer to a fetch. It no longer waits for this answer, and ignores it."""
        if follower == leader:
            return
        s.require(s.fetched_reply[p][follower].leader == leader, ~self.heeds_fetched(s, p, follower, leader))
        s.fetched_reply[p][follower] = self.no_fetched_reply()

    def describe_ignore_fetched(self, old: Any, new: Any, p: int, follower: Any, leader: Any) -> str:
        return f"{follower} ignores what {leader} answered to a fetch: it does not wait for that any more"

    def fetched_in_words(self, reply: Any) -> str:
        """Says what the answer to a fetch contains."""
        if reply.kind == "diverging":
            return f"that their logs diverge, epoch {reply.end_epoch} ends at {reply.end}"
        found = sentences.record_in_words(reply.record) if reply.kind == "record" else "no record"
        return f"{found}, high watermark {reply.high_watermark}"

    @action(
        p=any_partition, follower=broker, leader=broker, actor="follower", where=lambda m: m.truncation != "on-fetch"
    )
    def fetch_out_of_range(self, s: State, p: int, follower: Any, leader: Any) -> None:
        """A follower fetches past the leader's log end, gets OffsetOutOfRange, and truncates to that log end."""
        if follower == leader:
            return
        end = s.log[p][leader].length
        s.require(self.may_fetch(s, p, follower, leader), s.log[p][follower].length > end)
        self.truncate_to(s, p, follower, end)

    def describe_fetch_out_of_range(self, old: Any, new: Any, p: int, follower: Any, leader: Any) -> str:
        end, own = len(old.log[p][leader]), len(old.log[p][follower])
        whom = sentences.leader_in_words(self, old, p, leader)
        past = f"asks {whom} for offset {own}, past its log end {end}: OffsetOutOfRange"
        return f"{follower} {past}; it {sentences.log_in_words(old, new, p, follower)}"

    # --- truncation -------------------------------------------------------------------------------------------------

    @action(p=any_partition, follower=broker, leader=broker, actor="follower", where=lambda m: m.replies_late)
    def ask_where_epoch_ends(self, s: State, p: int, follower: Any, leader: Any) -> None:
        """A new follower asks the leader where the epoch of its last record ends; the answer is on its way."""
        if follower == leader:
            return
        s.require(self.answers(s, p, leader, follower, self.fence_truncation), s.replica[p][follower].truncating)
        s.require(s.reply[p][follower].leader.is_none)
        epoch, end = self.end_of_epoch(s, p, leader, epoch_cache.latest_epoch(s.epoch_cache[p][follower]))
        asked_in = s.replica[p][follower].epoch
        s.reply[p][follower] = {"leader": leader, "asked_in": asked_in, "epoch": epoch, "end": end}

    def describe_ask_where_epoch_ends(self, old: Any, new: Any, p: int, follower: Any, leader: Any) -> str:
        answer, whom = new.reply[p][follower], sentences.leader_in_words(self, old, p, leader)
        said = f"epoch {answer.epoch} ends at {answer.end}" if answer.end >= 0 else "it does not know"
        return f"{follower} asks {whom} where the epoch of its last record ends; the answer is on its way: {said}"

    @action(p=any_partition, follower=broker, leader=broker, actor="follower", where=lambda m: m.has_epoch_cache)
    def truncate(self, s: State, p: int, follower: Any, leader: Any) -> None:
        """A follower learns from the leader where the epoch of its last record ends, and truncates."""
        if follower == leader:
            return
        if self.replies_late:
            s.require(self.heeds(s, p, follower, leader))
            epoch, end = s.reply[p][follower].epoch, s.reply[p][follower].end
            self.drop_reply(s, p, follower)
        else:
            epoch, end = self.end_of_epoch(s, p, leader, epoch_cache.latest_epoch(s.epoch_cache[p][follower]))
            if self.asks_where_epochs_end:
                s.require(self.answers(s, p, leader, follower, self.fence_truncation))
                s.require(s.replica[p][follower].truncating)
            else:
                s.require(self.may_fetch(s, p, follower, leader), self.diverges(s, p, follower, leader))
                s.require(not self.fetches_late)
        length, done = self.truncation_point(s, p, follower, epoch, end)
        self.truncate_to(s, p, follower, length)
        if self.asks_where_epochs_end:
            s.replica[p][follower].truncating = when(done, False, True)

    def describe_truncate(self, old: Any, new: Any, p: int, follower: Any, leader: Any) -> str:
        log = sentences.log_in_words(old, new, p, follower)
        again = self.asks_where_epochs_end and new.replica[p][follower].truncating
        asks = "; it must ask again" if again else ""
        if self.replies_late:
            reply = old.reply[p][follower]
            asked_in = f"which it asked for in epoch {reply.asked_in}: epoch {reply.epoch} ends at {reply.end}"
            return f"{follower} acts on the answer of {leader}, {asked_in}; it {log}{asks}"
        whom = sentences.leader_in_words(self, old, p, leader)
        return f"{follower} compares the epochs of its log with those of {whom} and {log}{asks}"

    def heeds(self, s: State, p: int, follower: Any, leader: Any) -> Any:
        """Whether a follower acts on a leader's answer about the end of an epoch."""
        reply, replica = s.reply[p][follower], s.replica[p][follower]
        expected = (reply.leader == leader) & self.follows(s, p, follower, leader) & replica.truncating
        return expected & (reply.asked_in == replica.epoch) if self.truncation_reply == "checked" else expected

    def drop_reply(self, s: State, p: int, follower: Any) -> None:
        s.reply[p][follower] = {"leader": none, "asked_in": -1, "epoch": -1, "end": -1}

    @action(p=any_partition, follower=broker, leader=broker, actor="follower", where=lambda m: m.replies_late)
    def ignore_reply(self, s: State, p: int, follower: Any, leader: Any) -> None:
        """A replica gets an answer about the end of an epoch that it no longer waits for, and ignores the answer."""
        if follower == leader:
            return
        s.require(s.reply[p][follower].leader == leader, self.is_up(s, follower), ~self.heeds(s, p, follower, leader))
        self.drop_reply(s, p, follower)

    def describe_ignore_reply(self, old: Any, new: Any, p: int, follower: Any, leader: Any) -> str:
        return f"{follower} ignores the answer of {leader} where an epoch ends: it does not ask that broker any more"

    @action(
        p=any_partition,
        follower=broker,
        leader=broker,
        actor="follower",
        where=lambda m: m.truncation == "on-fetch" and not m.truncate_before_high_watermark,
    )
    def raise_high_watermark_before_truncating(self, s: State, p: int, follower: Any, leader: Any) -> None:
        """A follower learns that the logs diverge. It adopts the answer's high watermark before it truncates."""
        if follower == leader:
            return
        s.require(self.may_fetch(s, p, follower, leader), self.diverges(s, p, follower, leader))
        high_watermark = minimum(s.replica[p][leader].high_watermark, s.log[p][follower].length)
        s.require(s.replica[p][follower].high_watermark != high_watermark)
        s.replica[p][follower].high_watermark = high_watermark

    def describe_raise_high_watermark_before_truncating(
        self, old: Any, new: Any, p: int, follower: Any, leader: Any
    ) -> str:
        raised = becomes(old.replica[p][follower].high_watermark, new.replica[p][follower].high_watermark)
        answer = f"an answer of {sentences.leader_in_words(self, old, p, leader)} that also says that its log diverges"
        return f"{follower} takes a high watermark from {answer}: its own {raised}"
