"""The names of all designs, found in `model/designs`, so that a new design is in the tests of all designs."""

from __future__ import annotations

from isrcheck.checker.registry.loader import load_model_class, model_names
from isrcheck.model import designs

DESIGNS = tuple(n for n in model_names() if load_model_class(n).cls.__module__.startswith(f"{designs.__name__}."))
OF_SHARED_PARTS = tuple(name for name in DESIGNS if name != "kraft")
"""The designs that consist of the same parts, with the same variables, and may override each other's methods. `kraft`
has parts and variables of its own, which override nothing (`isrcheck.model.language.parts`)."""
