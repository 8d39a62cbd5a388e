"""Exercises of the course: what is asked, as data, and whether an answer is right."""
