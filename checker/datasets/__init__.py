"""Datasets of reachable states: the result of an exploration on Spark, and questions about it.

`docs/spark.md` describes the files. A dataset is data: nothing in it is run, and it never chooses a user's
file to load.
"""
