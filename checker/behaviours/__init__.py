"""Compares the behaviours of two models by their histories, and shows a shortest behaviour that only one model has."""
