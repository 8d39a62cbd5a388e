"""The explorer, in which a user walks through a model: a page or a terminal shows which steps are possible, and why."""
