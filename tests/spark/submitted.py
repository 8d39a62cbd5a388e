"""A program for spark-submit: runs a check, then reports Spark's settings and the names of the jobs in the UI."""

from __future__ import annotations

import json
import sys
import urllib.request


def main(report: str, settings: str) -> None:
    from pyspark.sql import SparkSession

    from isrcheck import check
    from isrcheck.checker.engines.spark.cluster import Cluster
    from isrcheck.checker.results.exploration import Limits

    cluster, limits = Cluster(threshold=0, partitions=2), Limits(states=20)
    result = check("kip-320", json.loads(settings), engine="spark", cluster=cluster, limits=limits)
    context = SparkSession.builder.getOrCreate().sparkContext
    jobs = f"{context.uiWebUrl}/api/v1/applications/{context.applicationId}/jobs"
    with urllib.request.urlopen(jobs) as answer:
        descriptions = [job["description"] for job in json.load(answer)]
    said = {"conf": dict(context.getConf().getAll()), "jobs": descriptions, **result.to_json()}
    with open(report, "w", encoding="utf-8") as file:
        json.dump(said, file)


if __name__ == "__main__":
    main(*sys.argv[1:])
