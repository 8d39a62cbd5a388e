"""The designs of Kafka replication as their documents describe them."""

from isrcheck.model.designs.state import DesignState as State

__all__ = ["State"]
