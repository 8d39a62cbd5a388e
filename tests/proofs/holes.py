"""Models that are violated only beyond small bounds, each with a proof that a faulty proof mechanism would accept."""

from __future__ import annotations

from typing import Any

from isrcheck.model.language import (
    Model,
    action,
    below,
    flag,
    for_all,
    implies,
    initial,
    invariant,
    minimum,
    number,
    one_past_last,
    setting,
    when,
)
from isrcheck.model.language.proofs import Proof, lemma, target
from isrcheck.model.published.kip_320 import Kip320


def up_to_top(model: Any) -> Any:
    return number(0, model.top)


class Counter(Model):
    """A number that goes up to its bound; what follows adds to it."""

    abstract = True
    top = setting(2, at_least=1, at_most=9, meaning="how high", bound=lambda m, s: s.n == m.top)

    def variables(self) -> dict[str, Any]:
        return {"n": number(0, self.top), "bad": flag}

    @action(actor="hand")
    def climb(self, s: Any) -> None:
        """One up."""
        s.require(s.n < self.top)
        s.n += 1

    @invariant
    def fine(self, s: Any) -> Any:
        """Nothing bad happened."""
        return ~s.bad


class CounterProof(Proof):
    """That nothing bad happens is kept by every step, it says."""

    of = Counter
    invariants = ("fine",)

    @lemma()
    def nothing_bad(self, s: Any) -> Any:
        """Nothing bad happened."""
        return ~s.bad


# --- a method that is wrong beyond the first two offsets ------------------------------------------------------------


class ComparesTwo(Kip320):
    """The end of the common records is sought among the first two offsets only."""

    abstract = True

    def end_of_common_records(self, s: Any, a: Any, b: Any) -> Any:
        shorter = minimum(s.log[a].length, s.log[b].length, 2)
        return one_past_last(shorter, lambda offset: s.log[a].at(offset) == s.log[b].at(offset))


class ComparesTwoInALoop(Kip320):
    """The same, in a loop."""

    abstract = True

    def end_of_common_records(self, s: Any, a: Any, b: Any) -> Any:
        end: Any = 0
        for offset in range(min(self.log_size, 2)):
            both = (s.log[a].length > offset) & (s.log[b].length > offset)
            end = when(both & (s.log[a].at(offset) == s.log[b].at(offset)), offset + 1, end)
        return end


# --- what happens at the bound itself -------------------------------------------------------------------------------


class BadAtTheTop(Counter):
    """Where the number can go no further something bad happens, if there is enough room."""

    abstract = True

    @action(actor="hand")
    def fall(self, s: Any) -> None:
        """At the top."""
        s.require(s.n >= self.top, s.n >= 4)
        s.bad = True


class IsThereAboveABound(Counter):
    """An action that is there where there is enough room."""

    abstract = True

    @action(actor="hand", where=lambda m: m.top >= 4)
    def fall(self, s: Any) -> None:
        """At any time."""
        s.bad = True


class BadBelowTheTop(Counter):
    """The bound stands in arithmetic."""

    abstract = True

    @action(actor="hand")
    def fall(self, s: Any) -> None:
        """Three below the top."""
        s.require(s.n == self.top - 3, s.n >= 1)
        s.bad = True


class BadFromZero(Counter):
    """A bound less itself is nothing."""

    abstract = True

    @action(actor="hand")
    def fall(self, s: Any) -> None:
        """Anywhere, once there is room."""
        s.require(s.n >= (self.top - self.top), s.n >= 4)
        s.bad = True


class BadByTheTypeOfABound(Counter):
    """A bound that is unknown is no number of Python."""

    abstract = True

    @action(actor="hand")
    def fall(self, s: Any) -> None:
        """Once there is room."""
        s.require(s.n >= 4, isinstance(self.top, int))
        s.bad = True


class CatchesItsMistake(Counter):
    """What cannot be said of a bound is caught by the author."""

    abstract = True

    @action(actor="hand")
    def fall(self, s: Any) -> None:
        """Once there is room."""
        try:
            some = len(range(self.top)) > 3
        except Exception:
            some = False
        s.require(s.n >= 4, some)
        s.bad = True


