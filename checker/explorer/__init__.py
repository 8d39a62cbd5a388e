"""A model walked by hand: what may happen in a state, what may not and why, on a page that this machine serves."""
