"""Sets up a standalone Spark cluster, runs checks on it while it kills executors and drivers, and removes the cluster.

    sudo python benchmarks/standalone.py kills [--times 40] [--bounds 3/3/3/1] [--seed 1] [--s3]
    sudo python benchmarks/standalone.py check [--s3] [OPTION ...]     # one check on it, with options of isrcheck check

The cluster has a master and two workers of one core each. Each worker has its own network, mount and host name space
and its own /tmp. So the workers share only one folder and the programs. With --s3 this folder is hidden from them, and
the dataset is in an S3 server (moto) beside the driver, which they reach only by the network. The program needs Linux,
root, `ip` and `unshare`, 4 GB, and for --s3 `pip install 'moto[server]'`.

`kills` checks kip-320 on the cluster again and again. It kills executors with SIGKILL while they expand, while they
begin to fetch the results of others, and while they merge. About every fourth time it kills the driver, which then
resumes. Each result must be equal to that of the local engine; `check` compares its result in the same way. The program
prints a line for each kill, and a table at the end.
"""

from __future__ import annotations

import argparse
import collections
import json
import os
import random
import signal
import subprocess
import sys
import tempfile
import time
import urllib.request
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from socket import gethostname
from typing import Any, Final

import psutil

ROOT = Path(__file__).parent.parent
sys.path.insert(0, str(ROOT))
from benchmarks.spark_engine import assert_exact, settings_of  # noqa: E402
from isrcheck.checker.datasets.storage import Storage  # noqa: E402

NET: Final = "10.77.0"
MASTER: Final = f"spark://{NET}.1:7077"
WORKERS: Final = (11, 12)
UI: Final = 4077
PHASES: Final = ("expand", "fetch", "merge")
KEYS: Final = {"AWS_ACCESS_KEY_ID": "a", "AWS_SECRET_ACCESS_KEY": "b", "AWS_EC2_METADATA_DISABLED": "true"}
SERVER: Final = """
import sys, boto3
from moto.server import ThreadedMotoServer
server = ThreadedMotoServer(ip_address=sys.argv[1], port=0, verbose=False)
server.start()
host, port = server.get_host_and_port()
boto3.client("s3", endpoint_url=f"http://{host}:{port}", region_name="us-east-1").create_bucket(Bucket="mine")
print(f"{host}:{port}", flush=True)
sys.stdin.read()
"""
CONF: Final = {
    "spark.driver.host": f"{NET}.1",
    "spark.driver.bindAddress": f"{NET}.1",
    "spark.ui.enabled": "true",
    "spark.ui.port": str(UI),
    "spark.executor.memory": "600m",
    "spark.pyspark.python": sys.executable,
}


Kills = collections.Counter[tuple[str, str]]
"""How often an executor or a driver was killed in each phase."""


@dataclass(frozen=True)
class Place:
    """A folder for logs and reports, and the root of the dataset."""

    folder: Path
    root: str

    @property
    def report(self) -> Path:
        return self.folder / "report.json"

    def levels(self) -> int:
        return sum(name.startswith("level-") for name in Storage(self.root).names("manifests"))

    def begin_anew(self) -> None:
        self.report.unlink()
        Storage(self.root).remove("")


def command(*words: str) -> None:
    subprocess.run(words, check=True, stdout=subprocess.DEVNULL)


# --- up and down ----------------------------------------------------------------------------------------------------


@contextmanager
def network() -> Iterator[None]:
    """A network bridge with a name space for each worker behind it."""
    with ExitStack() as leaving:
        command("ip", "link", "add", "isrc-br", "type", "bridge")
        leaving.callback(command, "ip", "link", "del", "isrc-br")
        command("ip", "addr", "add", f"{NET}.1/24", "dev", "isrc-br")
        command("ip", "link", "set", "isrc-br", "up")
        for n in WORKERS:
            space, inside = f"isrc-{n}", ("ip", "netns", "exec", f"isrc-{n}", "ip")
            command("ip", "netns", "add", space)
            leaving.callback(command, "ip", "netns", "del", space)
            command("ip", "link", "add", f"isrc-v{n}", "type", "veth", "peer", "name", f"isrc-p{n}")
            # A name space disappears only after its last process, which may take a while. This interface is removed
            # immediately.
            leaving.callback(command, "ip", "link", "del", f"isrc-v{n}")
            command("ip", "link", "set", f"isrc-p{n}", "netns", space)
            command("ip", "link", "set", f"isrc-v{n}", "master", "isrc-br", "up")
            command(*inside, "addr", "add", f"{NET}.{n}/24", "dev", f"isrc-p{n}")
            command(*inside, "link", "set", f"isrc-p{n}", "up")
            command(*inside, "link", "set", "lo", "up")
        yield


