"""Proofs by induction: an invariant holds in every reachable state, because every step preserves it."""
