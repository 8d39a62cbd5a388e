"""The designs of Kafka replication as their documents describe them."""
