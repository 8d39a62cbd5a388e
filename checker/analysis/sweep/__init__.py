"""Sweeps: checks of all combinations of given models, settings and invariants, in separate processes."""
