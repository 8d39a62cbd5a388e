"""Which invariants are checked when nobody names any."""

from __future__ import annotations

from pathlib import Path

from isrcheck import check
from isrcheck.model.language.errors import nearest

MODEL = '''
from isrcheck.model.language import Model, action, invariant, number


class Counter(Model):
    """A counter."""

    def variables(self):
        return {"n": number(0, 3)}

    @action(actor="client")
    def up(self, s):
        """Counts up."""
        s.require(s.n < 3)
        s.n += 1

    @invariant
    def small(self, s):
        """The counter stays below three."""
        return s.n < 3


@invariant
def natural(m, s):
    """The counter is not negative."""
    return s.n >= 0
'''


def test_a_model_that_names_no_invariants_is_asked_all_of_its_own(tmp_path: Path) -> None:
    (tmp_path / "counter.py").write_text(MODEL)
    result = check(str(tmp_path / "counter.py"))
    assert {name: finding.verdict for name, finding in result.findings.items()} == {
        "natural": "incomplete",
        "small": "violated",
    }


def test_a_model_that_names_invariants_is_asked_those(tmp_path: Path) -> None:
    named = MODEL.replace('"""A counter."""', '"""A counter."""\n\n    invariants = ("natural",)')
    (tmp_path / "counter.py").write_text(named)
    result = check(str(tmp_path / "counter.py"))
    assert (result.verdict, list(result.findings)) == ("holds", ["natural"])


def test_an_error_lists_all_known_names_unless_they_are_very_many() -> None:
    few, many = ["alpha", "beta"], ["kip-320", *(str(1000 + i) for i in range(60))]
    assert nearest("alpah", few) == "did you mean alpha? known: alpha, beta"
    assert nearest("kip320", many) == "did you mean kip-320? 61 are known"
    assert nearest("zzz", many).startswith("known: 1000, 1001, 1002, ")
