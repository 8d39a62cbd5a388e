"""A real cluster on loopback: three brokers and a controller of Kafka, faults, and a recording of what came of them."""
