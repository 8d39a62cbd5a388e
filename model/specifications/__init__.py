"""Specifications: what a design must do, not how; and which state of a model represents which of a specification."""
