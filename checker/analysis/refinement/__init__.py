"""Checks that a model does only what a specification allows. A mapping turns model states into specification states."""
