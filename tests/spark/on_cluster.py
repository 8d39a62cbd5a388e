"""A program for executors without this project: runs a check, then reports the modules loaded by their processes.

python on_cluster.py MASTER DATASET REPORT SETTINGS
"""

from __future__ import annotations

import json
import sys
from collections.abc import Iterable, Iterator
from typing import Any


def loaded(batches: Iterable[Any]) -> Iterator[Any]:
    import pyarrow as pa

    names = sorted({name.partition(".")[0] for name in sys.modules} & {"isrcheck", "numba"})
    for _ in batches:
        yield pa.RecordBatch.from_arrays([pa.array([",".join(names)])], ["names"])


def main(master: str, dataset: str, report: str, settings: str) -> None:
    from isrcheck import check
    from isrcheck.checker.engines.spark.cluster import Cluster
    from isrcheck.checker.engines.spark.session import Spark

    cluster = Cluster(master=master, threshold=0, partitions=2, checkpoint=dataset)
    result = check("kip-320", json.loads(settings), engine="spark", cluster=cluster)
    spark = Spark(cluster)
    found = spark.session.range(0, 8, 1, 8).mapInArrow(loaded, "names string").collect()
    with open(report, "w", encoding="utf-8") as file:
        json.dump({**result.to_json(), "loaded": sorted({name for (name,) in found})}, file)


if __name__ == "__main__":
    main(*sys.argv[1:])
