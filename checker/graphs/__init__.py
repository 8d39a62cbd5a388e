"""State graphs for other tools: the states and steps of a model, or only those around a trace."""
