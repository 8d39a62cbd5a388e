"""The Spark session, and the jobs that run in it."""

from __future__ import annotations

import atexit
import os
import signal
import sys
import tempfile
import threading
import time
import uuid
from collections.abc import Callable, Iterator, Mapping
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import contextmanager, suppress
from functools import cache, cached_property
from pathlib import Path
from types import ModuleType
from typing import Any, Final

from isrcheck.checker.datasets.refusals import ClusterFailed, DatasetRefused
from isrcheck.checker.engines.spark import files, kernels, queries, requirements, rows, steps, tasks
from isrcheck.checker.engines.spark.cluster import Cluster
from isrcheck.checker.engines.spark.interruptions import raise_if_asked
from isrcheck.checker.kernel import native

CONF: Final[Mapping[str, str]] = {
    "spark.ui.enabled": "false",
    "spark.ui.showConsoleProgress": "false",
    "spark.log.level": "ERROR",
    "spark.driver.memory": "1g",
    "spark.executor.memory": "1g",
    "spark.python.worker.reuse": "true",
    "spark.locality.wait": "0s",
}
"""Settings of a new session; those that the user gives win."""
LOCAL_CONF: Final[Mapping[str, str]] = {"spark.driver.extraJavaOptions": "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC"}
"""Java only moves bytes here: optimising its code takes longer than it saves, and processors from the work."""
SQL_CONF: Final[Mapping[str, str]] = {
    # A row is megabytes of packed states: few together, and none moved to another partition.
    "spark.sql.adaptive.enabled": "false",
    "spark.sql.execution.arrow.maxRecordsPerBatch": "8",
    "spark.sql.execution.arrow.pyspark.enabled": "true",
}
SHIPPED: Final = (native, rows, files, kernels, steps, tasks, queries)
"""The modules that executors get by value: they need llvmlite, numpy and pyarrow, and nothing of this project."""
EXPANDED: Final = "owner int, rows binary, report string"
SCANNED: Final = "sources binary, transitions binary, targets binary"
DAMAGED: Final = ("CRC checksum verification failed", "Parquet magic bytes not found", "Corrupt", "ArrowInvalid")
"""What Arrow says of a file of states that is not what was written."""
HINTS: Final[Mapping[str, str]] = {
    "FileNotFoundError": "the folder of the dataset must be whole, and the same one for the driver and all executors",
    "ModuleNotFoundError": "executors need llvmlite, numpy and pyarrow, and isrcheck for a sweep (docs/spark.md)",
    "PYTHON_VERSION_MISMATCH": "executors need the Python version of the driver; name it with PYSPARK_PYTHON",
}
"""What to do about what Spark says."""
LOOK: Final = 0.1
"""Seconds between two looks at the clock while Spark works."""


class Spark:
    """A session, begun when it is first needed, and what this project does with it; `versions` is what it runs on.

    `seconds` is how long the session took to begin.
    """

    def __init__(self, cluster: Cluster) -> None:
        self.versions = requirements.require()
        self.cluster = cluster
        self.seconds = 0.0
        self._files: set[str] = set()

    @cached_property
    def session(self) -> Any:
        begin = time.perf_counter()
        ship(*SHIPPED)
        session = _session(self.cluster)
        self.seconds = time.perf_counter() - begin
        return session

    @cached_property
    def context(self) -> Any:
        return self.session.sparkContext

    @cached_property
    def cores(self) -> int:
        return int(self.context.defaultParallelism)

    @property
    def begun(self) -> bool:
        return "session" in self.__dict__

    def level(self, work: kernels.Work, text: str, wait: Callable[[], None]) -> list[str]:
        """Expands a level and keeps what is new: the reports of the owners. One exchange of candidates."""

        def job() -> Any:
            self.send(work, text)
            owners = len(work["bounds"]) - 1
            expanded = self.session.range(0, owners, 1, owners).mapInArrow(tasks.expanding(work), EXPANDED)
            merged = expanded.repartitionById(owners, "owner").mapInArrow(tasks.merging(work), "report string")
            return merged.collect()

        return [row[0] for row in self.run(job, wait)]

    def scan(self, work: kernels.Work, text: str) -> list[tuple[bytes, bytes, bytes]]:
        """What the owners find in a level."""

        def job() -> Any:
            self.send(work, text)
            owners = len(work["bounds"]) - 1
            return self.session.range(0, owners, 1, owners).mapInArrow(steps.scanning(work), SCANNED).collect()

        found = self.run(job, lambda: None)
        return [(bytes(sources), bytes(transitions), bytes(targets)) for sources, transitions, targets in found]

    def over(self, count: int, function: Any, schema: str) -> Any:
        """A table of what a function for `mapInArrow` gives for the numbers up to `count`."""
        parts = max(1, min(count, 4 * self.cores))
        return self.session.range(0, count, 1, parts).mapInArrow(function, schema)

    def rows(self, table: Any) -> list[tuple[Any, ...]]:
        return [tuple(row) for row in self.run(table.collect, lambda: None)]

    def send(self, work: kernels.Work, text: str) -> None:
        """Sends the text of the kernel to every executor, once."""
        name = work["kernel"]["file"]
        if name not in self._files:
            path = Path(_folder(self.context.applicationId)) / name
            if not path.exists():
                path.write_text(text, encoding="utf-8")
                self.context.addFile(str(path))
            self._files.add(name)

    def run(self, job: Callable[[], Any], wait: Callable[[], None]) -> Any:
        """The answer of a job; `wait` is called now and then and may end it by raising.

        All of the job is done in another thread: Java's end of a call that an interruption cuts in two is lost.
        """
        from py4j.protocol import Py4JError
        from pyspark.errors import PySparkException
        from pyspark.util import inheritable_thread_target

        # The session begins here, and takes seconds: an interruption meanwhile is heeded before there is a job.
        begun = self.session
        raise_if_asked()
        group = uuid.uuid4().hex

        def work() -> Any:
            self.context.setJobGroup(group, "isrcheck", interruptOnCancel=True)
            return job()

        with ThreadPoolExecutor(1) as pool:
            future: Future[Any] = pool.submit(inheritable_thread_target(begun)(work))
            try:
                return _answer(future, wait)
            except (PySparkException, Py4JError) as error:
                raise _failure(error) from error
            except BaseException:
                # What is cancelled before Spark has planned it is not heard of: again, until it has ended.
                while not future.done():
                    with suppress(Exception):
                        self.context.cancelJobGroup(group)
                    with suppress(Exception):
                        future.exception(timeout=LOOK)
                raise


