"""Proofs that an invariant holds in every reachable state, because every single step preserves it."""
