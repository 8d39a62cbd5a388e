"""Sweeps: many small checks, the product of models, settings and invariants, in separate processes."""
