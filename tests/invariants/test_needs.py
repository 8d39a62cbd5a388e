"""An invariant says which variables it needs, so that it can be asked of any model."""

from __future__ import annotations

import pytest

from isrcheck.checker.library import load_model_class, model_names
from isrcheck.model.language import EvaluationError, ModelError
from isrcheck.model.language.concrete import holds, initial_states


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
