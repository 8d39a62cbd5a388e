"""Datasets of reachable states: the result of an exploration on Spark, and questions about it.

`docs/how-to/spark.md` describes the files. A dataset is only data. isrcheck runs nothing that is in a dataset. If a
dataset names a user's file, this alone does not make isrcheck load the file.
"""
