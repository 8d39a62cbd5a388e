"""Checks that a model does only what a specification allows. A mapping translates the states of the model."""
