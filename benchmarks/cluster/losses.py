"""Tries to lose acknowledged records on a real cluster of three brokers, with unchanged Kafka.

`python -m benchmarks.cluster.losses missed-elections` forces the steps of docs/findings/missed-elections.md to happen
in this order: proxies before the nodes hold back requests, and brokers are stopped. `--late S` forces no steps. It only
delays the leader's requests to the controller by S seconds, under a steady load; with 0 there is no interference at
all. `--paused` instead stops the leader for a moment with SIGSTOP. This needs Java 17, Maven, about 2 GB of memory, and
half a minute for each try.
"""

from __future__ import annotations

import argparse
import json
from pathlib import Path
from tempfile import TemporaryDirectory

from benchmarks.cluster.running import Cluster, cluster
from benchmarks.cluster.tries import FINDINGS, Outcome, Try, Way
from isrcheck.checker.results.errors import CommandError
from isrcheck.checker.results.result import Exit


def tried(running: Cluster, finding: str, number: int, way: Way, out: Path | None) -> Outcome | None:
    """The outcome of one try; None if its steps could not be brought about."""
    one: Try = FINDINGS[finding](running, f"loss{number}", way)
    try:
        outcome = one.drive()
    except CommandError as failure:
        print(f"{number}: not brought about: {failure.message}; {'; '.join(one.run.done)}", flush=True)
        running.heal()
        return None
    print(f"{number}: {'; '.join(one.run.done)}", flush=True)
    print(f"{number}: {reported(outcome)}", flush=True)
    if out is not None:
        (out / f"{number}.json").write_text(json.dumps(one.left_behind()))
    return outcome


def reported(outcome: Outcome) -> str:
    """An outcome in one line."""
    read = f"{len(outcome.read)} records" if len(outcome.read) > 4 else ", ".join(outcome.read)
    sign = "" if outcome.signs else "not "
    return (
        f"{len(outcome.acknowledged)} acknowledged, a consumer reads {read}; what the finding is about is {sign}in the "
        f"log; lost: {', '.join(outcome.lost) or 'none'}"
    )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("finding", choices=sorted(FINDINGS))
    parser.add_argument("--tries", type=int, default=1)
    how = parser.add_mutually_exclusive_group()
    how.add_argument(
        "--late", type=float, metavar="S", help="force no steps; delay the leader's requests to the controller"
    )
    how.add_argument("--paused", action="store_true", help="force no steps; pause the leader (missed-elections)")
    parser.add_argument("--shut-down", action="store_true", help="stop the leader by SIGTERM instead of SIGKILL")
    parser.add_argument("--out", type=Path, help="keep the data of each try, for a recording")
    asked = parser.parse_args()
    if asked.paused and asked.finding != "missed-elections":
        parser.error("--paused is for missed-elections")
    if asked.out:
        asked.out.mkdir(parents=True, exist_ok=True)
    if asked.tries < 1 or (asked.late is not None and asked.late < 0):
        parser.error("--tries is at least 1, --late at least 0")
    is_guided = asked.late is None and not asked.paused
    way = Way(is_guided, asked.late or 0.0, asked.paused, asked.shut_down)
    found: list[Outcome | None] = []
    code = Exit.HOLDS
    try:
        with TemporaryDirectory(prefix="isrcheck-") as folder, cluster(Path(folder) / "cluster", True) as running:
            for number in range(asked.tries):
                found.append(tried(running, asked.finding, number, way, asked.out))
    except CommandError as failure:
        parser.exit(int(failure.code), f"{failure.message}\n")
    except KeyboardInterrupt:
        print("interrupted; of the tries that ended:", flush=True)
        code = Exit.INTERRUPTED
    came = [each for each in found if each is not None]
    print(
        f"{asked.finding}: {len(found)} tries, {len(came)} brought about; seen in the log of "
        f"{sum(each.signs > 0 for each in came)}; acknowledged records lost in {sum(bool(each.lost) for each in came)}"
    )
    parser.exit(int(code))


if __name__ == "__main__":
    main()
