"""Walks a model by hand: a page served by this machine shows what may happen in a state, what may not, and why."""
