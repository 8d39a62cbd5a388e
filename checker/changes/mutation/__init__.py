"""Guard mutation: removes or weakens a condition of a model, or drops an update.

Then it checks which invariants and properties are violated, and which actions and goals never occur any more.
"""
