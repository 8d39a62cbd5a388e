"""Pages for a browser: what a check found, and what a trace tells, as data and as HTML."""
