"""A model held against the code that it is a model of: paths of the model driven through Kafka's own classes."""
