"""Proofs: an invariant holds in every reachable state because every single step keeps it."""
