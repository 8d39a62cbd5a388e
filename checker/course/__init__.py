"""Exercises of the course: the tasks as data, and the grading of answers."""
