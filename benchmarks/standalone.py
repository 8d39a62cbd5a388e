"""A standalone cluster of Spark that sets itself up and takes itself down, with executors and drivers killed on it.

    sudo python benchmarks/standalone.py kills [--times 40] [--bounds 3/3/3/1] [--seed 1]
    sudo python benchmarks/standalone.py check [OPTION ...]     # one check on it, with options of isrcheck check

A master, and two workers of one core each, every one of these in its own network, mount and host name space, with a
/tmp of its own: they share a folder and the programs, nothing else. Needs Linux, root, `ip` and `unshare`, and 4 GB.

`kills` asks kip-320 of the cluster again and again and kills, with SIGKILL, executors while they expand, while they
begin to fetch what others have expanded, and while they merge; every fourth time the driver, which then resumes. Each
result must be the one of the local engine. A line a kill; at the end how many there were of each kind.
"""

from __future__ import annotations

import argparse
import collections
import json
import os
import random
import shutil
import signal
import subprocess
import sys
import tempfile
import time
import urllib.request
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path
from socket import gethostname
from typing import Any, Final

import psutil

ROOT = Path(__file__).parent.parent
sys.path.insert(0, str(ROOT))
from benchmarks.spark_engine import assert_exact, settings_of  # noqa: E402

NET: Final = "10.77.0"
MASTER: Final = f"spark://{NET}.1:7077"
WORKERS: Final = (11, 12)
UI: Final = 4077
PHASES: Final = ("expand", "fetch", "merge", "driver")
CONF: Final = {
    "spark.driver.host": f"{NET}.1",
    "spark.driver.bindAddress": f"{NET}.1",
    "spark.ui.enabled": "true",
    "spark.ui.port": str(UI),
    "spark.executor.memory": "600m",
    "spark.pyspark.python": sys.executable,
}


def command(*words: str) -> None:
    subprocess.run(words, check=True, stdout=subprocess.DEVNULL)


# --- up and down ----------------------------------------------------------------------------------------------------


@contextmanager
def network() -> Iterator[None]:
    """A bridge with a name space for each worker behind it."""
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
            command("ip", "link", "set", f"isrc-p{n}", "netns", space)
            command("ip", "link", "set", f"isrc-v{n}", "master", "isrc-br", "up")
            command(*inside, "addr", "add", f"{NET}.{n}/24", "dev", f"isrc-p{n}")
            command(*inside, "link", "set", f"isrc-p{n}", "up")
            command(*inside, "link", "set", "lo", "up")
        yield


@contextmanager
def cluster(folder: Path) -> Iterator[list[psutil.Process]]:
    """A master and two workers, whose processes are given; logs lie in the folder."""
    import pyspark

    spark_class = str(Path(pyspark.__file__).parent / "bin/spark-class")
    host, _, port = MASTER.removeprefix("spark://").partition(":")
    master = [spark_class, "org.apache.spark.deploy.master.Master", "--host", host, "--port", port]
    begun = []
    with network():
        try:
            begun.append(started([*master, "--webui-port", "8077"], folder / "master.log"))
            for n in WORKERS:
                (folder / f"worker-{n}").mkdir()
                (folder / f"hosts-{n}").write_text(
                    f"127.0.0.1 localhost\n{NET}.{n} isrc-{n}\n{NET}.1 {gethostname()}\n"
                )
                names = f"hostname isrc-{n}; mount --bind {folder}/hosts-{n} /etc/hosts"
                mine = f"{names}; mount -t tmpfs none /tmp; export SPARK_LOCAL_IP={NET}.{n}"
                what = f"{spark_class} org.apache.spark.deploy.worker.Worker --host {NET}.{n} --cores 1 --memory 1g"
                words = f"{mine}; exec {what} --work-dir {folder}/worker-{n} {MASTER}"
                apart = ["ip", "netns", "exec", f"isrc-{n}", "unshare", "--mount", "--uts", "sh", "-ec", words]
                begun.append(started(apart, folder / f"worker-{n}.log"))
            yield [psutil.Process(process.pid) for process in begun[1:]]
        finally:
            for process in begun:
                ended(process)


def started(words: list[str], log: Path) -> subprocess.Popen[bytes]:
    with log.open("wb") as file:
        return subprocess.Popen(words, stdout=file, stderr=file, start_new_session=True)


