"""Loads models, invariants, profiles and former revisions of models by name."""
