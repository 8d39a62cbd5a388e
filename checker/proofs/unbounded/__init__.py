"""Runs a model's own methods without bounds: a number is a z3 integer, and a map from numbers is a z3 array."""

from pathlib import Path

from isrcheck.model.language.errors import speaks_the_language

speaks_the_language(Path(__file__).parent)
