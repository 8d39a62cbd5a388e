"""The symbolic engine: z3 answers questions about a transition system, whose states are terms and not enumerated."""
