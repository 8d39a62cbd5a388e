"""A model whose words are traps for each format: markup, quotes, control characters, and the formats' own commands."""

from __future__ import annotations

from typing import Any

from isrcheck.model.language import Model, action, enum, invariant, setting

TRAP = "</testcase>]]>&amp;\"'|```;#35;%0A::error::--> end <script>alert(1)</script>"


class Hostile(Model):
    """Says what no format likes to hear."""

    invariants = ("stays-calm",)
    word = setting(TRAP, choices=(TRAP, "other"), meaning="a word")

    def variables(self) -> dict[str, Any]:
        return {"mood": enum("calm", TRAP)}

    @action(actor=TRAP)
    def shout(self, s: Any) -> None:
        """Shouts."""
        s.require(s.mood == "calm")
        s.mood = TRAP

    @invariant
    def stays_calm(self, s: Any) -> Any:
        """The mood stays calm: </testcase>]]>&amp;"'|```;#35;%0A::error::--> end <script>alert(1)</script>"""
        return s.mood == "calm"
