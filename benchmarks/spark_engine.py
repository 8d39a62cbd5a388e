"""Measures the speed, memory and reliability of the Spark engine, beside the local engine and a simple Spark program.

    python benchmarks/spark_engine.py speed [--large] [--rounds 3]    # tables; best on a quiet machine, 2 cores
    python benchmarks/spark_engine.py plain BOUNDS       # mapInArrow, dropDuplicates, left_anti join
    python benchmarks/spark_engine.py kills [--times 20] # drivers and executors killed at random points
    python benchmarks/spark_engine.py agreement          # every scenario, every model for 1, 2 and 7 partitions

`speed` runs kip-320 at 3/3/3/2 (4.09 million states) with all three. With --large it runs 3/3/3/3 (64.7 million states)
with the local engine and Spark. The threshold is 0, and every figure is from a process of its own. Wall-clock times
begin after the start of the session. Processor seconds are those of all processes, including their start. The compared
programs take turns, round after round.
"""

from __future__ import annotations

import argparse
import itertools
import json
import os
import random
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterable, Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any

import numpy as np
import psutil

ROOT = Path(__file__).parent.parent
sys.path.insert(0, str(ROOT))
NAMES = ("replicas", "log_size", "max_records", "max_leader_epoch")
MASTER = "local[2]"
CLUSTER = "local-cluster[2,1,1024]"
TARGETS = {"plain / spark, wall, median": "at least 4", "plain / spark, CPU, median": "at least 4",
           "overhead s a level": "at most 0.5", "3/3/3/3 s": "at most 600",
           "3/3/3/3 GB": "at most 12", "large over small, wall": "at most 1.5",
           "large over small, tasks": "at most 1.5"}  # fmt: skip


def settings_of(bounds: str) -> list[str]:
    return [x for pair in zip(NAMES, bounds.split("/"), strict=True) for x in ("-s", "=".join(pair))]


def watched(command: list[str]) -> tuple[float, float, float]:
    """Runs a command. Returns its wall-clock seconds, and the peak memory and CPU seconds of all its processes."""
    begin, most, cpu = time.perf_counter(), 0, dict[tuple[int, float], float]()
    with subprocess.Popen(command, cwd=ROOT, stdout=subprocess.DEVNULL) as p:
        while p.poll() is None:
            there = [psutil.Process(p.pid), *_children(p.pid)]
            most = max(most, sum(_bytes(x) for x in there))
            for process in there:
                with suppress(psutil.Error):
                    # The last measurement of a process is at most a fifth of a second before its end.
                    times = process.cpu_times()
                    cpu[process.pid, process.create_time()] = times.user + times.system
            time.sleep(0.2)
        if p.returncode not in (0, 12):
            raise SystemExit(f"{' '.join(command)} ended with {p.returncode}")
    return time.perf_counter() - begin, most, sum(cpu.values())


def _children(pid: int) -> list[psutil.Process]:
    try:
        return psutil.Process(pid).children(recursive=True)
    except psutil.Error:
        return []


def _bytes(process: psutil.Process) -> int:
    try:
        # The proportional set size (pss), if the system has it, counts memory that processes share only once.
        memory = process.memory_full_info()
        return int(getattr(memory, "pss", 0) or memory.rss)
    except psutil.Error:
        return 0


def check(bounds: str, *options: str) -> dict[str, Any]:
    """The JSON of a check of kip-320, with the wall-clock seconds, bytes and CPU seconds of all its processes."""
    with tempfile.TemporaryDirectory() as folder:
        report = Path(folder) / "report.json"
        command = [sys.executable, "-m", "isrcheck", "check", "kip-320", *settings_of(bounds), "--quiet"]
        wall, size, cpu = watched([*command, "--invariant", "weak-isr", "--json", str(report), *options])
        data: dict[str, Any] = json.loads(report.read_text())
    return {**data, "wall": wall, "bytes": size, "cpu": cpu}


