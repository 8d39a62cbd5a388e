"""Words and numbers as people read them: values, lines in columns, where a file lies; of these all reports are made."""
