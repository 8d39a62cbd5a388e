"""Random walks: a sample of what a model does, for spaces that are too large to explore."""
