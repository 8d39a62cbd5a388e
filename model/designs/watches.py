"""How many watches a design sets in ZooKeeper, and what one message through ZooKeeper costs.

Each design that uses ZooKeeper declares its watches as data; the numbers of the documents are sums over them.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

Scope = Literal["cluster", "topic", "partition", "broker"]


@dataclass(frozen=True)
class Watch:
    """A path that is watched: one path for each of its scope, each watched by those who are named."""

    path: str
    scope: Scope = "cluster"
    by: Literal["replicas", "leader", "brokers", "controller"] = "brokers"
