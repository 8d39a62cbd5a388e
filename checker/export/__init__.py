"""Writes a model at given settings for other model checkers, and compares their results with isrcheck's."""
