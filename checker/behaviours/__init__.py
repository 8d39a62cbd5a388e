"""Which behaviour one model has and another has not: inclusion of histories, and how the first difference is told."""
