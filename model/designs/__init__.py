"""The designs of Kafka replication as their documents describe them.

A design is put together of *parts*: classes with a file each, which it names as its bases. From the ground up:

* `replicas`: settings, variables and words that all parts share;
* `producers` and `logs`, `fetching` and `data_plane`, `partition_state`: what the designs with an ISR have in common;
* `controller` of V3 and AlterIsr, `zookeeper_watches` of V1 and V2, `majority_elections`: how these decide who leads;
* the other parts, which stand beside one another: topics, reassignment, commands and so on.

A rule is in one part. What it is without a part that some designs do not have (partitions that move, topics that go) is
in the part below, in a line. Where several parts have to say something to one question (what a request carries, what is
lost in a crash), each says its own and asks the next one with `super()`: the design's bases stand in that order, which
is also the order of settings and variables, from the last to the first. What a part asks of those beside it, it
declares.
"""

from isrcheck.model.designs.state import DesignState as State

__all__ = ["State"]
