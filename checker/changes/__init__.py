"""What a change of a model changes: mutation and review."""
