"""Liveness: properties of fair behaviours, decided on the graph that an exploration has found."""
