"""Guard mutation: one line of a model less, or weaker, and whether any invariant notices."""
