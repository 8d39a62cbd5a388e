"""Which behaviours only one of two models has: inclusion of histories, and the telling of the first difference."""
