"""Finds the behaviours that only one of two models has, by inclusion of histories, and tells the first difference."""
