"""Guard mutation: removes or weakens one line of a model, and checks whether any invariant notices."""
