"""ReplicaFetcherThread: a follower asks its leader for records, and handles the answer.

A thread has one request in flight. The leader reads its log for the request (fetchRecords) and notes the follower's
fetch offset. The answer has the point where the logs diverge, or else the next record (if any) and the high watermark
from before the fetch. The follower applies the answer if the follower still has the leader, the log end and the epoch
with which it sent the fetch (see `fetch_answer`).

With `fetch = one-step`, the answer is handled in the step of the fetch, so no answer is late. In the model, requests
are never late. In Kafka, a late request has the same effect as an immediate one. The reason is that, until the leader
learns of a later epoch, it cannot notice what the follower has done since the follower sent the request.

Left out: fetches of several partitions, sessions, back-off, fetches that wait for records.

Source: AbstractFetcherThread.scala, ReplicaFetcherThread.scala, Partition.fetchRecords of Kafka 4.3; KIP-101, KIP-279,
KIP-320, KIP-595 (truncation on fetch).
"""

from __future__ import annotations

from typing import Any, ClassVar

from isrcheck.model.designs.kraft.partition import Leading, Partition
from isrcheck.model.designs.kraft.state import KraftState
from isrcheck.model.designs.kraft.unified_log import any_end, any_partition
from isrcheck.model.language import action, becomes, broker, enum, inert, minimum, number, per, record, setting, when
from isrcheck.model.language.setting_constraints import SettingConstraints


