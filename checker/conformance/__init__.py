"""Compares a model with the code that it describes: paths of the model are driven through Kafka's own classes."""
