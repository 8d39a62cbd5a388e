"""A model at given settings, written for other model checkers, a file for each language; and a comparison with them."""
