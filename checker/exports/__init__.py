"""A model at given settings, written for other model checkers: one file a language, and the comparison with them."""
