"""Threads that work beside the main thread."""

from __future__ import annotations

import threading
import time
from itertools import islice
from types import SimpleNamespace
from typing import Any

import pytest

from isrcheck.checker.engines.explicit.workers import Team

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
    assert where[0] == MAIN
    assert len(where) == 4

    def another(number: int) -> int:
        meeting.wait()
        return one(number)

    meeting = threading.Barrier(1)
    where.clear()
    assert list(islice(team.mapped(another, range(9)), 1)) == [0]
    assert where == [MAIN]
    meeting = threading.Barrier(3)  # all three threads must come
    where.clear()
    assert list(Team(2).mapped(another, range(9))) == [n * n for n in range(9)]  # known to the whole process
    assert len({*where}) == 3
    assert where.count(MAIN) == 3


@pytest.mark.parametrize("ahead", [1, 4])
def test_results_are_computed_only_a_little_ahead(ahead: int) -> None:
    team, begun = Team(2), list[int]()

    def one(number: int) -> int:
        begun.append(number)
        return number

    team.each(one, [-1])
    begun.clear()
    for result in team.mapped(one, range(50), ahead):
        assert result in begun
        assert max(begun) < result + 3 * ahead
    assert sorted(begun) == [*range(50)]
    team.dismiss()


@pytest.mark.parametrize("where", ["main", "other"])
def test_an_exception_in_any_thread_ends_all(where: str) -> None:
    team, begun = Team(1), list[int]()
    team.each(lambda number: None, [0])

    def one(number: int) -> int:
        begun.append(number)
        time.sleep(0.002)
        if number > 3 and (threading.current_thread() is MAIN) == (where == "main"):
            raise ValueError
        return number

    with pytest.raises(ValueError):
        list(team.mapped(one, range(200), 200))
    assert len(begun) < 20
    count = len(begun)
    time.sleep(0.01)
    assert len(begun) == count, "somebody went on"
    team.dismiss()


def test_a_function_may_raise_what_an_empty_queue_raises() -> None:
    team = Team(1)
    with pytest.raises(IndexError, match="mine"):
        team.each(lambda number: _raise(IndexError("mine")), range(40))
    team.dismiss()


def _raise(error: Exception) -> None:
    raise error


def test_nothing_to_call_is_no_first_call(where: list[threading.Thread]) -> None:
    team = Team(1)

    def one(number: int) -> None:
        where.append(threading.current_thread())

    team.each(one, [])
    assert list(islice(team.mapped(one, range(2)), 1)) == [None]
    assert where == [MAIN]
    team.dismiss()
