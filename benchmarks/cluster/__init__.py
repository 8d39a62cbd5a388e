"""A real cluster on loopback: three Kafka brokers and a controller, injected faults, and recordings of the effects."""