@contextmanager
def store() -> Iterator[str]:
    """The root of a dataset in an S3 server that listens on the bridge."""
    os.environ.update(KEYS)
    words = [sys.executable, "-c", SERVER, f"{NET}.1"]
    with subprocess.Popen(
        words, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True
    ) as server:
        assert server.stdout is not None
        where = server.stdout.readline().strip()
        try:
            if not where:
                raise SystemExit("--s3 needs moto: pip install 'moto[server]'")
            yield f"s3://mine/dataset?endpoint_override={where}&scheme=http&region=us-east-1"
        finally:
            server.kill()


@contextmanager
def cluster(folder: Path, s3: bool) -> Iterator[tuple[Place, list[psutil.Process]]]:
    """A master and two workers. Gives the place of the dataset and the workers' processes. Logs are in the folder."""
    import pyspark

    spark_class = str(Path(pyspark.__file__).parent / "bin/spark-class")
    host, _, port = MASTER.removeprefix("spark://").partition(":")
    master = [spark_class, "org.apache.spark.deploy.master.Master", "--host", host, "--port", port]
    begun, hidden = [], f"mount -t tmpfs none {folder}" if s3 else "true"
    with network(), ExitStack() as leaving:
        root = leaving.enter_context(store()) if s3 else str(folder / "dataset")
        try:
            begun.append(started([*master, "--webui-port", "8077"], folder / "master.log"))
            for n in WORKERS:
                (folder / f"hosts-{n}").write_text(
                    f"127.0.0.1 localhost\n{NET}.{n} isrc-{n}\n{NET}.1 {gethostname()}\n"
                )
                names = f"hostname isrc-{n}; mount --bind {folder}/hosts-{n} /etc/hosts"
                mine = f"{names}; {hidden}; mount -t tmpfs none /tmp; cd /tmp; export SPARK_LOCAL_IP={NET}.{n}"
                what = f"{spark_class} org.apache.spark.deploy.worker.Worker --host {NET}.{n} --cores 1 --memory 1g"
                words = f"{mine}; exec {what} --work-dir /tmp/work {MASTER}"
                apart = ["ip", "netns", "exec", f"isrc-{n}", "unshare", "--mount", "--uts", "sh", "-ec", words]
                begun.append(started(apart, folder / f"worker-{n}.log"))
            yield Place(folder, root), [psutil.Process(process.pid) for process in begun[1:]]
        finally:
            for process in begun:
                ended(process)


def started(words: list[str], log: Path) -> subprocess.Popen[bytes]:
    with log.open("wb") as file:
        return subprocess.Popen(words, stdout=file, stderr=file, start_new_session=True)


def ended(process: subprocess.Popen[bytes]) -> None:
    """Ends a process and all its descendants."""
    with suppress(psutil.Error):
        for child in psutil.Process(process.pid).children(recursive=True):
            with suppress(psutil.Error):
                child.kill()
    process.kill()
    process.wait()


# --- kills ----------------------------------------------------------------------------------------------------------


def executors(workers: list[psutil.Process]) -> list[psutil.Process]:
    found = []
    for worker in workers:
        with suppress(psutil.Error):
            for process in worker.children(recursive=True):
                with suppress(psutil.Error):
                    if "org.apache.spark.executor.CoarseGrainedExecutorBackend" in process.cmdline():
                        found.append(process)
    return sorted(found, key=lambda process: process.pid)


def phase() -> str | None:
    """The phase of the cluster's work according to the driver's UI; None if it is idle."""
    try:
        base = f"http://{NET}.1:{UI}/api/v1/applications"
        name = asked(base)[0]["id"]
        job = asked(f"{base}/{name}/jobs?status=running")[0]
        active = [x for x in asked(f"{base}/{name}/stages?status=active") if x["numActiveTasks"]]
    except (OSError, ValueError, LookupError):
        return None
    if not active:
        return None
    if not job["numCompletedStages"]:
        return "expand"
    return "merge" if active[0]["shuffleReadBytes"] or active[0]["numCompleteTasks"] else "fetch"


def asked(url: str) -> Any:
    with urllib.request.urlopen(url, timeout=1) as answer:
        return json.load(answer)


