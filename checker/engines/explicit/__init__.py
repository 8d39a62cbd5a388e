"""The explicit-state engine: exact breadth-first search over packed states, in native code."""
