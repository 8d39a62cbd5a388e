"""Options of the local engine in every combination."""
