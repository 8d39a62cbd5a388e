"""Conditions of a model about all numbers below a bound, in every engine."""

from __future__ import annotations

from typing import Any

import pytest

from isrcheck import check
from isrcheck.model.language import Model, action, below, for_all, invariant, number, one_past_last, sequence, setting


class Searching(Model):
    """A number goes up; what is found below it is kept: one past 0 or past 2, whichever is the greatest below it."""

    invariants = ("is-found",)
    top = setting(4, at_least=1, at_most=9, meaning="how high", bound=lambda m, s: s.n == m.top)

    def variables(self) -> dict[str, Any]:
        return {"n": number(0, self.top), "found": number(0, self.top), "log": sequence(number(0, 1), self.top)}

    @action(actor="hand")
    def climb(self, s: Any) -> None:
        """One up."""
        s.require(s.n < self.top)
        s.n += 1

    @action(actor="hand")
    def search(self, s: Any) -> None:
        """Keeps what is found."""
        s.found = one_past_last(s.n, lambda i: (i == 0) | (i == 2))

    @invariant
    def is_found(self, s: Any) -> Any:
        """What is found is none of the numbers below the bound but 0, 1 and 3."""
        return for_all(lambda i: s.found != i, where=lambda i: (i == 2) | (i > 3), i=below(self.top + 1))


class SearchingTooFar(Searching):
    """It looks into a log that is empty."""

    @action(actor="hand")
    def search(self, s: Any) -> None:
        """Keeps what is found."""
        s.found = one_past_last(s.n, lambda i: s.log.at(i) == 1)


@pytest.mark.parametrize("engine", ["local", "reference"])
def test_a_search_finds_the_same_in_every_engine(engine: str) -> None:
    # At 0 nothing is found, at 1 and 2 one past 0, at 3 and 4 one past 2; what was found before may be kept.
    found = check(Searching, engine=engine)
    assert (found.verdict, found.distinct) == ("holds", 1 + 2 + 2 + 3 + 3)


@pytest.mark.parametrize("engine", ["local", "reference"])
def test_a_search_means_something_where_every_number_below_its_limit_does(engine: str) -> None:
    found = check(SearchingTooFar, engine=engine)
    assert found.evaluation is not None
    assert found.exit_code == 75


def test_on_plain_numbers_it_is_a_loop() -> None:
    assert [one_past_last(limit, lambda i: i in (0, 2)) for limit in range(5)] == [0, 1, 1, 3, 3]
    assert list(below(3)) == [0, 1, 2]
