"""Readable text for all reports: values, conditions, lines in columns, places of files."""
