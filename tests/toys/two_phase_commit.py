"""Two-phase commit (Gray and Lamport, Consensus on Transaction Commit): resource managers are the brokers here."""

from __future__ import annotations

from typing import Any

from isrcheck.model.language import (
    Model,
    action,
    broker,
    enum,
    every,
    flag,
    goal,
    invariant,
    per,
    set_of,
    setting,
    some,
)


class TwoPhaseCommit(Model):
    managers = setting(3, at_least=1, at_most=6, counts=broker, meaning="resource managers")
    invariants = ("consistent",)

    def variables(self) -> dict[str, Any]:
        return {
            "manager": per(broker, enum("working", "prepared", "committed", "aborted")),
            "coordinator": enum("init", "committed", "aborted"),
            "known_prepared": set_of(broker),
            "sent_prepared": set_of(broker),
            "sent_commit": flag,
            "sent_abort": flag,
        }

    @action(manager=broker, actor="coordinator")
    def receive_prepared(self, s: Any, manager: Any) -> None:
        """The coordinator learns that a manager is prepared."""
        s.require(s.coordinator == "init", s.sent_prepared.has(manager))
        s.known_prepared |= {manager}

    @action(actor="coordinator")
    def commit(self, s: Any) -> None:
        """The coordinator commits once every manager is prepared."""
        s.require(s.coordinator == "init", s.known_prepared == set(self.brokers))
        s.coordinator = "committed"
        s.sent_commit = True

    @action(actor="coordinator", environment=True)
    def abort(self, s: Any) -> None:
        """The coordinator aborts."""
        s.require(s.coordinator == "init")
        s.coordinator = "aborted"
        s.sent_abort = True

    @action(manager=broker, actor="manager")
    def prepare(self, s: Any, manager: Any) -> None:
        """A manager prepares and says so."""
        s.require(s.manager[manager] == "working")
        s.manager[manager] = "prepared"
        s.sent_prepared |= {manager}

    @action(manager=broker, actor="manager", environment=True)
    def choose_to_abort(self, s: Any, manager: Any) -> None:
        """A manager that is not prepared aborts."""
        s.require(s.manager[manager] == "working")
        s.manager[manager] = "aborted"

    @action(manager=broker, actor="manager")
    def receive_commit(self, s: Any, manager: Any) -> None:
        """A manager hears of the commit."""
        s.require(s.sent_commit)
        s.manager[manager] = "committed"

    @action(manager=broker, actor="manager")
    def receive_abort(self, s: Any, manager: Any) -> None:
        """A manager hears of the abort."""
        s.require(s.sent_abort)
        s.manager[manager] = "aborted"

    @goal
    def everybody_commits(self, s: Any) -> Any:
        """All managers are committed."""
        return every(s.manager[m] == "committed" for m in self.brokers)

    @invariant
    def consistent(self, s: Any) -> Any:
        """No manager is committed while another is aborted."""
        committed = some(s.manager[m] == "committed" for m in self.brokers)
        return ~(committed & some(s.manager[m] == "aborted" for m in self.brokers))
