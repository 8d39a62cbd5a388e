"""The Spark engine: explores level by level on a cluster, with the kernel of the local engine.

`search.py` makes the decisions in the driver, which keeps only counts and names of files between levels. Executors run
`tasks.py`, `steps.py`, `queries.py`, `backwards.py`, `decoding.py`, `kernels.py`, `rows.py` and `files.py`, and Spark
sends these modules to executors by value. Of this project, these modules import only each other,
`isrcheck.checker.datasets.places` and `isrcheck.checker.kernel.native`.
"""
