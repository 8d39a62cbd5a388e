"""The symbolic engine: z3 answers questions about a transition system. States are terms and are not enumerated."""
