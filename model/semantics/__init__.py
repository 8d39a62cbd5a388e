"""What a model becomes: expressions, transition systems, tracing, and the concrete semantics of its methods."""

from pathlib import Path

from isrcheck.model.language.errors import speaks_the_language

speaks_the_language(Path(__file__).parent)