def on_spark(bounds: str) -> dict[str, Any]:
    return check(bounds, "--engine", "spark", "--master", MASTER, "--spark-threshold", "0")


# --- speed ----------------------------------------------------------------------------------------------------------


def fitted(found: dict[str, Any], *clocks: str) -> tuple[float, float]:
    """The seconds for a level and for a state, by least squares over the levels except the first two, which compile.

    The seconds are those of the wall clock (small levels leave processors idle), or the sums of the tasks' `clocks`.
    """
    levels = [x for x in found["spark"]["levels"] if x["level"] > 2]
    states = np.array([found["levels"][x["level"] - 1] for x in levels], dtype=float)
    seconds = np.array([sum(x[clock] for clock in clocks or ("seconds",)) for x in levels])
    (slope, level), *_ = np.linalg.lstsq(np.stack([states, np.ones_like(states)], axis=1), seconds, rcond=None)
    return float(level), float(slope)


def show_levels(found: dict[str, Any]) -> None:
    heads = ("expand s", 10), ("merge s", 9), ("skew", 6), ("read MB", 9), ("sent MB", 9), ("written MB", 12)
    print(f"{'level':>6}{'states':>12}{'s':>8}" + "".join(f"{head:>{width}}" for head, width in heads))
    for x in found["spark"]["levels"]:
        sizes = (x[f"bytes_{name}"] / 1e6 for name in ("read", "exchanged", "written"))
        read, sent, written = sizes
        print(
            f"{x['level']:6}{found['levels'][x['level'] - 1]:12,}{x['seconds']:8.2f}{x['expand_seconds']:10.2f}"
            f"{x['merge_seconds']:9.2f}{x['skew']:6.2f}{read:9.1f}{sent:9.1f}{written:12.1f}"
        )


def row(name: str, value: float, digits: int = 2) -> None:
    print(f"{name:36}{value:14,.{digits}f}   {TARGETS.get(name, '')}")


