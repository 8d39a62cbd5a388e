"""Datasets of reachable states: the result of an exploration on Spark, and questions about it.

`docs/spark.md` describes the files. A dataset is only data. Nothing in a dataset is run, and no user's file is loaded
because a dataset names the file.
"""
