"""Specifications: what a design must do, not how. Mappings from states of models to states of specifications."""
