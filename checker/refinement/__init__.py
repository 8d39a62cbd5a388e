"""Checks that a model does only what a specification allows: an invariant over steps, checked through a mapping."""
