"""The values that a model's methods receive from a symbolic state during tracing: terms and structures.

A *term* is a scalar: an expression and the condition under which the expression is defined. A *structure* (record,
sequence, set of messages, per(...)) lies at a *place* of the state, where it can be assigned, or is a computed value.
Methods have the same names as in `plain`, which defines them on plain Python values.
"""
