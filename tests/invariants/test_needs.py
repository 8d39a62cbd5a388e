"""An invariant declares the variables that it needs, so that it can be checked in any model with these variables."""

from __future__ import annotations

from pathlib import Path

import pytest

from isrcheck.checker.registry.loader import library_invariants, load_model_class, model_names, needed_family
from isrcheck.checker.registry.profile_settings import begun
from isrcheck.model.language import EvaluationError, ModelError, UnknownName
from isrcheck.model.language.settings import BARE, profiles_of
from isrcheck.model.semantics.concrete_state import holds, initial_states
from isrcheck.model.semantics.tracing import applicable_properties, checkable


@pytest.mark.parametrize("name", model_names())
def test_of_a_model_without_what_it_speaks_of_it_says_so(name: str) -> None:
    loaded = load_model_class(name)
    model = loaded.cls()
    start, said = initial_states(model)[0], 0
    for invariant, predicate in loaded.invariants.items():
        try:
            holds(model, start, predicate)
        except EvaluationError:
            pass
        except ModelError as error:
            assert f"invariant {invariant} " in str(error)
            said += 1
    assert said < len(loaded.invariants)


@pytest.mark.parametrize("name", model_names())
def test_at_each_profile_each_predicate_can_be_asked_or_says_why_not(name: str) -> None:
    """`isrcheck review` asks all of them; one that raises another error would end the review."""
    loaded = load_model_class(name)
    for profile in (BARE, *profiles_of(loaded.cls)):
        model = begun(loaded, None if profile == BARE else profile, {})
        for kind, predicates, askable in (
            ("invariant", loaded.invariants, checkable),
            ("property", loaded.properties, applicable_properties),
        ):
            asked = askable(model, predicates)
            for left_out in predicates.keys() - asked.keys():
                with pytest.raises(UnknownName, match=f"{left_out} .*; "):
                    predicates[left_out](model, None)
            assert asked or not predicates, (profile, kind)


FAMILIES = {
    "a-write-can-be-acknowledged": "designs",
    "logs-that-meet-agree-before": "designs",
    "no-split-brain": "designs",
    "service-goes-on": "designs",
}


@pytest.mark.parametrize("name", model_names())
def test_what_is_for_a_family_is_for_all_of_it_and_for_nobody_else(name: str) -> None:
    loaded = load_model_class(name)
    home = loaded.cls.__module__.split(".")[2]
    found = {x: f for x, f in library_invariants().items() if needed_family(f) is not None}
    assert {x: needed_family(f) for x, f in found.items()} == FAMILIES, "FAMILIES has a line for each of these"
    assert found.keys() & loaded.invariants.keys() == {x for x, family in FAMILIES.items() if family == home}


def test_a_model_built_upon_a_design_is_of_its_family_and_one_that_has_as_much_is_not(tmp_path: Path) -> None:
    (tmp_path / "mine.py").write_text(VARIANT)
    assert FAMILIES.keys() <= load_model_class(f"{tmp_path / 'mine.py'}:Variant").invariants.keys()
    assert not FAMILIES.keys() & load_model_class(f"{tmp_path / 'mine.py'}:Stranger").invariants.keys()


VARIANT = '''
from isrcheck.model.designs.v3 import ControllerDesign
from isrcheck.model.language import Model, action, flag


class Variant(ControllerDesign):
    """Built upon a design."""


class Stranger(Model):
    """Has variables of the names of a design's."""

    def variables(self):
        return {"log": flag, "replica": flag, "committed": flag}

    @action(actor="client")
    def turn(self, s):
        """Turns it."""
        s.log = ~s.log
'''
