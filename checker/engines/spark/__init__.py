"""The Spark engine: explores level by level on a cluster, with the kernel (compiled functions) of the local engine.

`spark_search.py` makes the decisions in the driver, which keeps only counts and names of files between levels. States
are divided among *partitions* by their hashes: a partition is a range of hashes, and a task does the work of one
partition.

Executors run `tasks.py`, `step_files.py`, `executor_queries.py`, `backward_search.py`, `decoder.py`,
`executor_kernels.py`, `row_order.py` and `state_files.py`. Spark sends these modules *by value*, as code, because
executors need not have isrcheck. The modules import one another, and only two other modules of this project:
`isrcheck.checker.datasets.places` and `isrcheck.checker.kernel.llvm_compiler`. Spark sends `places` and `native` by
value, too.
"""
