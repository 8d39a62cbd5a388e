"""Compares the behaviours of two models by their histories, and shows the first behaviour that only one model has."""