@cache
def _folder(application: str) -> str:
    """A folder for what is sent to executors, as long as this process lives: some of them may ask late."""
    folder = tempfile.TemporaryDirectory(prefix="isrcheck-")
    atexit.register(folder.cleanup)
    return folder.name


def _answer(future: Future[Any], wait: Callable[[], None]) -> Any:
    while True:
        try:
            return future.result(timeout=LOOK)
        except TimeoutError:
            if future.done():
                raise
            raise_if_asked()
            wait()


def _failure(error: Exception) -> Exception:
    """What became of a job, in one line."""
    text = str(error)
    if "MemoryError" in text or "OutOfMemoryError" in text:
        return MemoryError()
    lines = [line.strip() for line in text.splitlines() if line.strip()]
    causes = [line for line in lines if "Error: " in line or "Exception: " in line] or lines[:1]
    # The last line of the first traceback is the cause: what follows is Java's.
    cause = next((line for line in causes if "Error: " in line and "Task" not in line), "".join(causes[-1:]))
    if any(words in text for words in DAMAGED):
        return DatasetRefused(f"a file of the dataset is damaged: {cause[:300]}; begin anew with --checkpoint")
    hint = next((f"; {hint}" for words, hint in HINTS.items() if words in text), "")
    return ClusterFailed(f"Spark could not do its work: {cause[:300]}{hint}")


def ship(*modules: ModuleType) -> None:
    """Functions of these modules are sent as they are, not by the name of a module that executors do not have."""
    from pyspark import cloudpickle

    for module in modules:
        cloudpickle.register_pickle_by_value(module)


def _session(cluster: Cluster) -> Any:
    from pyspark.sql import SparkSession

    if cluster.session is not None:
        if not hasattr(cluster.session, "sparkContext") or "connect" in type(cluster.session).__module__:
            raise DatasetRefused("a Spark Connect session has no context; pass a classic session, or name a master")
        session = cluster.session.newSession()
    else:
        if cluster.on_this_machine:
            # The driver's name need not resolve where nothing outside this machine takes part.
            os.environ.setdefault("SPARK_LOCAL_IP", "127.0.0.1")
            os.environ.setdefault("PYSPARK_PYTHON", sys.executable)
        builder: Any = SparkSession.builder.appName("isrcheck").master(cluster.master)
        local = LOCAL_CONF if cluster.on_this_machine else {}
        for name, value in {**CONF, **local, **SQL_CONF, **cluster.conf}.items():
            builder = builder.config(name, value)
        session = _started(builder).newSession()
    for name, value in {**SQL_CONF, **_sql(cluster.conf)}.items():
        session.conf.set(name, value)
    return session


def _started(builder: Any) -> Any:
    from py4j.protocol import Py4JError
    from pyspark.errors import PySparkException

    # PySpark's own handler of interruptions talks to Java in the middle of whatever is going on; here it is not needed.
    mine = threading.current_thread() is threading.main_thread()
    handler = signal.getsignal(signal.SIGINT)
    try:
        with _quietly():
            session = builder.getOrCreate()
        if mine and handler is not None:
            signal.signal(signal.SIGINT, handler)
        if mine:
            # At its end the process has only to stop Java: an interruption would do no more than print where it was.
            atexit.register(signal.signal, signal.SIGINT, signal.SIG_IGN)
        return session
    except (PySparkException, Py4JError) as error:
        # Of a master that cannot be reached Java says in the end that the context is stopped.
        said = " ".join(str(error).partition("This stopped SparkContext")[0].split())
        if "stopped SparkContext" in said:
            said = "the master cannot be reached, or does not take the application"
        remedy = "look at --master and --conf; ISRCHECK_DEBUG=1 shows what Java says"
        raise ClusterFailed(f"Spark does not start: {said[:300]}; {remedy}") from error


def _sql(conf: Mapping[str, str]) -> dict[str, str]:
    return {name: value for name, value in conf.items() if name.startswith("spark.sql.")}


@contextmanager
def _quietly() -> Iterator[None]:
    """Keeps what Java says from standard error; a failure to start is an exception all the same."""
    if os.environ.get("ISRCHECK_DEBUG") == "1":
        yield
        return
    sys.stderr.flush()
    saved, nowhere = os.dup(2), os.open(os.devnull, os.O_WRONLY)
    os.dup2(nowhere, 2)
    try:
        yield
    finally:
        os.dup2(saved, 2)
        os.close(saved)
        os.close(nowhere)
