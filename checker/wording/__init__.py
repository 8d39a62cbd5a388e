"""Readable text for all reports: values, conditions, lines in columns, paths of files."""
