"""The differences between two models' files that a review reports."""

from __future__ import annotations

from pathlib import Path

from isrcheck.checker.changes.review.model_differences import Differences, differences
from isrcheck.checker.registry.loader import load_model_class
from tests.cli.running import COUNTER


def between(folder: Path, old: str, new: str) -> Differences:
    """The differences between two texts, each in its own file."""
    (folder / "old.py").write_text(old)
    (folder / "new.py").write_text(new)
    one, other = (load_model_class(str(folder / name)).cls() for name in ("old.py", "new.py"))
    return differences(one, other)


def test_a_lambda_is_known_by_the_name_that_it_is_given(tmp_path: Path) -> None:
    text = COUNTER.replace("s.require(s.value < self.top)", "s.require(goes_on(self, s))")
    old = text + "\n\ngoes_on = lambda m, s: s.value < m.top\nother = lambda m, s: s.value\n"
    found = between(tmp_path, old, old.replace("s.value < m.top", "s.value < 2"))
    (changed,) = found.changed
    assert (changed.name, changed.before) == ("goes_on", "goes_on")
    assert changed.lines[1:] == ("-goes_on = lambda m, s: s.value < m.top", "+goes_on = lambda m, s: s.value < 2")
    assert changed.where == f"new.py:{1 + old.splitlines().index('goes_on = lambda m, s: s.value < m.top')}"
    assert found.actions == (("count", "requires otherwise"),)
    assert (found.new, found.gone) == ((), ())
    found = between(tmp_path, old, old.replace("other", "quite_another"))
    assert (found.changed, found.new, found.gone) == ((), ("quite_another",), ("other",))


def test_a_function_that_has_no_text_of_its_own_is_seen_by_what_it_does(tmp_path: Path) -> None:
    """Such functions are made by a program or returned by another function, and have no definition in the file."""
    text = COUNTER.replace("s.require(s.value < self.top)", "s.require(below(s))")
    for made in (
        "def to(n):\n    return lambda s: s.value < n\n\n\nbelow = to({})\n",
        "exec('def below(s): return s.value < {}')\n",
    ):
        found = between(tmp_path, text + made.format(3), text + made.format(2))
        assert (found.changed, found.actions) == ((), (("count", "requires otherwise"),))


def test_a_docstring_may_begin_at_the_edge_of_the_file(tmp_path: Path) -> None:
    at_the_edge = COUNTER.replace('"""One more."""', '"""One more.\n\nAnd no other.\n"""')
    assert between(tmp_path, COUNTER, at_the_edge) == Differences((), (), (), ())
    (changed,) = between(tmp_path, at_the_edge, at_the_edge.replace("s.value += 1", "s.value += 2")).changed
    assert changed.lines[1:] == (
        ' """',
        "     s.require(s.value < self.top)",
        "-    s.value += 1",
        "+    s.value += 2",
    )
