"""The negation of each kind of condition, also of a quantifier over nothing, is the same for all engines."""

from __future__ import annotations

from pathlib import Path

import pytest

from isrcheck import check

MODEL = '''
from isrcheck.model.language import *


class Mine(Model):
    """Words."""

    brokers_ = setting(2, counts=broker, meaning="brokers")

    def variables(self):
        return {"n": number(0, 3), "on": flag, "isr": set_of(broker)}

    @action(actor="x", b=broker)
    def act(self, s, b):
        """Acts."""
        s.require(s.n < 3)
        s.on = ~(CONDITION)
        s.n += 1
        s.isr |= {b}
'''
CONDITIONS = (
    "for_all(lambda k: s.n != k, where=lambda k: s.n > k + 5, k=range(2))",
    "for_all(lambda k: True, where=lambda k: s.n > k + 5, k=range(2))",
    "for_all(lambda k: False, where=lambda k: when(s.n > 5, True, False), k=range(2))",
    "for_all(lambda k: for_all(lambda j: s.n > j, where=lambda j: s.n > 7, j=range(2)), k=range(2))",
    "for_all(lambda k: s.n > k, k=range(2))",
    "s.isr.every(lambda k: True)",
    "s.isr.some(lambda k: True)",
    "s.isr.has(b)",
    "when(s.n > 1, True, False)",
    "implies(s.n > 1, False)",
    "every([s.n > 1, True])",
    "some([s.n > 1, False])",
    "count([s.n > 1]) == 1",
)


@pytest.mark.parametrize("condition", CONDITIONS)
def test_engines_agree_on_a_negated_condition(condition: str, tmp_path: Path) -> None:
    path = tmp_path / "mine.py"
    path.write_text(MODEL.replace("CONDITION", condition))
    local, reference = (check(str(path), engine=engine, keep_going=True) for engine in ("local", "reference"))
    assert (local.levels, local.generated) == (reference.levels, reference.generated)