def check_command(place: Place, words: list[str]) -> list[str]:
    how = "--resume" if Storage(place.root).exists("dataset.json") else "--checkpoint"
    spark = ["--engine", "spark", "--master", MASTER, "--spark-threshold", "0", "--partitions", "4"]
    keys = {f"spark.executorEnv.{name}": value for name, value in KEYS.items()}
    conf = [x for name, value in {**CONF, **keys}.items() for x in ("--conf", f"{name}={value}")]
    command = [sys.executable, "-m", "isrcheck", "check", "kip-320", *words, *spark, *conf, how]
    return [*command, place.root, "--json", str(place.report)]


def kills(times: int, bounds: str, seed: int, s3: bool) -> None:
    words = [*settings_of(bounds), "--quiet", "--invariant", "weak-isr"]
    chance, done = random.Random(seed), Kills()
    with tempfile.TemporaryDirectory(prefix="isrc-", dir="/var/tmp") as name:
        wanted = local(Path(name), words)
        with cluster(Path(name), s3) as (place, workers):
            checks = 0
            while done.total() < times or not checks:
                checks += one_check(place, words, workers, times, chance, done)
                if place.report.exists():
                    assert_exact(place.folder, wanted)
                    print(f"check {checks}: as the local engine says, to the byte", flush=True)
                    place.begin_anew()
    print(f"\n{'killed':10}" + "".join(f"{phase:>8}" for phase in PHASES))
    for who in ("executor", "driver"):
        print(f"{who:10}" + "".join(f"{done[who, phase]:8}" for phase in PHASES))
    print(f"{done.total()} kills, {checks} checks, all exact")


def one_exact_check(bounds: str, s3: bool, rest: list[str]) -> None:
    words = [*settings_of(bounds), *rest]
    with tempfile.TemporaryDirectory(prefix="isrc-", dir="/var/tmp") as name:
        wanted = local(Path(name), words)
        with cluster(Path(name), s3) as (place, _):
            code = subprocess.run(check_command(place, words), cwd=ROOT).returncode
            assert_exact(place.folder, wanted)
            print(f"{place.root}: {place.levels()} levels, as the local engine says, to the byte")
    raise SystemExit(code)


def local(folder: Path, words: list[str]) -> dict[str, Any]:
    command = [sys.executable, "-m", "isrcheck", "check", "kip-320", *words, "--json", str(folder / "local.json")]
    if subprocess.run(command, stdout=subprocess.DEVNULL, cwd=ROOT).returncode not in (0, 10, 12):
        raise SystemExit("the local engine does not answer")
    found: dict[str, Any] = json.loads((folder / "local.json").read_text())
    return found


def one_check(
    place: Place, words: list[str], workers: list[psutil.Process], times: int, chance: random.Random, done: Kills
) -> bool:
    """Runs a check, with kills, until it ends or its driver is killed. Returns whether the check ended."""
    with subprocess.Popen(check_command(place, words), cwd=ROOT, stdout=subprocess.DEVNULL) as driver:
        aim, wait_for = chance.choice((*PHASES, "driver")), place.levels() + chance.randint(1, 3)
        while driver.poll() is None:
            time.sleep(0.02)
            whole = place.levels()
            if done.total() >= times or whole < wait_for:
                continue
            now, there = phase(), executors(workers)
            if now is None or aim not in ("driver", now) or not there:
                # Some phases of small levels are too short to be observed, so the aim changes after a while.
                aim = aim if chance.random() < 0.97 else chance.choice((*PHASES, "driver"))
                continue
            who = "driver" if aim == "driver" else "executor"
            done[who, now] += 1
            print(f"kill {done.total()}: {who} in {now}, level {whole}", flush=True)
            if who == "driver":
                driver.send_signal(signal.SIGKILL)
                driver.wait()
                return False
            with suppress(psutil.Error):
                chance.choice(there).kill()
            aim, wait_for = chance.choice((*PHASES, "driver")), whole + chance.randint(0, 2)
        if driver.returncode not in (0, 12):
            raise SystemExit(f"the check ended with {driver.returncode}")
    return True


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("what", choices=("kills", "check"))
    parser.add_argument("--times", type=int, default=40)
    parser.add_argument("--bounds", default="3/3/3/1")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--s3", action="store_true", help="put the dataset into an S3 server")
    given, rest = parser.parse_known_args()
    if os.geteuid():
        raise SystemExit("name spaces need root")
    if given.what == "kills":
        kills(given.times, given.bounds, given.seed, given.s3)
    else:
        one_exact_check(given.bounds, given.s3, rest)


if __name__ == "__main__":
    main()
