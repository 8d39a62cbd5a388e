"""Scenarios: questions about models, recorded with their answers, which shows when an answer changes."""