def ended(process: subprocess.Popen[bytes]) -> None:
    """Ends a process and all that it began."""
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
    """What the cluster is at, as the driver's UI says; None where it is at nothing."""
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


def check_command(folder: Path, words: list[str]) -> list[str]:
    how = "--resume" if (folder / "dataset/dataset.json").exists() else "--checkpoint"
    spark = ["--engine", "spark", "--master", MASTER, "--spark-threshold", "0", "--partitions", "4"]
    conf = [x for name, value in CONF.items() for x in ("--conf", f"{name}={value}")]
    command = [sys.executable, "-m", "isrcheck", "check", "kip-320", *words, *spark, *conf, how]
    return [*command, str(folder / "dataset"), "--json", str(folder / "report.json")]


def kills(times: int, bounds: str, seed: int, conf: list[str]) -> None:
    words = [*settings_of(bounds), "--quiet", "--invariant", "weak-isr", *conf]
    chance, done = random.Random(seed), collections.Counter[str]()
    with tempfile.TemporaryDirectory(prefix="isrc-", dir="/var/tmp") as name:
        folder = Path(name)
        wanted = local(folder, words[: -len(conf)] if conf else words)
        with cluster(folder) as workers:
            checks = 0
            while done.total() < times or not checks:
                checks += one_check(folder, words, workers, times, chance, done)
                if (folder / "report.json").exists():
                    assert_exact(folder, wanted)
                    print(f"check {checks}: as the local engine says, to the byte", flush=True)
                    (folder / "report.json").unlink()
                    shutil.rmtree(folder / "dataset")
    print(f"{done.total()} kills ({', '.join(f'{done[x]} in {x}' for x in PHASES)}), {checks} checks, all exact")


def local(folder: Path, words: list[str]) -> dict[str, Any]:
    command = [sys.executable, "-m", "isrcheck", "check", "kip-320", *words, "--json", str(folder / "local.json")]
    subprocess.run(command, check=True, stdout=subprocess.DEVNULL, cwd=ROOT)
    found: dict[str, Any] = json.loads((folder / "local.json").read_text())
    return found


def one_check(
    folder: Path, words: list[str], workers: list[psutil.Process], times: int, chance: random.Random,
    done: collections.Counter[str],
) -> bool:  # fmt: skip
    """A check, with kills, until it or its driver ends; whether it came to its end."""
    with subprocess.Popen(check_command(folder, words), cwd=ROOT, stdout=subprocess.DEVNULL) as driver:
        aim, wait_for = chance.choice(PHASES), levels_of(folder) + chance.randint(1, 3)
        while driver.poll() is None:
            time.sleep(0.02)
            whole = levels_of(folder)
            if done.total() >= times or whole < wait_for:
                continue
            now, there = phase(), executors(workers)
            if now is None or aim not in ("driver", now) or not there:
                # Some phases of small levels are too short to be seen: another one after a while.
                aim = aim if chance.random() < 0.97 else chance.choice(PHASES)
                continue
            done[aim] += 1
            print(f"kill {done.total()}: {aim if aim != 'driver' else f'driver in {now}'}, level {whole}", flush=True)
            if aim == "driver":
                driver.send_signal(signal.SIGKILL)
                driver.wait()
                return False
            with suppress(psutil.Error):
                chance.choice(there).kill()
            aim, wait_for = chance.choice(PHASES), whole + chance.randint(0, 2)
        if driver.returncode not in (0, 12):
            raise SystemExit(f"the check ended with {driver.returncode}")
    return True


def levels_of(folder: Path) -> int:
    return len(list(folder.glob("dataset/manifests/level-*.json")))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("what", choices=("kills", "check"))
    parser.add_argument("--times", type=int, default=40)
    parser.add_argument("--bounds", default="3/3/3/1")
    parser.add_argument("--seed", type=int, default=1)
    given, rest = parser.parse_known_args()
    if os.geteuid():
        raise SystemExit("name spaces need root")
    if given.what == "kills":
        kills(given.times, given.bounds, given.seed, rest)
        return
    with tempfile.TemporaryDirectory(prefix="isrc-", dir="/var/tmp") as name, cluster(Path(name)):
        raise SystemExit(subprocess.run(check_command(Path(name), [*settings_of(given.bounds), *rest])).returncode)


if __name__ == "__main__":
    main()
