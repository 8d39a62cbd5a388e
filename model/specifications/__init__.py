"""Specifications: what a design must do, not how. Mappings from the states of models to those of specifications."""
