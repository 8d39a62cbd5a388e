"""The checker: questions about a model, the engines that answer them, and how answers are shown."""