def speed(show: bool, rounds: int) -> None:
    local, ratios = check("3/3/3/2"), []
    row("3/3/3/2 local s", local["seconds"]["search"])
    for number in range(1, rounds + 1):
        spark, plainest = on_spark("3/3/3/2"), on_plain("3/3/3/2")
        assert (local["levels"], local["actions"]) == (spark["levels"], spark["actions"])
        assert plainest["levels"] == spark["levels"]
        wall = plainest["seconds"] / spark["seconds"]["search"]
        ratios.append((wall, plainest["cpu"] / spark["cpu"]))
        print(
            f"round {number}: spark {spark['seconds']['search']:.1f} s wall, {spark['cpu']:.1f} s CPU; plain "
            f"{plainest['seconds']:.1f} s wall, {plainest['cpu']:.1f} s CPU", flush=True,
        )  # fmt: skip
    if show:
        show_levels(spark)
    row("session and compile s", spark["seconds"]["spark"] + spark["seconds"]["compile"])
    for words, column in (("wall", 0), ("CPU", 1)):
        row(f"plain / spark, {words}, median", sorted(pair[column] for pair in ratios)[rounds // 2])
    level, state = fitted(spark)
    row("overhead s a level", level)
    row("marginal us a state", 1e6 * state)
    row("3/3/3/2 GB", spark["bytes"] / 1e9)


def on_plain(bounds: str) -> dict[str, Any]:
    with tempfile.TemporaryDirectory() as folder:
        report = Path(folder) / "plain.json"
        *_, cpu = watched([sys.executable, __file__, "plain", bounds, "--json", str(report)])
        return {**json.loads(report.read_text()), "cpu": cpu}


def large(show: bool) -> None:
    local, spark, huge = check("3/3/3/3"), on_spark("3/3/3/2"), on_spark("3/3/3/3")
    assert (local["levels"], local["actions"]) == (huge["levels"], huge["actions"])
    if show:
        show_levels(huge)
    row("3/3/3/3 local s", local["seconds"]["search"])
    row("3/3/3/3 s", huge["seconds"]["search"])
    row("3/3/3/3 GB", huge["bytes"] / 1e9)
    for name, found in (("3/3/3/2", spark), ("3/3/3/3", huge)):
        row(f"{name} CPU us a state, all processes", 1e6 * found["cpu"] / found["distinct"])
    for words, clocks in (("wall", ("seconds",)), ("tasks", ("expand_seconds", "merge_seconds"))):
        small, more = fitted(spark, *clocks)[1], fitted(huge, *clocks)[1]
        row(f"3/3/3/2 marginal us a state, {words}", 1e6 * small)
        row(f"3/3/3/3 marginal us a state, {words}", 1e6 * more)
        row(f"large over small, {words}", more / small)
    for what in ("read", "exchanged", "written"):
        total = sum(x[f"bytes_{what}"] for x in huge["spark"]["levels"])
        row(f"3/3/3/3 bytes a state, {what}", total / huge["distinct"])


def threshold(bounds: str) -> None:
    """Prints the seconds of each level by the driver and by Spark. The threshold is where Spark becomes faster."""
    driver = check(bounds, "--engine", "spark", "--master", MASTER, "--spark-threshold", str(10**12))
    spark = on_spark(bounds)
    print(f"{'level':>6}{'states':>12}{'driver s':>10}{'spark s':>10}")
    for one, other in zip(driver["spark"]["levels"], spark["spark"]["levels"], strict=True):
        states = driver["levels"][one["level"] - 1]
        print(f"{one['level']:6}{states:12,}{one['seconds']:10.2f}{other['seconds']:10.2f}")


# --- the plainest version -------------------------------------------------------------------------------------------


def plain(bounds: str, report: str | None) -> None:
    """A simple search on Spark: levels as Parquet; expand, drop duplicates, remove the states of all earlier levels."""
    from isrcheck.checker.engines.spark import executor_kernels
    from isrcheck.checker.engines.spark.cluster import Cluster
    from isrcheck.checker.engines.spark.session import Spark
    from isrcheck.checker.engines.spark.spark_search import sizes
    from isrcheck.checker.kernel.compiled import Kernel
    from isrcheck.checker.registry.loader import load_model_class
    from isrcheck.model.semantics.tracing import trace

    loaded = load_model_class("kip-320")
    settings = dict(zip(NAMES, map(int, bounds.split("/")), strict=True))
    system = trace(loaded.cls(**settings), loaded.chosen(("weak-isr",)))
    kernel = Kernel(system)
    conf = {"spark.sql.adaptive.enabled": "true", "spark.sql.execution.arrow.maxRecordsPerBatch": "10000",
            "spark.sql.shuffle.partitions": "4", "spark.driver.extraJavaOptions": "-Xss4m",
            "spark.driver.memory": "4g"}  # fmt: skip
    spark = Spark(Cluster(master=MASTER, conf=conf))
    session, work = spark.session, {"kernel": sizes(kernel, False)}
    spark.send(work, kernel.text)
    columns = [f"w{i}" for i in range(kernel.words)]

    def expand(batches: Iterable[Any]) -> Iterator[Any]:
        import pyarrow as pa

        compiled = executor_kernels.kernel_of(work)
        for batch in batches:
            states = np.stack([np.asarray(column) for column in batch.columns], axis=1).view(np.uint64)
            for start in range(0, len(states), compiled.block):
                found = compiled.expand(states[start : start + compiled.block], compiled.tally()).view(np.int64).copy()
                yield pa.RecordBatch.from_arrays([pa.array(column) for column in found.T], columns)

    folder, schema = Path(tempfile.mkdtemp()), ", ".join(f"{name} bigint" for name in columns)
    begin, levels, names = time.perf_counter(), [], [str(folder / "1")]
    first = kernel.layout.pack(system.initial).view(np.int64).tolist()
    session.createDataFrame([tuple(r) for r in first], schema).write.parquet(names[0])
    while count := session.read.parquet(names[-1]).count():
        levels.append(count)
        names.append(str(folder / str(len(names) + 1)))
        found = session.read.parquet(names[-2]).mapInArrow(expand, schema).dropDuplicates()
        found.join(session.read.parquet(*names[:-1]), columns, "left_anti").write.parquet(names[-1])
    outcome = {"levels": levels, "distinct": sum(levels), "seconds": time.perf_counter() - begin}
    shutil.rmtree(folder)
    print(f"plain: {outcome['distinct']:,} states in {outcome['seconds']:.1f} s, {len(levels)} levels")
    if report is not None:
        Path(report).write_text(json.dumps(outcome))


# --- kills ----------------------------------------------------------------------------------------------------------


def kills(times: int, bounds: str, chance: random.Random) -> None:
    """Kills drivers, whose runs are then resumed, and executors. Every run must end with the exact result."""
    wanted = check(bounds)
    with tempfile.TemporaryDirectory() as folder:
        done = drivers_killed(Path(folder), times - times // 4, bounds, wanted, chance)
    for number in range(times // 4):
        with tempfile.TemporaryDirectory() as folder:
            executor_killed(Path(folder), bounds, wanted, chance)
        print(f"executor killed {number + 1}: exact")
    print(f"{done} drivers and {times // 4} executors killed, every result exact")


def command_of(folder: Path, bounds: str, master: str) -> list[str]:
    how = "--resume" if (folder / "dataset/dataset.json").exists() else "--checkpoint"
    command = [sys.executable, "-m", "isrcheck", "check", "kip-320", *settings_of(bounds), "--quiet", "--engine"]
    spark = ["spark", "--master", master, "--spark-threshold", "0", how, str(folder / "dataset")]
    return [*command, *spark, "--invariant", "weak-isr", "--json", str(folder / "report.json")]


def assert_exact(folder: Path, wanted: dict[str, Any]) -> None:
    found = json.loads((folder / "report.json").read_text())
    for name in ("verdict", "levels", "actions", "invariants", "generated", "out_degree", "bounds_hit", "vacuity"):
        assert found[name] == wanted[name], name


def drivers_killed(folder: Path, times: int, bounds: str, wanted: dict[str, Any], chance: random.Random) -> int:
    """Kills drivers at random moments after the next few complete levels. A run that ends too early restarts."""
    done = 0
    while True:
        with subprocess.Popen(command_of(folder, bounds, MASTER), cwd=ROOT) as process:
            whole = len(list(folder.glob("dataset/manifests/level-*.json")))
            while done < times and process.poll() is None:
                if len(list(folder.glob("dataset/manifests/level-*.json"))) > whole + chance.randint(0, 2):
                    break
                time.sleep(0.01)
            if done < times:
                time.sleep(chance.random() * 0.5)
                done += process.poll() is None
                process.send_signal(signal.SIGKILL)
                print(f"driver killed {done} after level {whole}", flush=True)
        if (folder / "report.json").exists():
            assert_exact(folder, wanted)
            if done >= times:
                return done
            shutil.rmtree(folder / "dataset")
            (folder / "report.json").unlink()


def executor_killed(folder: Path, bounds: str, wanted: dict[str, Any], chance: random.Random) -> None:
    wait, killed = chance.randint(2, 12), False
    with subprocess.Popen(command_of(folder, bounds, CLUSTER), cwd=ROOT) as process:
        while process.poll() is None:
            whole = len(list(folder.glob("dataset/manifests/level-*.json")))
            running = _executors(process.pid) if whole >= wait and not killed else []
            if running:
                time.sleep(chance.random() * 0.3)
                os.kill(chance.choice(running), signal.SIGKILL)
                killed = True
            time.sleep(0.01)
    assert killed
    assert_exact(folder, wanted)


def _executors(pid: int) -> list[int]:
    found = []
    for process in _children(pid):
        try:
            if "org.apache.spark.executor.CoarseGrainedExecutorBackend" in process.cmdline():
                found.append(process.pid)
        except psutil.Error:
            continue
    return sorted(found)


# --- agreement ------------------------------------------------------------------------------------------------------


def agreement(largest: int, master: str, group: str) -> None:
    """Compares all scenarios (or those of one model) of at most `largest` states: results, files, traces and states.

    The three smallest scenarios of a model run with 1, 2 and 7 partitions. The others run with one of these numbers, in
    turn.
    """
    from isrcheck.checker.analysis.compare_with_fix import compare_all_with_fixes
    from isrcheck.checker.engines.spark.cluster import Cluster
    from isrcheck.checker.engines.spark.session import Spark
    from isrcheck.checker.registry.loader import load_model_class
    from isrcheck.checker.scenarios.controls import fixed_versions_of
    from isrcheck.checker.scenarios.derived_files import files_of
    from isrcheck.checker.scenarios.scenario import read
    from tests.spark.agreeing import Asked

    session, asked, turn = Spark(Cluster(master=master)).session, dict[str, int](), itertools.cycle((1, 2, 7))
    found = ROOT.glob(f"counterexamples/{group}/**/expected.json")
    for size, name, folder in sorted((_size(path), path.parent.name, path.parent) for path in found):
        if size > largest:
            print(f"left out, too large: {name} ({size:,} states)", flush=True)
            continue
        scenario = read(folder, folder)
        if scenario.liveness:
            print(f"left out, it asks what must happen: {name}", flush=True)
            continue
        asked[scenario.model] = asked.get(scenario.model, 0) + 1
        question = {"invariants": scenario.invariants, "keep_going": scenario.keep_going, "deadlock": scenario.deadlock}
        local = Asked(scenario.specification(), scenario.settings, **question)
        loaded = load_model_class(scenario.specification())
        partitions = (1, 2, 7) if asked[scenario.model] <= 3 else (next(turn),)
        for owners in partitions:
            with tempfile.TemporaryDirectory() as place:
                result = local.same(session, Path(place) / "x", owners)
                compare_all_with_fixes(result, loaded, fixed_versions_of(scenario, loaded, {}))
                made = files_of(result)
            assert made == {file: (folder / file).read_text(encoding="utf-8") for file in made}, name
        print(f"{name}: the same, {size:,} states, partitions {', '.join(map(str, partitions))}", flush=True)
    print(f"{sum(asked.values())} scenarios of {len(asked)} models agree")


def _size(path: Path) -> int:
    return int(json.loads(path.read_text(encoding="utf-8"))["distinct"])


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else "")
    commands = parser.add_subparsers(dest="command", required=True)
    one = commands.add_parser("speed")
    one.add_argument("--large", action="store_true", help="run 64.7 million states instead: minutes, and 12 GB")
    one.add_argument("--levels", action="store_true", help="print the bytes and seconds of every level")
    one.add_argument("--rounds", type=int, default=3)
    one = commands.add_parser("plain")
    one.add_argument("bounds")
    one.add_argument("--json")
    one = commands.add_parser("threshold")
    one.add_argument("--bounds", default="3/3/3/2")
    one = commands.add_parser("kills")
    one.add_argument("--times", type=int, default=20)
    one.add_argument("--bounds", default="3/2/2/1")
    one.add_argument("--chance", type=int, default=1)
    one = commands.add_parser("agreement")
    one.add_argument("--largest", type=int, default=1_000_000)
    one.add_argument("--master", default=MASTER)
    one.add_argument("--model", default="*", help="only the scenarios in this folder of counterexamples/")
    given = parser.parse_args()
    match given.command:
        case "speed":
            if given.large:
                large(given.levels)
            else:
                speed(given.levels, given.rounds)
        case "plain":
            plain(given.bounds, given.json)
        case "threshold":
            threshold(given.bounds)
        case "kills":
            kills(given.times, given.bounds, random.Random(given.chance))
        case "agreement":
            agreement(given.largest, given.master, given.model)


if __name__ == "__main__":
    main()
