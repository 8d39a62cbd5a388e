"""Which brokers a model does not tell apart, and what exchanging them makes of its states."""
