"""How many watches a design sets in ZooKeeper, and what one message through ZooKeeper costs.

Each design declares, as data, its watches and the steps of one message from the sender to the broker that acts. The
documents compute their numbers of watches and messages from this data. (The model of a design has fewer watches: those
on paths of a partition that the model's actions use.)
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Final, Literal

Scope = Literal["cluster", "topic", "partition", "broker"]
Watcher = Literal["replicas", "leaders", "brokers", "controller", "itself"]


@dataclass(frozen=True)
class Watch:
    """A kind of path that is watched: how many such paths there are, and which brokers watch each of them."""

    path: str
    scope: Scope
    by: Watcher


@dataclass(frozen=True)
class Cluster:
    """The size of a cluster, from which the numbers of paths and of watchers follow."""

    brokers: int
    topics: int
    partitions: int
    replicas: int

    def paths(self, scope: Scope) -> int:
        """How many paths there are if each cluster, topic, partition or broker (the scope) has one.

        The field `partitions` is the number of partitions of each topic.
        """
        return {
            "cluster": 1,
            "topic": self.topics,
            "partition": self.topics * self.partitions,
            "broker": self.brokers,
        }[scope]

    def watchers(self, watch: Watch) -> int:
        """How many brokers watch one path. If leaders watch it: the most brokers that can lead partitions below."""
        below = {"cluster": self.topics * self.partitions, "topic": self.partitions, "partition": 1, "broker": 0}
        leaders = min(self.brokers, below[watch.scope])
        by = {"replicas": self.replicas, "leaders": leaders, "brokers": self.brokers, "controller": 1, "itself": 1}
        return by[watch.by]


def watches(declared: Iterable[Watch], cluster: Cluster, *scopes: Scope) -> int:
    """The number of watches in a cluster. If scopes are given, only watches on paths of these scopes count.

    >>> watches([Watch("/controller", "cluster", "brokers")], Cluster(brokers=3, topics=2, partitions=1, replicas=1))
    3
    """
    counted = [w for w in declared if not scopes or w.scope in scopes]
    return sum(cluster.paths(w.scope) * cluster.watchers(w) for w in counted)


COST: Final = {"write": 2, "read": 1, "notification": 1, "request": 1}
"""How many messages between two machines each step costs, as the document "KafkaController" counts them."""


def messages(steps: Iterable[str]) -> int:
    """How many messages between machines the steps cost.

    >>> messages(["write", "notification", "read"])
    4
    """
    return sum(COST[step] for step in steps)
