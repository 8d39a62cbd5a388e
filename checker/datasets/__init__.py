"""Datasets of reachable states: the result of an exploration on Spark, and questions about it.

`docs/spark.md` describes the files. A dataset is only data: nothing in it is run, and it never names a user's file that
is then loaded.
"""
