"""Proofs by induction: a condition that holds initially, and that every step keeps, holds in every reachable state."""