class ReplicaFetcher(Partition):
    """Fetches in one step or in two."""

    abstract = True

    fetch = setting(
        "two-steps",
        choices=("two-steps", "one-step"),
        meaning="two-steps: time passes between the leader's read for a fetch and the follower's handling of the "
        "answer; one-step: both happen in one step",
        leaves_out={"one-step": "answers to fetches that come late"},
    )
    fetch_answer = setting(
        "checked",
        choices=("checked", "appends-checked", "unchecked"),
        meaning="with fetch = two-steps: how a follower treats the answer to a fetch of an earlier epoch. checked: it "
        "ignores the answer (KAFKA-18991); appends-checked: it ignores records, but where logs diverge its thread "
        "compares the epoch, releases its lock, and truncates in a later step, in any epoch; unchecked: it applies "
        "the answer",
        leaves_out={"checked": "truncations by an answer whose epoch was compared before"},
    )

    fetch_fencing = setting(
        True,
        meaning="a leader answers only followers in its own leader epoch (KIP-320); if false, it answers any follower "
        "that takes it for the leader",
    )
    diverging_fetch = setting(
        "passed-over",
        choices=("passed-over", "noted"),
        meaning="whether a leader notes the fetch offset of a follower whose log diverges from its own. passed-over: "
        "no (KAFKA-13141); noted: yes",
    )
    note_fetch = setting(
        "at-once",
        choices=("at-once", "apart", "apart-checked"),
        meaning="when a leader notes the fetch offset of a follower. at-once: while it reads for the fetch; apart: "
        "later, since it releases its lock in between; apart-checked: later, and only if its epoch is still the same; "
        "it checks this under the lock, both when it notes the offset and when it asks for a larger ISR",
        leaves_out={"at-once": "fetches that a leader notes later than it reads for them"},
    )
    late_notes = setting(
        1,
        at_least=1,
        at_most=4,
        meaning="unless note_fetch = at-once: how many fetch offsets a leader notes later than it reads for the fetch",
        bound=lambda m, s: s.late_notes == m.late_notes if m.note_fetch != "at-once" else False,
    )

    former_life = setting(
        "refused",
        choices=("refused", "noted"),
        meaning="with note_fetch: how a leader treats a fetch of a follower that has restarted since. refused: the "
        "fetch counts for the broker epoch in which it was sent, and the leader refuses it once metadata tells of the "
        "restart; noted: the fetch counts for the present broker epoch (KAFKA-15221)",
    )

    setting_constraints: ClassVar[SettingConstraints] = (
        inert("fetch_answer", unless=lambda m: m.fetch == "two-steps", words="it needs fetch = two-steps"),
        inert(
            "former_life",
            unless=lambda m: m.note_fetch != "at-once" and m.restarts > 0,
            words="it needs note_fetch other than at-once, and a crash or shutdown",
        ),
        inert("late_notes", unless=lambda m: m.note_fetch != "at-once", words="it needs note_fetch other than at-once"),
    )

    def holds(self) -> dict[str, Any]:
        found: dict[str, Any] = {}
        if self.fetch == "two-steps":
            kinds = ("none", "nothing", "record", "diverging", *(("truncating",) if self.truncates_later else ()))
            answer = record(
                kind=enum(*kinds),
                epoch=self.any_epoch(),
                offset=any_end(self),
                record=self.any_record(),
                high_watermark=any_end(self),
                end_epoch=self.any_epoch(-1),
                end=any_end(self),
            )
            found["answer"] = per(any_partition(self), per(broker, per(broker, answer)))
        if self.note_fetch != "at-once":
            stage, end = enum("none", "read", "orphan"), any_end(self)
            fields = {"stage": stage, "epoch": self.any_epoch(), "offset": end, "leaders_end": end}
            if self.restarts:
                fields["broker_epoch"] = number(0, self.restarts)
            found["unnoted"] = per(any_partition(self), per(broker, per(broker, record(**fields))))
            found["late_notes"] = number(0, self.late_notes)
        return found

    @property
    def truncates_later(self) -> bool:
        """Whether a fetcher thread releases its lock between comparing the epoch and truncating.

        In between, the answer has the kind `truncating`. The thread runs on even if it loses the partition, like a
        Kafka thread that also fetches another partition. In its next step it truncates the log if the broker follows
        the same leader at that time (for example, because the partition was added to the thread again).
        """
        return bool(self.fetch == "two-steps" and self.fetch_answer == "appends-checked")

    @property
    def nothing_read(self) -> dict[str, Any]:
        nothing = {"stage": "none", "epoch": 0, "offset": 0, "leaders_end": 0}
        return {**nothing, **({"broker_epoch": 0} if self.restarts else {})}

    def no_answer(self) -> dict[str, Any]:
        nothing = {"kind": "none", "epoch": 0, "offset": 0, "record": {"id": 0, "epoch": 0}}
        return {**nothing, "high_watermark": 0, "end_epoch": -1, "end": 0}

    def drop_answers(self, s: KraftState, p: int, b: Any) -> None:
        """Drops the answers to a broker that lost the partition, and the answers from this broker (`forget_answer`)."""
        for other in self.brokers:
            if other == b:
                continue
            if self.fetch == "two-steps":
                s.answer[p][b][other] = self.no_answer()
                self.forget_answer(s, p, other, b, True)

    def forget_answer(self, s: KraftState, p: int, follower: Any, leader: Any, where: Any) -> None:
        """Drops an answer if a condition holds, unless the follower has already compared the answer's epoch."""
        answer = s.answer[p][follower][leader]
        if self.truncates_later:
            where = where & (answer.kind != "truncating")
        s.answer[p][follower][leader] = when(where, self.no_answer(), answer)

    def drop_reads(self, s: KraftState, p: int, b: Any) -> None:
        """Drops the reads whose offsets a stopping leader has not noted. Other leaders' reads for this broker stay."""
        if self.note_fetch != "at-once":
            for other in self.brokers:
                if other != b:
                    s.unnoted[p][b][other] = self.nothing_read

    def restart_fetcher(self, s: KraftState, p: int, b: Any, where: Any) -> None:
        """If a condition holds, takes a partition from a broker's fetcher, adds it again, and drops earlier answers.

        With `fetch_answer = unchecked`, an earlier answer stays, and may be taken for the answer to a later request.
        """
        if self.fetch == "two-steps" and self.fetch_answer != "unchecked":
            for leader in self.brokers:
                if leader != b:
                    self.forget_answer(s, p, b, leader, where)

    def orphan_reads(self, s: KraftState, p: int, b: Any, registration: Any = None) -> None:
        """Marks a leader's read for a follower as an orphan if the leader drops its Replica object for the follower.

        The offset of an orphan is never noted. makeFollower drops the Replica objects of all followers (`registration`
        is None). updateAssignmentAndIsr drops those of the brokers that are not replicas in the registration.
        """
        if self.note_fetch != "at-once":
            for follower in self.brokers:
                read = s.unnoted[p][b][follower]
                dropped = True if registration is None else ~self.is_replica(registration, follower)
                read.stage = when((read.stage == "read") & dropped, "orphan", read.stage)

    # --- the leader reads -------------------------------------------------------------------------------------------

    def may_fetch(self, s: KraftState, p: int, follower: Any, leader: Any) -> Any:
        """Whether a leader answers a replica that follows it. With `fetch_fencing`, the epochs must agree (KIP-320)."""
        found = self.leads(s, p, leader) & self.follows(s, p, follower, leader)
        found = found & self.is_replica(self.image_of(s, leader).partition[p], follower)
        return found & (s.replica[p][leader].epoch == s.replica[p][follower].epoch) if self.fetch_fencing else found

    def read_for(self, s: KraftState, p: int, follower: Any, leader: Any) -> dict[str, Any]:
        """fetchRecords: a leader's answer to a follower: where their logs diverge, or a record, or nothing.

        The logs diverge if, at the leader, the follower's latest epoch ends before the fetch offset. They also diverge
        if the leader does not know that epoch but knows a smaller one (KAFKA-10554).
        """
        log, offset = s.log[p][leader], s.log[p][follower].length
        last = self.latest_epoch(s, p, follower)
        epoch, end = self.end_for(s, p, leader, last)
        diverges = (last >= 0) & ((end < offset) | (epoch < last))
        behind = offset < log.length
        nothing, kind = self.no_answer(), when(diverges, "diverging", when(behind, "record", "nothing"))
        has = ~diverges & behind
        return {
            "kind": kind,
            "epoch": s.replica[p][follower].epoch,
            "offset": offset,
            "record": when(has, log.at(offset), nothing["record"]),
            "high_watermark": when(diverges, 0, s.replica[p][leader].high_watermark),
            "end_epoch": when(diverges, epoch, -1),
            "end": when(diverges, end, 0),
        }

    @property
    def may_be_out_of_range(self) -> bool:
        return bool(self.fetch == "two-steps" or not self.fetch_fencing or self.log_moves)

    def is_in_range(self, s: KraftState, p: int, follower: Any, leader: Any) -> Any:
        """Whether the leader knows the follower's latest epoch or a later epoch; true if the follower has none.

        Otherwise the leader answers OFFSET_OUT_OF_RANGE. A follower gets this error only if it has applied an answer of
        another epoch, or if the leader has forgotten epochs. If neither is possible, the result is True without a
        check. A wrong True does not stay hidden, since the search reports the epoch's end -1 as outside the domain.
        """
        if not self.may_be_out_of_range:
            return True
        last = self.latest_epoch(s, p, follower)
        return (last < 0) | (self.end_for(s, p, leader, last)[1] >= 0)

    def noted(
        self,
        s: KraftState,
        p: int,
        leader: Any,
        follower: Any,
        offset: Any,
        where: Any = True,
        read: Any = None,
    ) -> Leading:
        """updateFollowerFetchState: a leader notes a fetch, and may ask for a larger ISR and raise its high watermark.

        `read` is given if the leader has read for this fetch in an earlier step. If the read is an orphan
        (`orphan_reads`), the leader does not note the offset, but may ask for an ISR with the follower. So
        a follower may join because of a log end that it had earlier. Returns the leader's state after the fetch.
        """
        x = self.leading(s, p, leader)
        known, leaders_end, life = where, x.log.length, None
        if read is not None:
            known, leaders_end = when(read.stage == "orphan", False, where), read.leaders_end
            life = read.broker_epoch if self.checks_former_life else None
        moved = known & (x.followers.ends[follower] != offset)
        new = self.after_fetch(s, x.followers, follower, offset, leaders_end, life)
        x = x._replace(followers=self.chosen_followers(known, new, x.followers))
        x = self.expanded(s, p, leader, x, follower, offset, where)
        return self.raised(leader, x, moved)

    @property
    def checks_former_life(self) -> bool:
        """Whether a leader compares the broker epoch of a fetch that it notes later than it has read for it."""
        return bool(self.restarts and self.former_life == "refused")

    def is_news(self, s: KraftState, p: int, follower: Any, leader: Any, read: dict[str, Any], x: Leading) -> Any:
        """Whether a fetch changes the follower or what the leader knows. The model leaves out all other fetches."""
        old, before = s.replica[p][leader], self.followers_of(s, p, leader)
        has_news = (read["kind"] != "nothing") | (
            minimum(read["high_watermark"], s.log[p][follower].length) != s.replica[p][follower].high_watermark
        )
        learnt = (x.followers.ends[follower] != before.ends[follower]) | (x.pending != old.pending)
        learnt = learnt | (x.followers.caught_up != before.caught_up) | (x.high_watermark != old.high_watermark)
        if self.restarts:
            learnt = learnt | (x.followers.broker_epochs[follower] != before.broker_epochs[follower])
        return has_news | learnt

    @action(p=any_partition, follower=broker, leader=broker, actor="leader")
    def fetch_records(self, s: KraftState, p: int, follower: Any, leader: Any) -> None:
        """fetchRecords: the leader handles a follower's fetch, and the answer is on its way."""
        if follower == leader:
            return
        s.require(self.may_fetch(s, p, follower, leader), self.is_in_range(s, p, follower, leader))
        read = self.read_for(s, p, follower, leader)
        diverges = read["kind"] == "diverging"
        notes = True if self.diverging_fetch == "noted" else ~diverges
        x = self.noted(s, p, leader, follower, read["offset"], notes)
        s.require(diverges | self.is_news(s, p, follower, leader, read, x))
        if self.fetch == "two-steps":
            s.require(s.answer[p][follower][leader].kind == "none")
            s.answer[p][follower][leader] = read
        else:
            self.take_answer(s, p, follower, read)
        self.store(s, p, leader, x, notes)

    @action(p=any_partition, follower=broker, leader=broker, actor="follower")
    def fetch_offset_and_truncate(self, s: KraftState, p: int, follower: Any, leader: Any) -> None:
        """fetchOffsetAndTruncate: a follower that gets OFFSET_OUT_OF_RANGE truncates to the leader's log end.

        If the leader's log end is not below the follower's, the follower fetches from the same offset again.
        """
        if follower == leader or not self.may_be_out_of_range:
            return
        length, own = s.log[p][leader].length, s.log[p][follower].length
        s.require(self.may_fetch(s, p, follower, leader), ~self.is_in_range(s, p, follower, leader), length < own)
        if self.truncates_later:
            s.require(s.answer[p][follower][leader].kind != "truncating")
        self.truncate_log(s, p, follower, length)
        s.replica[p][follower].high_watermark = minimum(s.replica[p][follower].high_watermark, length)

    def describe_fetch_offset_and_truncate(self, old: Any, new: Any, p: int, follower: Any, leader: Any) -> str:
        asks = f"{follower} asks {leader}, which knows no epoch as late as that of its last record"
        return f"{asks}: it {self.taken_in_words(old, new, p, follower)}"

    # --- a fetch that is noted later than it is read for ------------------------------------------------------------

    @action(p=any_partition, follower=broker, leader=broker, actor="leader", environment=True)
    def read_records(self, s: KraftState, p: int, follower: Any, leader: Any) -> None:
        """fetchRecords: the leader reads for a fetch and releases its lock; it has not noted the fetch offset yet.

        The answer to the follower is the same as for any other fetch, and is left out here.
        """
        if follower == leader or self.note_fetch == "at-once":
            return
        unnoted = s.unnoted[p][leader][follower]
        s.require(s.late_notes < self.late_notes, self.may_fetch(s, p, follower, leader))
        s.require(self.is_in_range(s, p, follower, leader))
        s.require(self.read_for(s, p, follower, leader)["kind"] != "diverging", unnoted.stage == "none")
        if self.truncates_later:
            s.require(s.answer[p][follower][leader].kind != "truncating")
        s.late_notes += 1
        unnoted.stage = "read"
        unnoted.epoch = s.replica[p][leader].epoch
        unnoted.offset = s.log[p][follower].length
        unnoted.leaders_end = s.log[p][leader].length
        if self.restarts:
            unnoted.broker_epoch = s.broker_epoch[follower]

    def describe_read_records(self, old: Any, new: Any, p: int, follower: Any, leader: Any) -> str:
        offset = new.unnoted[p][leader][follower].offset
        asks = f"{follower} asks {self.who_leads(old, p, leader)} for offset {offset}"
        return f"{asks}: {leader} reads for it, and notes nothing yet"

    @action(p=any_partition, follower=broker, leader=broker, actor="leader")
    def update_follower_fetch_state(self, s: KraftState, p: int, follower: Any, leader: Any) -> None:
        """updateFollowerFetchState: the leader notes the offset of a fetch for which it has read earlier."""
        if follower == leader or self.note_fetch == "at-once":
            return
        read = s.unnoted[p][leader][follower]
        s.require(self.runs(s, leader), read.stage != "none")
        where: Any = self.leads(s, p, leader)
        if self.note_fetch == "apart-checked":
            where = where & (s.replica[p][leader].epoch == read.epoch)
        if self.checks_former_life:
            image = self.image_of(s, leader)
            where = where & ~(image.live.has(follower) & (image.broker_epoch[follower] > read.broker_epoch))
        x = self.noted(s, p, leader, follower, read.offset, where, read)
        s.unnoted[p][leader][follower] = self.nothing_read
        self.store(s, p, leader, x, where)

    def describe_update_follower_fetch_state(self, old: Any, new: Any, p: int, follower: Any, leader: Any) -> str:
        read, now = old.unnoted[p][leader][follower], old.replica[p][leader].epoch
        late = f", though it leads in epoch {now} by now" if now != read.epoch else ""
        if self.restarts and read.broker_epoch != old.broker_epoch[follower]:
            late += f", before {follower} started anew"
        before, after = old.replica[p][leader].pending, new.replica[p][leader].pending
        wants = f", and asks the controller for ISR {after}" if after != before else ""
        known = new.known_end[p][leader][follower]
        did = f"notes log end {known} of {follower}, for which it read in epoch {read.epoch}{late}"
        if old.known_end[p][leader][follower] == known:
            did = f"has read for {follower} at offset {read.offset} in epoch {read.epoch}{late}, and notes nothing new"
        return f"{leader} {did}{wants}{self.commit_in_words(old, new, p, leader)}"

    def describe_fetch_records(self, old: Any, new: Any, p: int, follower: Any, leader: Any) -> str:
        offset, known = len(old.log[p][follower]), new.known_end[p][leader][follower]
        asks = f"{follower} asks {self.who_leads(old, p, leader)} for offset {offset}"
        if self.fetch == "two-steps":
            found = self.answer_in_words(new.answer[p][follower][leader])
        else:
            found = self.taken_in_words(old, new, p, follower)
        heard = f"; {leader} notes its log end {known}" if old.known_end[p][leader][follower] != known else ""
        before, after = old.replica[p][leader].pending, new.replica[p][leader].pending
        wants = f", and asks the controller for ISR {after}" if after != before else ""
        return f"{asks}: {found}{heard}{wants}{self.commit_in_words(old, new, p, leader)}"

    # --- the follower takes the answer ------------------------------------------------------------------------------

    def take_answer(self, s: KraftState, p: int, follower: Any, answer: dict[str, Any], where: Any = True) -> None:
        """processFetchRequest, if a condition holds: appends the record, or truncates where the logs diverge.

        The follower's high watermark becomes the leader's, but at most the follower's log end. So it may fall. Where
        the logs diverge, the follower keeps its own high watermark, but at most its log end (KAFKA-14704).
        """
        own, replica = s.log[p][follower], s.replica[p][follower]
        has, diverges = (answer["kind"] == "record") & where, self.says_diverging(answer["kind"]) & where
        point = self.truncation_point(s, p, follower, answer["end_epoch"], answer["end"])
        length = when(diverges, minimum(point, own.length), own.length)
        cut, cache = own.truncated(length), s.epoch_cache[p][follower]
        noted = self.epoch_noted(cache, answer["record"].epoch, own.length)
        s.log[p][follower] = when(has, own.appended(answer["record"]), cut)
        s.epoch_cache[p][follower] = when(has, noted, when(diverges, self.epochs_below(cache, length), cache))
        reported = minimum(answer["high_watermark"], length + when(has, 1, 0))
        kept = minimum(replica.high_watermark, length)
        replica.high_watermark = when(where, when(diverges, kept, reported), replica.high_watermark)

    def says_diverging(self, kind: Any) -> Any:
        diverges = kind == "diverging"
        return diverges | (kind == "truncating") if self.truncates_later else diverges

    @action(p=any_partition, follower=broker, leader=broker, actor="follower")
    def process_fetch_request(self, s: KraftState, p: int, follower: Any, leader: Any) -> None:
        """processFetchRequest: the answer reaches the follower, which ignores an answer that it no longer waits for.

        With `truncates_later`, the follower truncates in two steps. The first step compares the epoch of the answer.
        The second step (truncateOnFetchResponse) checks only whether the broker follows this leader.
        """
        if follower == leader or self.fetch == "one-step":
            return
        answer = s.answer[p][follower][leader]
        s.require(answer.kind != "none", self.runs(s, follower))
        follows = self.follows(s, p, follower, leader)
        takes = follows & (answer.offset == s.log[p][follower].length)
        if self.fetch_answer != "unchecked":
            takes = takes & (answer.epoch == s.replica[p][follower].epoch)
        said = {name: getattr(answer, name) for name in self.no_answer()}
        left = self.no_answer()
        if self.truncates_later:
            compared = takes & (answer.kind == "diverging")
            takes = when(answer.kind == "truncating", follows, takes & ~compared)
            left = {name: when(compared, said[name], left[name]) for name in left}
            left["kind"] = when(compared, "truncating", "none")
        self.take_answer(s, p, follower, said, takes)
        s.answer[p][follower][leader] = left

    def describe_process_fetch_request(self, old: Any, new: Any, p: int, follower: Any, leader: Any) -> str:
        answer, replica = old.answer[p][follower][leader], old.replica[p][follower]
        late = f" (it follows in epoch {replica.epoch} by now)" if answer.epoch != replica.epoch else ""
        of = f"the answer of {leader} of epoch {answer.epoch}, {self.answer_in_words(answer)}"
        follows = replica.leader == leader and replica.role == "follower"
        if answer.kind == "truncating":
            said = f"the thread of {follower} goes on with {of}"
            if not follows:
                return f"{said}, and has the partition no more"
            return f"{said}{late}: it compares no epoch again, and {self.taken_in_words(old, new, p, follower)}"
        said = f"{follower} gets {of}"
        if not follows or answer.offset != len(old.log[p][follower]):
            return f"{said}, which it does not wait for any more"
        if new.answer[p][follower][leader].kind == "truncating":
            return f"{said}; it has asked in this epoch. Its thread is to truncate, and lets go of its lock first"
        return f"{said}{late}: {self.taken_in_words(old, new, p, follower)}"

    # --- sentences --------------------------------------------------------------------------------------------------

    def answer_in_words(self, answer: Any) -> str:
        if answer.kind in ("diverging", "truncating"):
            return f"their logs diverge, epoch {answer.end_epoch} ends at {answer.end}"
        found = f"record {answer.record.id} of epoch {answer.record.epoch}" if answer.kind == "record" else "no record"
        return f"{found}, high watermark {answer.high_watermark}"

    def taken_in_words(self, old: Any, new: Any, p: int, follower: Any) -> str:
        """Words for what an answer does to a follower's log and high watermark."""
        before, after = old.log[p][follower], new.log[p][follower]
        passed, now = old.replica[p][follower].high_watermark, new.replica[p][follower].high_watermark
        if len(after) > len(before):
            did = f"appends record {after[-1].id} of epoch {after[-1].epoch}"
        elif len(after) < len(before):
            lost = " and ".join(f"record {x.id} of epoch {x.epoch}" for x in before[len(after) :])
            did = f"truncates {lost}, log end {becomes(len(before), len(after))}"
        else:
            did = f"keeps its log, log end {len(after)}"
        return did + (f", high watermark {passed} -> {now}" if passed != now else "")
