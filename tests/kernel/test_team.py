"""Threads that work beside the main thread."""

from __future__ import annotations

import threading
from types import SimpleNamespace
from typing import Any

import pytest

from isrcheck.checker.engines.local.team import Team

MAIN = threading.main_thread()


@pytest.fixture
def where(monkeypatch: pytest.MonkeyPatch) -> list[threading.Thread]:
    """The threads of the calls, in a process that has called nothing yet."""
    monkeypatch.setattr(Team, "_called", set())
    return []


def test_what_may_wait_for_the_compiler_is_first_called_in_the_main_thread(where: list[threading.Thread]) -> None:
    """Ctrl-C would wait for other threads, and these for the compiler."""
    team = Team(2)
    hands: list[Any] = [SimpleNamespace(number=n) for n in range(3)]

    def part(worker: Any) -> int:
        where.append(threading.current_thread())
        return int(worker.number)

    assert team.together(part, hands, lambda: None) == [0]
    assert where == [MAIN]
    assert team.together(part, hands, lambda: None) == [0, 1, 2]
    assert where.count(MAIN) == 2

    def one(number: int) -> int:
        where.append(threading.current_thread())
        return number * number

    where.clear()
    team.each(one, range(4))
    assert where.count(MAIN) == 1
    assert len(where) == 4

    def another(number: int) -> int:
        return one(number)

    where.clear()
    assert list(team.mapped(another, range(9))) == [n * n for n in range(9)]
    assert (where[0], where.count(MAIN), len(where)) == (MAIN, 1, 9)
    where.clear()
    assert list(Team(2).mapped(another, range(9))) == [n * n for n in range(9)]  # known to the whole process
    assert where.count(MAIN) == 0
