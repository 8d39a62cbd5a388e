"""Which brokers a model does not tell apart, and what exchanging them does to its states."""
