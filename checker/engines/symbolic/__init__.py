"""The symbolic engine: z3 answers questions about a transition system. States are z3 terms and are not enumerated."""
