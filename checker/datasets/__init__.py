"""Datasets of reachable states: what an exploration on Spark leaves behind, and what can be asked of it.

`docs/spark.md` describes the files. A dataset is data: nothing in it is run, and it names no code.
"""
