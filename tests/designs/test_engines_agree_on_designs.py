"""The engines agree on every design: for each single setting, for combinations of settings, and along long paths."""

from __future__ import annotations

from typing import Any

import pytest

from isrcheck.checker.registry.loader import load_model_class
from isrcheck.model.language import Model
from tests.designs.agreeing import assert_agreement, assert_agreement_along_walks, combination, switched_alone
from tests.marks import one_in

pytestmark = pytest.mark.exhaustive

DRAWS = {
    "v3": (12, 8), "alter-isr": (10, 4), "kraft": (16, 6), "v2": (10, 4), "v1": (8, 6), "majority": (4, 4),
    "primary-backup": (4, 4),
}  # fmt: skip
"""The numbers of combinations of settings that are searched and that are walked; fewer for slower designs."""
DESIGNS = {name: load_model_class(name).cls for name in DRAWS}


def switched(name: str, cls: type[Model]) -> list[dict[str, Any]]:
    """The single settings of a design: all for V3, all with two replicas for `kraft`, every second one for others."""
    found = list(switched_alone(cls))
    if name == "kraft":
        return [{"replicas": 2, **settings} for settings in found]
    return found if name == "v3" else found[::2]


@pytest.mark.parametrize(
    ("name", "settings"),
    [one for name, cls in DESIGNS.items() for one in one_in(12, ((name, s) for s in switched(name, cls)))],
    ids=str,
)
def test_every_setting_switched_alone(name: str, settings: dict[str, Any]) -> None:
    assert_agreement(DESIGNS[name], settings)


@pytest.mark.parametrize(
    ("name", "draw"), [one for n, (count, _) in DRAWS.items() for one in one_in(8, ((n, k) for k in range(count)))]
)
def test_random_settings(name: str, draw: int) -> None:
    assert_agreement(DESIGNS[name], combination(DESIGNS[name], draw))


@pytest.mark.parametrize(
    ("name", "draw"), [one for n, (_, count) in DRAWS.items() for one in one_in(8, ((n, k) for k in range(count)))]
)
def test_random_walks(name: str, draw: int) -> None:
    assert_agreement_along_walks(DESIGNS[name](**combination(DESIGNS[name], draw)), draw)
