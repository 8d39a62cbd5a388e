"""The Spark engine: the kernel of the local engine, level by level, on a cluster.

`search.py` decides in the driver, which holds counts only. `tasks.py`, `steps.py`, `queries.py`, `kernels.py`,
`rows.py` and `files.py` are what executors run; they are sent there by value and import nothing of this project but
each other, `isrcheck.checker.datasets.places` and `isrcheck.checker.kernel.native`.
"""
