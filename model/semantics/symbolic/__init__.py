"""The values that a model's methods receive from a symbolic state during tracing: terms and structures.

A *term* is a scalar: an expression and the condition under which the expression is defined. A *structure* (record,
sequence, set of messages, per(...)) either is a computed value or lies at a *place* of the state, where it can be
assigned. Terms and structures have the same methods as the values in `plain`, which are plain Python data.
"""
