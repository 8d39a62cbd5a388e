"""What happens in the end: properties of fair behaviours, decided on the graph that an exploration has found."""
