"""A model's own methods without its bounds: numbers are integers of z3, what is kept per number is an array."""
