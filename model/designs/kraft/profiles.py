"""The profiles of `kraft`: named settings with their descriptions. `plain` is used unless another profile is named.

`isrcheck models kraft` prints the size of each profile.
"""

from __future__ import annotations

from typing import Any, Final

Profiles = dict[str, tuple[dict[str, Any], str]]

_MENDED: Final = {"equal_version": "keeps-pending", "follower_state": "kept-unless-skipped"}
_THREE: Final = {
    **_MENDED,
    "min_isr": 2,
    "log_size": 1,
    "max_leader_epoch": 1,
    "max_version": 2,
    "metadata_lag": 1,
    "crashes": 1,
    "election": "in-order",
    "first_replica": 1,
}

KRAFT: Final[Profiles] = {
    "plain": (
        {**_THREE, "fetch": "one-step"},
        "three replicas, min.insync.replicas 2, eligible leader replicas, a crash, an expired session and a new "
        "leader, fetches noted as they are read, with the two changes of makeLeader that Kafka 4.4 lacks: holds; Kafka "
        "4.4 as it is is as-written",
    ),
    "as-written": (
        {"replicas": 2, "log_size": 1, "max_leader_epoch": 1, "max_version": 2, "fetch": "one-step"},
        "makeLeader as in Kafka 4.4, two replicas: violated, since a record of metadata that a leader knows already "
        "makes it forget whom it has asked to add: scenario kraft-record-of-the-same-version-forgets-an-expansion",
    ),
    "with-fixes": (
        {
            **_MENDED,
            "replicas": 2,
            "min_isr": 2,
            "log_size": 1,
            "max_leader_epoch": 3,
            "max_version": 5,
            "lossy_crashes": 1,
            "fetch": "one-step",
        },
        "two replicas and eligible leader replicas, a crash that loses records, three new leaders: holds",
    ),
    "worst-case": (
        {**_THREE, "metadata_lag": 2, "expiries": 0},
        "three replicas, a crash, answers to fetches that come late, metadata of which brokers skip batches: holds",
    ),
}
