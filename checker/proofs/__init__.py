"""Proofs: that an invariant holds in every reachable state follows from what every single step keeps."""
