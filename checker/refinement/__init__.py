"""Checks that a model does only what a specification allows. A mapping translates each step of the model."""
