"""Whether a model does only what a specification allows: an invariant over steps, judged on what they stand for."""
