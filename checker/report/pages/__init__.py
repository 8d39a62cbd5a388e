"""Pages for a browser: the result of a check or the story of a trace, as data and as HTML."""
