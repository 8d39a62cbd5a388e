"""Scenarios: a question about a model written down with its answer, so that a change of the answer is noticed."""
