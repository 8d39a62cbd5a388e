"""Finds the brokers that a model does not tell apart, and exchanges them in its states."""
