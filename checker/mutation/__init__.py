"""Guard mutation: removes or weakens a condition of a model, or drops an update, and checks what notices the change."""
