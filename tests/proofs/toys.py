"""Small models and proofs with answers worked out by hand."""

from __future__ import annotations

from typing import Any

from isrcheck.model.language import Model, action, enum, implies, invariant, maximum, number, record, setting, when
from isrcheck.model.language.proofs import Proof, candidate, lemma, records, target


class Ring(Model):
    """A number that goes round 0, 1, 2, 3; from 5 it would go to 6 and to 7, where it must not be."""

    reaches = setting(False, meaning="whether 3 leads to 5")

    def variables(self) -> dict[str, Any]:
        return {"at": number(0, 7)}

    @action(actor="hand")
    def turn(self, s: Any) -> None:
        """One further."""
        s.require(s.at < 3)
        s.at += 1

    @action(actor="hand")
    def start_again(self, s: Any) -> None:
        """Back to the start."""
        s.require(s.at == 3)
        s.at = 0

    @action(actor="hand")
    def slip(self, s: Any) -> None:
        """From 5 on, further up."""
        s.require(s.at >= 5, s.at < 7)
        s.at += 1

    @action(actor="hand")
    def leap(self, s: Any) -> None:
        """Out of the ring."""
        s.require(self.reaches, s.at == 3)
        s.at = 5

    @invariant
    def is_not_seven(self, s: Any) -> Any:
        """The number is not seven."""
        return s.at != 7


class Hill(Model):
    """A number that goes up and down again; it forgets how high it was."""

    top = setting(4, at_least=1, at_most=9, meaning="how high", bound=lambda m, s: s.height == m.top)

    def variables(self) -> dict[str, Any]:
        return {"height": number(0, self.top), "way": enum("up", "down")}

    @action(actor="hand")
    def climb(self, s: Any) -> None:
        """One up."""
        s.require(s.way == "up", s.height < self.top)
        s.height += 1

    @action(actor="hand")
    def turn(self, s: Any) -> None:
        """From now on down."""
        s.require(s.way == "up")
        s.way = "down"

    @action(actor="hand")
    def descend(self, s: Any) -> None:
        """One down."""
        s.require(s.way == "down", s.height > 0)
        s.height -= 1


class HillProof(Proof):
    """The number is never above the greatest one that it had."""

    of = Hill

    def history(self) -> dict[str, Any]:
        return {"greatest": number(0, self.model.top)}

    @records("climb")
    def remember(self, s: Any) -> dict[str, Any]:
        """How high it was."""
        return {"greatest": maximum(s.greatest, s.height + 1)}

    @lemma()
    def while_up_it_is_greatest(self, s: Any) -> Any:
        """On the way up the number is the greatest one."""
        return implies(s.way == "up", s.height == s.greatest)

    @lemma()
    def it_is_a_number(self, s: Any) -> Any:
        """The number is not negative; its domain says so already."""
        return s.height >= 0

    @candidate()
    def on_the_way_down_it_is_less(self, s: Any) -> Any:
        """On the way down the number is below the greatest one; not so at the turn."""
        return implies(s.way == "down", s.height < s.greatest)

    @lemma()
    def on_the_way_down_it_is_not_more(self, s: Any) -> Any:
        """On the way down the number is at most the greatest one."""
        return implies(s.way == "down", s.height <= s.greatest)

    @target()
    def never_above_the_greatest(self, s: Any) -> Any:
        """The number is at most the greatest one."""
        return s.height <= s.greatest


class SoundHillProof(HillProof):
    """The same without the candidate, which is false."""

    on_the_way_down_it_is_less = None  # type: ignore[assignment]


class Pair(Model):
    """A pair of numbers up to another number."""

    top = setting(2, at_least=1, at_most=9, meaning="how high", bound=lambda m, s: s.most == m.top)

    def variables(self) -> dict[str, Any]:
        up_to_top = number(0, self.top)
        return {"most": up_to_top, "pair": record(x=up_to_top, y=up_to_top)}

    @action(actor="hand")
    def climb(self, s: Any) -> None:
        """One up."""
        s.require(s.most < self.top)
        s.most += 1

    @action(actor="hand")
    def correct(self, s: Any) -> None:
        """If y is 0 and x is too great, x becomes one more; but x is never too great."""
        pair = s.pair
        s.pair = when(pair.y == 0, {"x": when(pair.x > s.most, pair.x + 1, pair.x), "y": 0}, pair)

    @invariant
    def fine(self, s: Any) -> Any:
        """The first number is not too great."""
        return s.pair.x <= s.most


class PairProof(Proof):
    """The invariant is its own lemma."""

    of = Pair
    invariants = ("fine",)

    @lemma()
    def is_not_too_great(self, s: Any) -> Any:
        """The first number is not too great."""
        return s.pair.x <= s.most


class ComparedPair(Pair):
    """The pair is compared with a pair that is outside its domain at the top."""

    @action(actor="hand")
    def correct(self, s: Any) -> None:
        """If x is one more than the other number, y becomes 0."""
        s.require(s.pair == {"x": s.most + 1, "y": 0})
        s.pair.y = 0
