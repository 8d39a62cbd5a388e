"""A model's own methods without its bounds: numbers are integers of z3, and values per number are arrays."""

from pathlib import Path

from isrcheck.model.language.errors import speaks_the_language

speaks_the_language(Path(__file__).parent)
