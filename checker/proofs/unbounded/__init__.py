"""A model's own methods without bounds: numbers are z3 integers, and values per number are z3 arrays."""

from pathlib import Path

from isrcheck.model.language.errors import speaks_the_language

speaks_the_language(Path(__file__).parent)
