"""The designs of Kafka replication as their documents describe them.

A design is composed of *parts*. Each part is a class in its own file, and a base class of the design. The parts, from
the bottom up:

* `replicas`: settings, variables and helper methods that all parts share;
* `producers` and `logs`: records and the answers to producers;
* `fetches`, `data_plane` and `partition_state`: what the designs with an ISR have in common;
* `controller` (V3 and AlterIsr) and `majority_elections`, which define how a leader is elected, and
  `zookeeper_watches` (V1 and V2), which defines how brokers are notified;
* the other parts, such as topics, reassignment and commands. These parts are on one level, except that `pending_isr`
  and `alter_isr_handler` are built on `alterations`.

Each rule is in one part. Some designs lack a part, such as `topics`. For these designs, a lower part has a default of
one line for each rule of the missing part (for example, `has_path` is true). Several parts may contribute to one
method, for example to what a request contains, or to what a crash loses. Each part adds its share, and calls the next
part with `super()`. A design lists its bases in the order of these calls. The settings and variables of a design are in
the reverse order. A part declares the attributes that it needs from other parts of its level.
"""

from isrcheck.model.designs.state import DesignState as State

__all__ = ["State"]
