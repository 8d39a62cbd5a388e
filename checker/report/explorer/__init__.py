"""The explorer, in which a user walks through a model: a page or a terminal shows which steps are possible.

On request, the explorer also shows why an action instance is disabled, or why an invariant is false.
"""
