"""Liveness: decides properties of fair behaviours on the graph that an exploration has found."""
