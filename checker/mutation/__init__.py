"""Guard mutation: one line of a model is removed or weakened, and it is checked whether any invariant notices."""
