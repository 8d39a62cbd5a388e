"""What a model's methods compute with while they are traced: terms over a symbolic state.

A *term* is a scalar: an expression and the condition under which it is defined. A *structure* (record, sequence,
set of messages, per(...)) either lies at a *place* of the state, where it can be assigned, or is a value of its own.
Methods have the same names as in `plain`, which gives them their meaning on plain Python values.
"""
