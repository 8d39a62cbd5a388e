"""Compares the histories (see `inclusion`) of two models, and shows a shortest behaviour that only one model has."""