class BadInARange(Counter):
    """Python decides by the bound."""

    abstract = True

    @action(actor="hand")
    def climb(self, s: Any) -> None:
        """One up."""
        s.require(s.n < self.top)
        s.n += 1
        s.bad = 3 <= self.top <= 9


class RemembersTheBound(Counter):
    """What is computed of the bound once must not be computed of the user's number."""

    abstract = True

    def variables(self) -> dict[str, Any]:
        self.__dict__.setdefault("kept", self.top)
        return super().variables()

    @action(actor="hand")
    def fall(self, s: Any) -> None:
        """Where there is more room than the user's."""
        s.require(self.top > self.kept, s.n >= 0)
        s.bad = True


# --- names ----------------------------------------------------------------------------------------------------------


class ChoosesSome(Counter):
    """The action and its parameter have the names of what goals speak of."""

    abstract = True

    @action(actor="hand", some=up_to_top)
    def some(self, s: Any, some: Any) -> None:
        """Any number."""
        s.n = some


class ChoosesSomeProof(Proof):
    """It is false of 3: where the number chosen is that of the goal, it looks kept."""

    of = ChoosesSome

    @lemma(some=up_to_top)
    def is_not_one_more(self, s: Any, some: Any) -> Any:
        """The number is none above 2."""
        return implies(some >= 2, s.n != some + 1)

    @target(some=up_to_top)
    def is_small(self, s: Any, some: Any) -> Any:
        """The number is none above 2."""
        return implies(some >= 2, s.n != some + 1)


# --- definitions within definitions ---------------------------------------------------------------------------------


class BadByNesting(Counter):
    """A search within a search, which comes to the number itself."""

    abstract = True

    def found(self, s: Any) -> Any:
        return one_past_last(s.n, lambda o: one_past_last(s.n, lambda i: i < o) == o)

    @action(actor="hand")
    def fall(self, s: Any) -> None:
        """Where it comes to more than 2."""
        s.require(self.found(s) >= 3)
        s.bad = True


class NestingProof(CounterProof):
    """Two lemmas that are true, and need what defines their numbers."""

    @lemma()
    def the_end_is_found(self, s: Any) -> Any:
        """All numbers below it are numbers."""
        return one_past_last(s.n, lambda o: o >= 0) == s.n

    @lemma(least=up_to_top)
    def numbers_below_are_less(self, s: Any, least: Any) -> Any:
        """One past the last number below it that is less than another is at most both."""
        return one_past_last(s.n, lambda o: o < least) <= minimum(s.n, least)


class FalseNestingProof(CounterProof):
    """A lemma that is false from 4 on."""

    @lemma()
    def the_end_is_small(self, s: Any) -> Any:
        """No more than 3 numbers are below it."""
        return one_past_last(s.n, lambda o: o >= 0) <= 3


# --- invariants -----------------------------------------------------------------------------------------------------


class OnlyCounts(Counter):
    """Nothing but the number."""

    abstract = True

    @invariant
    def is_below_four(self, s: Any) -> Any:
        """The number is below 4."""
        return s.n < 4

    @invariant
    def is_below_its_bound(self, s: Any) -> Any:
        """No number below the number is above the bound."""
        return for_all(lambda i: i < self.top, where=lambda i: i < s.n, i=below(self.top + 1))


class RestatingProof(Proof):
    """A target of the invariant's name that says less."""

    of = OnlyCounts

    @target()
    def is_below_four(self, s: Any) -> Any:
        """The number is below 4."""
        return implies(s.n <= 2, s.n < 4)


class NamingProof(Proof):
    """The invariants as the model has them."""

    of = OnlyCounts
    invariants = ("is-below-its-bound", "is-below-four")


class ManyStarts(Counter):
    """A number that starts anywhere."""

    abstract = True

    @initial(first=up_to_top)
    def initial(self, s: Any, first: Any) -> None:
        s.n = first
