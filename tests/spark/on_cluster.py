"""Run as a program where this project is not installed for executors: a check, then what their processes have loaded.

python on_cluster.py ROOT MASTER DATASET REPORT SETTINGS
"""

from __future__ import annotations

import json
import sys
from collections.abc import Iterable, Iterator
from typing import Any


def loaded(batches: Iterable[Any]) -> Iterator[Any]:
    import pyarrow as pa

    names = sorted({name.partition(".")[0] for name in sys.modules} & {"checker", "model", "invariants", "numba"})
    for _ in batches:
        yield pa.RecordBatch.from_arrays([pa.array([",".join(names)])], ["names"])


def main(root: str, master: str, dataset: str, report: str, settings: str) -> None:
    sys.path.insert(0, root)
    from checker import check
    from checker.engines.spark.cluster import Cluster
    from checker.engines.spark.session import Spark

    cluster = Cluster(master=master, threshold=0, partitions=2, checkpoint=dataset)
    result = check("kip-320", json.loads(settings), engine="spark", cluster=cluster)
    spark = Spark(cluster)
    found = spark.session.range(0, 8, 1, 8).mapInArrow(loaded, "names string").collect()
    with open(report, "w", encoding="utf-8") as file:
        json.dump({**result.to_json(), "loaded": sorted({name for (name,) in found})}, file)


if __name__ == "__main__":
    main(*sys.argv[1:])
