"""Models with random mistakes end with a documented exit code and a line about the author's code, never with a bug."""

from __future__ import annotations

import itertools
import random
import re
from pathlib import Path

import pytest
from click.testing import CliRunner
from hypothesis import given
from hypothesis import strategies as st

from isrcheck.checker.cli import main
from tests.agreement.profiles import examples
from tests.marks import one_in

TEMPLATE = '''\
from isrcheck.model.language import *


class Mine(Model):
    """Mine."""
    replicas = setting(
        «2», at_least=«1», at_most=«4», counts=«broker», meaning=«"brokers"», bound=«lambda m, s: s.n == 3»
    )
    mode = setting(«"a"», choices=«("a", "b")», meaning="mode")
    invariants = «("ok",)»

    def variables(self):
        return «{
            «"n"»: «number(«0», «3»)», "on": «flag», "role": «enum(«"x"», "y")», "leader": «optional(«broker»)»,
            "isr": «set_of(«broker»)», "zk": «record(version=«number(0, 3)», on=flag)»,
            "log": «sequence(«number(0, 3)», «2»)», "inbox": «messages(«number(0, 2)»)»,
            "end": «per(«broker», «number(0, 3)»)»,
        }»

    @initial(first=«broker»)
    def initial(self, s, first):
        s.leader = «first»
        s.n = «0»
        s.isr = «{«first»}»

    @action(b=«broker», k=«number(0, 1)», actor=«"b"»)
    def act(self, s, b, k):
        """It acts."""
        s.require(«s.n < «2»», «~s.log.is_full»)
        s.isr = «s.isr.including(«b»)»
        s.end[«b»] = «when(«s.on», «1», s.end[b])»
        s.log.append(«s.n»)
        s.zk.version = «minimum(«s.n», «2»)»
        s.inbox.add(«k»)
        s.n = «s.n + «k»»

    def describe_act(self, old, new, b, k):
        return «f"{b} acts, {old.n} -> {new.n}"»

    @action(actor=«"controller"», environment=«True»)
    def flip(self, s):
        """It flips."""
        s.require(«s.role == «"x"»»)
        s.on = «~s.on»
        s.leader = «none»
        s.log.truncate(«0»)
        s.role = «"y"»

    def describe_flip(self, old, new):
        return «f"{old.leader} -> {new.leader}"»

    @constraint
    def small(self, s):
        """Small."""
        return «s.n <= «3»»

    @goal
    def full(self, s):
        """Full."""
        return «s.log.is_full»

    @invariant
    def ok(self, s):
        """n is small."""
        return «every(«s.end[b] <= «3»» for b in «self.brokers»)»
'''
ODD = """\
None; 5; -1; 2.5; "x"; []; {}; (); lambda: 0; lambda x: x; flag; broker; number(0, 1); object(); undefined; 10**30;
True; False; s; self; s.n; s.isr; s.log; s.leader; s.nothing; self.nothing; b; int; print; ...; set(); {1}; [1, 2];
number; none; s.zk; s.end; s.end[b]; 1/0; float("nan"); range(3); (yield); await s.n; s.n = 1; not s.on;
s.n and s.on; [s.n]; {s.n: 1}; str(s.n); len(s.log); -s.n; s.n.x; s.n(); s[0]; s.log[0]; s.log.at(s.n); s.end[s.n];
b"x"; s.isr - s.isr; s.inbox; Model; super(); __name__; exit(); *s.isr; **s.zk; number(3, 0); 1 if s.on else 2;
s.leader.is_none; s.role; "z"; self.replicas; self.mode; s.n * s.n * 10**9; s.n << 2; s.isr & 5; minimum();
every(5); when(1); for_all(5); some(); s.log.last; s.log.first; s.isr.size; s.end[b] + s.n; b == b; b + 1;
self.broker(9); self.brokers; lambda m: 5; messages; per(flag, flag); record(); sequence(flag, 0); optional(5);
set_of(flag); s.inbox.has(5); s.zk.nothing; s.isr.has(5); open("/nowhere"); __import__("nothing");
(lambda f: f(f))(lambda f: f(f)); "x" * 3; s is None; s.on is True; type(s.n); isinstance(s.n, int); hash(s.n);
id(s); globals(); dir(s); vars(s); iter(s.log); sum(s.log); max(s.n, 1); s.n in (1, 2)\
""".replace("\n", " ").split("; ")
FEW = ["--quiet", "--max-states", "5000"]


def taken_apart(template: str) -> tuple[str, list[tuple[int, int]]]:
    """The text without the marks, and the begin and end of each marked place."""
    text, places, begun = "", list[tuple[int, int]](), list[int]()
    for character in template:
        if character == "«":
            begun.append(len(text))
        elif character == "»":
            places.append((begun.pop(), len(text)))
        else:
            text += character
    return text, places


TEXT, PLACES = taken_apart(TEMPLATE)


def mistaken(changes: list[tuple[tuple[int, int], str]]) -> str:
    """The text with mistakes in some places, none of which is inside another."""
    text = TEXT
    for (begin, end), odd in sorted(changes, reverse=True):
        text = text[:begin] + odd + text[end:]
    return text


def apart(places: list[tuple[int, int]]) -> bool:
    return all(a[1] <= b[0] for a, b in itertools.pairwise(sorted(places)))


def look(folder: Path, text: str) -> int:
    """The exit code of a check of a text. Asserts that the message has the right form."""
    path = folder / "mine.py"
    path.write_text(text, encoding="utf-8")
    done = CliRunner().invoke(main, ["check", str(path), *FEW])
    assert done.exception is None or isinstance(done.exception, SystemExit), text
    assert done.exit_code in (0, 11, 12, 75, 150, 152), (done.stderr, text)
    if done.exit_code == 150:
        assert re.fullmatch(r"isrcheck: mine\.py:\d+: [^\n]+\n", done.stderr), (done.stderr, text)
        assert done.stdout == ""
    assert set(re.findall(r"(\w+)\.py:\d", done.stderr)) <= {"mine"}, (done.stderr, text)  # no line of ours
    return done.exit_code


def test_the_model_itself_holds(tmp_path: Path) -> None:
    assert look(tmp_path, TEXT) == 0


@examples(120, shrink=False)
@given(
    places=st.lists(st.sampled_from(PLACES), min_size=1, max_size=3, unique=True).filter(apart),
    odd=st.lists(st.sampled_from(ODD), min_size=3, max_size=3),
)
def test_odd_things_in_odd_places(
    tmp_path_factory: pytest.TempPathFactory, places: list[tuple[int, int]], odd: list[str]
) -> None:
    look(tmp_path_factory.getbasetemp(), mistaken(list(zip(places, odd, strict=False))))


@pytest.mark.exhaustive
@pytest.mark.parametrize("part", one_in(16, range(16)))
def test_every_odd_thing_in_every_place(tmp_path: Path, part: int) -> None:
    """One of sixteen parts of all combinations, in random order. Each part has more than 500."""
    every = [[(place, odd)] for place in PLACES for odd in ODD]
    random.Random(0).shuffle(every)
    assert len(every[part::16]) > 500
    codes = {look(tmp_path, mistaken(changes)) for changes in every[part::16]}
    assert codes >= {0, 75, 150}
