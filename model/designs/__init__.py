"""The designs of Kafka replication as their documents describe them.

A design is composed of *parts*. Each part is a class in its own file, and a base class of the design. The parts, from
the bottom up:

* `replicas`: settings, variables and helper methods that all parts share;
* `producers` and `logs`, `fetching` and `data_plane`, `partition_state`: what the designs with an ISR have in common;
* `controller` of V3 and AlterIsr, `zookeeper_watches` of V1 and V2, `majority_elections`: how a leader is chosen;
* the other parts, all on one level: topics, reassignment, commands and so on.

Each rule is in one part. Some designs lack a part, such as the deletion of topics. For these designs, a lower part
defines each rule of the missing part in one line. Several parts may contribute to one method (the content of a request,
the losses in a crash). Each part adds its share, and calls the next part with `super()`. A design lists its bases in
the order of these calls. The settings and variables of a design are in the reverse order. A part declares the
attributes that it needs from other parts of its level.
"""

from isrcheck.model.designs.state import DesignState as State

__all__ = ["State"]
