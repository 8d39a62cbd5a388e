"""Specifications (what a design must do, not how), and mappings from states of models to states of specifications."""
