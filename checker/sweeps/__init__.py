"""Sweeps: many small checks, the product of models, settings and invariants, in processes of their own."""
