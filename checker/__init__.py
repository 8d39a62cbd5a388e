"""The checker: questions about a model, the engines that answer them, and the output formats of the answers.

The parts of the checker form layers. A part is a package or a module directly in `checker`, and each engine in
`checker/engines` is also a part. A part imports only parts of its own layer and of lower layers. Two parts never import
each other, directly or through other parts.
"""

from typing import Final

LAYERS: Final = {
    "data": (
        "What is asked and what is found, as data, and the words for its values; nothing here searches or tells.",
        (
            "abilities",
            "exploration",
            "forecast",
            "library",
            "memory",
            "profiles",
            "results",
            "revisions",
            "told",
            "wording",
        ),
    ),
    "search": (
        "What enumerates states: reductions, the kernel, datasets of states, and engines that do not know each other.",
        ("symmetry", "kernel", "datasets", "engines"),
    ),
    "answers": (
        "From what a search has seen to a result: verdicts, replayed traces, proofs.",
        (
            "traces",
            "judging",
            "liveness",
            "checking",
            "refinement",
            "simulating",
            "replaying",
            "explaining",
            "alternatives",
            "beginnings",
            "proofs",
            "proving",
            "failures",
            "behaviours",
        ),
    ),
    "stories": (
        "Results made into something to read: text, pages, reports of CI, graphs, other checkers' languages.",
        ("reports", "pages", "ci", "graphs", "exports", "explorer", "tables"),
    ),
    "commands": (
        "What users start: many checks at once, each told; a model against Kafka; commands; `isrcheck` as a library.",
        ("scenarios", "exercises", "sweeps", "mutation", "conformance", "recordings", "review", "cli", "public"),
    ),
}
"""The layers from the lowest to the highest, each with its purpose and its parts."""
