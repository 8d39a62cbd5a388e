"""Exercises of the course: the tasks as data, and whether an answer is right."""
