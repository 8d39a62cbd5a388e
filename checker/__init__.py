"""The checker: questions about a model, the engines that answer them, and the output formats of the answers.

The parts of the checker form layers. A part is a package directly in `checker`, and each engine in `checker/engines` is
also a part. A part imports only parts of its own layer and of lower layers. Two parts never import each other, directly
or through other parts.
"""

from typing import Final

LAYERS: Final = {
    "data": (
        "What is asked and what is found, as data, and the models by name; nothing here searches.",
        ("results", "registry"),
    ),
    "search": (
        "What enumerates states: the kernel, datasets of states, and engines that do not know each other.",
        ("kernel", "datasets", "engines"),
    ),
    "answers": (
        "From what a search has seen to a result: verdicts, replayed traces, proofs.",
        ("trace", "analysis", "proofs"),
    ),
    "outputs": (
        "Results made into something to read: text, pages, reports of CI, graphs, other checkers' languages.",
        ("report", "export"),
    ),
    "commands": (
        "What users start: recorded scenarios, changes of a model, runs of real systems, Kafka's classes, commands.",
        ("scenarios", "changes", "course", "trace_validation", "conformance", "cli"),
    ),
}
"""The layers from the lowest to the highest, each with its purpose and its parts."""
