"""Parts: a model has the members of all its parts, in the order of use. No member may be overridden or repeated."""

from __future__ import annotations

from typing import Any

import pytest

from isrcheck import Model, ModelError, Part, action, broker, check, flag, invariant, number, per, set_of, setting, some
from isrcheck.model.language.parts import parts_of


class Lights(Part):
    """Lamps."""

    abstract = True
    lamps = setting(2, at_least=1, at_most=3, counts=broker, meaning="lamps")

    def holds(self) -> dict[str, Any]:
        return {"lit": per(broker, flag)}

    def begins(self, s: Any) -> None:
        s.lit[self.brokers[0]] = True


class Counter(Part):
    """Counts switches."""

    abstract = True
    most = setting(2, at_least=1, at_most=3, meaning="switches")

    def holds(self) -> dict[str, Any]:
        return {"switches": number(0, self.most)}

    def count_one(self, s: Any) -> None:
        s.require(s.switches < self.most)
        s.switches += 1


class Switch(Lights, Counter):
    """Switches lamps, and counts."""

    abstract = True

    def holds(self) -> dict[str, Any]:
        return {"touched": set_of(broker)}

    @action(b=broker, actor="b")
    def switch(self, s: Any, b: Any) -> None:
        """A lamp is switched."""
        self.count_one(s)
        s.lit[b] = ~s.lit[b]
        s.touched = s.touched | {b}


class Room(Switch):
    """All of it."""

    @invariant
    def somebody_sees(self, s: Any) -> Any:
        """A lamp is lit."""
        return some(s.lit[b] for b in self.brokers)


def test_a_model_has_the_variables_settings_and_beginnings_of_all_its_parts() -> None:
    model = Room()
    assert list(model.domains) == ["switches", "lit", "touched"]  # what a part uses comes before it
    assert parts_of(Room) == [Counter, Lights, Switch]
    assert set(model.settings) == {"lamps", "most"}
    result = check(Room, {"most": 2})
    assert result.verdict == "violated"
    # One lamp of two is lit at first: that a switch puts out what is lit is one step, and 1 + 2 states come of it.
    trace = result.invariants["somebody-sees"].trace
    assert trace is not None
    assert trace.length == 2


def test_a_model_built_upon_a_finished_one_may_override() -> None:
    class Dark(Room):
        @action(b=broker, actor="b")
        def switch(self, s: Any, b: Any) -> None:
            """A lamp is put out that was lit, if another one is lit."""
            s.require(s.lit[b], some(s.lit[x] for x in self.brokers if x != b))
            s.lit[b] = False

    assert check(Dark).verdict == "holds"


def test_two_parts_must_not_give_one_name() -> None:
    class Other(Part):
        abstract = True

        def count_one(self, s: Any) -> None: ...

    with pytest.raises(ModelError, match=r"^Counter\.count_one is also defined in part Other; .* rename one of them$"):

        class Both(Counter, Other):
            """Counts twice."""

    with pytest.raises(ModelError, match=r"^Louder\.count_one is also defined in part Counter;"):

        class Louder(Counter):
            abstract = True

            def count_one(self, s: Any) -> None: ...


def test_two_parts_must_not_have_one_variable() -> None:
    class Other(Part):
        abstract = True

        def holds(self) -> dict[str, Any]:
            return {"switches": flag}

    class Both(Counter, Other):
        """Has a variable twice."""

    with pytest.raises(
        ModelError, match=r"test_parts\.py:\d+: variable 'switches' belongs to another part; rename it$"
    ):
        Both()


def test_what_a_part_holds_is_a_dict_and_a_part_begins_at_once() -> None:
    class Nothing(Part):
        abstract = True

        def holds(self) -> Any:
            return None

    class Empty(Nothing):
        """Has no variables."""

    with pytest.raises(ModelError, match=r"holds returns None; return a dict of domains$"):
        Empty()
    with pytest.raises(ModelError, match="has a yield and would never run"):

        class Lazy(Part):
            abstract = True

            def begins(self, s: Any) -> Any:
                yield s


def test_a_users_part_is_asked_as_any_model_is(tmp_path: Any) -> None:
    (tmp_path / "mine.py").write_text(
        "from typing import Any\n"
        "from isrcheck import Part, action, flag\n\n\n"
        "class Half(Part):\n"
        "    abstract = True\n\n"
        "    def holds(self) -> dict[str, Any]:\n"
        "        return {'on': flag, 'off': flag}\n\n"
        "    def begins(self, s: Any) -> None:\n"
        "        s.on = s.off is True\n\n\n"
        "class Whole(Half):\n"
        "    @action(actor='somebody')\n"
        "    def go(self, s: Any) -> None:\n"
        '        """It goes."""\n'
        "        s.on = True\n"
    )
    from isrcheck.checker.registry.loader import load_model_class

    with pytest.raises(ModelError, match=r"mine\.py:12: .*`is`|mine\.py:12: .* is "):
        check(load_model_class(str(tmp_path / "mine.py")).cls)


def test_a_part_is_no_model_by_itself() -> None:
    assert all(issubclass(part, Model) and part.abstract for part in parts_of(Room))
