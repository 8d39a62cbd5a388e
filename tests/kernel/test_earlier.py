"""What earlier searches found out about large spaces: it saves time, and changes no answer."""

from __future__ import annotations

import sys
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from isrcheck.checker.engines.explicit import search_cache
from isrcheck.checker.engines.explicit.large_kernel import Arranged
from isrcheck.checker.engines.explicit.search import search
from isrcheck.checker.engines.explicit.small_search import SmallLevels
from isrcheck.checker.kernel.code_cache import Folder
from isrcheck.checker.results.exploration import Exploration, Limits
from isrcheck.model.semantics.transition_system import TransitionSystem
from tests.kernel.toys import grid

SMALL = 60


@pytest.fixture
def folder(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Folder:
    """The cache folder. A space of more than `SMALL` states is large, and the loops count as compiled."""
    monkeypatch.setenv("ISRCHECK_CACHE", str(tmp_path))
    monkeypatch.setattr(sys.modules[search.__module__], "LARGEST", SMALL)
    monkeypatch.setattr(search_cache, "LARGEST", SMALL)
    monkeypatch.setattr(search_cache, "_loaded", True)
    return Folder(tmp_path)


@pytest.fixture
def begun(monkeypatch: pytest.MonkeyPatch) -> list[Any]:
    """The layouts with which kernels for large spaces were begun: None if the layout was still to be chosen."""
    seen, begin = list[Any](), Arranged.begin

    def noted(large: Arranged, levels: Any, layout: Any = None) -> None:
        seen.append(layout)
        begin(large, levels, layout)

    monkeypatch.setattr(Arranged, "begin", noted)
    return seen


def found(toy: TransitionSystem, limits: Limits = Limits(), keep_going: bool = True) -> Exploration:
    answer = search(toy, keep_going=keep_going, deadlock=False, limits=limits, report=None)[0]
    return replace(answer, seconds={}, peak_store_bytes=0)


def test_the_second_search_of_a_large_space_begins_with_the_layout_of_the_first(
    folder: Folder, begun: list[Any]
) -> None:
    toy = grid([10, 10])
    first = found(toy)
    assert begun == [None]
    assert found(toy) == first
    assert begun[1] is not None
    begun.clear()
    found(toy, keep_going=False)  # another question
    assert begun == [None]


def test_a_small_limit_on_states_asks_for_nothing(folder: Folder, begun: list[Any]) -> None:
    toy = grid([10, 10])
    found(toy)
    begun.clear()
    found(toy, Limits(states=SMALL // 2))
    assert begun == []


def test_a_space_that_is_no_longer_large_is_forgotten(folder: Folder, begun: list[Any]) -> None:
    large = grid([10, 10])
    found(large)
    small = replace(large, transitions=large.transitions[:1] * len(large.transitions))
    begun.clear()
    levels = [search(small, keep_going=True, deadlock=False, limits=Limits(), report=None)[1] for _ in range(2)]
    assert [isinstance(each, SmallLevels) for each in levels] == [False, True]
    assert len(begun) == 2


def test_a_space_of_many_levels_and_one_of_other_code_begin_anew(
    folder: Folder, begun: list[Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    toy = grid([10, 10])
    with monkeypatch.context() as patched:
        patched.setattr(search_cache, "MOST_LEVELS", 18)  # there are 19
        found(toy)
    found(toy)
    assert begun == [None, None]
    monkeypatch.setattr(search_cache, "_code", lambda: "another version")
    found(toy)
    found(toy)
    assert begun[2] is None
    assert begun[3] is not None
