"""The Spark engine: the kernel of the local engine, level by level, on a cluster.

`search.py` makes the decisions in the driver, which holds only counts. Executors run `tasks.py`, `steps.py`,
`queries.py`, `kernels.py`, `rows.py` and `files.py`. These are sent to them by value. Of this project they import only
each other, `isrcheck.checker.datasets.places` and `isrcheck.checker.kernel.native`.
"""
