"""Sweeps: many small checks, the product of models, settings and invariants, each in a process of its own kind."""
