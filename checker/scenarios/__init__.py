"""Scenarios: questions about models, recorded with their answers, so that a changed answer is noticed."""
