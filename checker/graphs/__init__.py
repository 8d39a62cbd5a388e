"""State graphs for other tools: the states and steps of a model, or of the part around a trace."""
