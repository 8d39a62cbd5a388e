"""Random walks: samples of a model's behaviour, for state spaces that are too large to explore."""
