"""The Spark session, and the jobs that run in it.

Handles Ctrl-C while Java works for this process: records it immediately, and raises it later at a safe point.

An exception inside a call of Java would lose the call's answer. An exception inside a finalizer of a Java object would
be printed with a traceback and then ignored.
"""

from __future__ import annotations

import atexit
import signal
import tempfile
import threading
import time
import uuid
from collections.abc import Callable, Iterator, Mapping
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import contextmanager, suppress
from functools import cache, cached_property
from pathlib import Path
from types import FrameType, ModuleType
from typing import Any, Final

from isrcheck.checker.datasets import places
from isrcheck.checker.engines.spark import (
    backward_search,
    decoder,
    executor_kernels,
    executor_queries,
    state_files,
    step_files,
    tasks,
)
from isrcheck.checker.engines.spark import cluster as requirements
from isrcheck.checker.engines.spark import row_order as rows
from isrcheck.checker.engines.spark.cluster import Cluster
from isrcheck.checker.engines.spark.session_settings import session_of
from isrcheck.checker.kernel import llvm_compiler
from isrcheck.checker.results.errors import ClusterFailed, DatasetRefused

_asked: Final = threading.Event()


def raise_if_asked() -> None:
    """Raises `KeyboardInterrupt` if an interruption was recorded and not raised yet."""
    if _asked.is_set():
        _asked.clear()
        raise KeyboardInterrupt


@contextmanager
def deferred() -> Iterator[None]:
    """In this context, a first Ctrl-C waits for `raise_if_asked` or for the end of the context.

    A second Ctrl-C is raised immediately. The context has these effects only in the main thread, and only if the caller
    has no handler of its own for Ctrl-C.
    """
    previous = signal.getsignal(signal.SIGINT)
    mine = threading.current_thread() is threading.main_thread() and previous is signal.default_int_handler
    if not mine:
        # The caller's own handler still gets interruptions as before. Python interrupts only the main thread.
        yield
        return
    signal.signal(signal.SIGINT, _note)
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, previous)
        raise_if_asked()


def _note(number: int, frame: FrameType | None) -> None:
    if _asked.is_set():
        raise KeyboardInterrupt
    _asked.set()


SHIPPED: Final = (
    places,
    llvm_compiler,
    rows,
    state_files,
    executor_kernels,
    step_files,
    tasks,
    executor_queries,
    backward_search,
    decoder,
)
"""The modules that executors get by value. These modules need llvmlite, numpy and pyarrow."""
EXPANDED: Final = "owner int, rows binary, report string"
DAMAGED: Final = (
    state_files.CHANGED,
    "CRC checksum verification failed",
    "Parquet magic bytes not found",
    "Corrupt",
    "ArrowInvalid",
)
"""Parts of messages about damaged files of a dataset. The first is this project's own, and the others are Arrow's."""
HINTS: Final[Mapping[str, str]] = {
    "FileNotFoundError": "the dataset folder must be complete, and shared by the driver and all executors",
    "ModuleNotFoundError": "executors need llvmlite, numpy and pyarrow; sweeps also isrcheck (docs/how-to/spark.md)",
    "PYTHON_VERSION_MISMATCH": "executors need the same Python version as the driver; set PYSPARK_PYTHON",
}
"""Parts of Spark's messages, each with a remedy."""
LOST: Final = ("ExecutorLostFailure", "indeterminate output", "FetchFailed", "Failed to fetch", "executor lost")
"""Parts of Spark's messages about lost executors. A job that fails with such a message may succeed in another try."""
ATTEMPTS: Final = 5
"""A level is tried at most this often if executors are lost. Within each try, Spark itself survives some losses."""
LOOK: Final = 0.1
"""Seconds between two checks of the clock while Spark works."""


class ExecutorsLost(ClusterFailed):
    """A job has failed because executors were lost."""


class Spark:
    """Starts a Spark session when it is first needed, and runs jobs in this session.

    `versions` has the versions of the requirements. `seconds` is the time that the session took to start.
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
        session = session_of(self.cluster)
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

    def level(self, work: executor_kernels.Work, text: str, wait: Callable[[], None]) -> list[str]:
        """Expands a level, sends successors to their partitions, and stores the new states. Returns the reports."""

        what = f"{work['model']}, level {work['level']} ({work['states_of_level']:,} states): expand, then merge"

        def job() -> Any:
            self.send(work, text)
            partitions = len(work["bounds"]) - 1
            with self._shared(work["plan"]) as plan:
                sent = {**work, "plan": plan}
                expanded = self.session.range(0, partitions, 1, partitions).mapInArrow(tasks.expanding(sent), EXPANDED)
                merged = expanded.repartitionById(partitions, "owner").mapInArrow(tasks.merging(sent), "report string")
                return merged.collect()

        for _ in range(ATTEMPTS - 1):
            try:
                return [row[0] for row in self.run(job, wait, what)]
            except ExecutorsLost:
                # No part of the level is committed yet, so the whole level is built again.
                wait()
        return [row[0] for row in self.run(job, wait, what)]

    def look(self, work: executor_kernels.Work, text: str) -> list[tuple[int, bytes, str]]:
        """Asks each partition the question `work["question"]`. Returns for each the partition, rows, and a report."""

        def job() -> Any:
            self.send(work, text)
            partitions = len(work["bounds"]) - 1
            with self._shared(work["plan"]) as plan, self._shared(work["question"]) as question:
                looking = backward_search.looking({**work, "plan": plan, "question": question})
                return self.session.range(0, partitions, 1, partitions).mapInArrow(looking, EXPANDED).collect()

        found = self.run(job, lambda: None, f"{work['model']}, level {work['level']}: steps to explain")
        return [(int(partition), bytes(data), str(report)) for partition, data, report in found]

    @contextmanager
    def _shared(self, value: Any) -> Iterator[Any]:
        """Broadcasts data, so that Spark sends the data once to each executor, and not with every task."""
        sent = self.context.broadcast(value)
        try:
            yield sent
        finally:
            sent.unpersist()

    def over(self, count: int, function: Any, schema: str) -> Any:
        """A Spark DataFrame with the results of a function for `mapInArrow` on the numbers from 0 to `count - 1`."""
        parts = max(1, min(count, 4 * self.cores))
        return self.session.range(0, count, 1, parts).mapInArrow(function, schema)

    def damaged(self, root: str, listed: list[tuple[str, str]]) -> list[str]:
        """The paths of missing or changed files. `listed` has, for each file, its path below `root` and its SHA-256."""
        table = self.over(len(listed), executor_queries.damaged(root, listed), "path string")
        return [path for (path,) in self.rows(table, f"{root}: checking {len(listed)} files")]

    def rows(self, table: Any, what: str) -> list[tuple[Any, ...]]:
        return [tuple(row) for row in self.run(table.collect, lambda: None, what)]

    def send(self, work: executor_kernels.Work, text: str) -> None:
        """Makes Spark send the text of the kernel to every executor, unless it was sent before."""
        name = work["kernel"]["file"]
        if name not in self._files:
            path = Path(_folder(self.context.applicationId)) / name
            if not path.exists():
                path.write_text(text, encoding="utf-8")
                self.context.addFile(str(path))
            self._files.add(name)

    def run(self, job: Callable[[], Any], wait: Callable[[], None], what: str) -> Any:
        """Runs a job, named `what` in Spark's UI, and returns its answer.

        `wait` is called repeatedly while the job runs. If `wait` raises an exception, `run` cancels the job and raises
        the exception. After Ctrl-C, `run` cancels the job and raises `KeyboardInterrupt`. The whole job runs in another
        thread, because an interruption in the middle of a call of Java would lose Java's answer.
        """
        from py4j.protocol import Py4JError
        from pyspark.errors import PySparkException
        from pyspark.util import inheritable_thread_target

        # If the session has not started yet, it starts here, which takes seconds. An interruption during that time is
        # raised before the job begins.
        begun = self.session
        raise_if_asked()
        group = uuid.uuid4().hex

        def work() -> Any:
            self.context.setJobGroup(group, f"isrcheck {what}", interruptOnCancel=True)
            return job()

        with ThreadPoolExecutor(1) as pool:
            future: Future[Any] = pool.submit(inheritable_thread_target(begun)(work))
            try:
                return _answer(future, wait)
            except (PySparkException, Py4JError) as error:
                raise _failure(error) from error
            except BaseException:
                # Spark ignores the cancellation of a job that is not planned yet. So the cancellation is repeated until
                # the job ends.
                while not future.done():
                    with suppress(Exception):
                        self.context.cancelJobGroup(group)
                    with suppress(Exception):
                        future.exception(timeout=LOOK)
                raise


@cache
def _folder(application: str) -> str:
    """The folder for files that are sent to executors.

    The folder is kept until this process ends, because executors may ask for the files late.
    """
    folder = tempfile.TemporaryDirectory(prefix="isrcheck-")
    atexit.register(folder.cleanup)
    return folder.name


def _answer(future: Future[Any], wait: Callable[[], None]) -> Any:
    while True:
        try:
            return future.result(timeout=LOOK)
        except TimeoutError:
            if future.done():  # the job has ended meanwhile, or a time-out is its own failure
                return future.result()
            raise_if_asked()
            wait()


def _failure(error: Exception) -> Exception:
    """The exception to raise for a job's error, with a message in one line."""
    text = str(error)
    if "MemoryError" in text or "OutOfMemoryError" in text:
        return MemoryError()
    lines = [line.strip() for line in text.splitlines() if line.strip()]
    causes = [line for line in lines if "Error: " in line or "Exception: " in line] or lines[:1]
    # The last line of the first traceback is the cause. The lines after it are Java's.
    cause = next((line for line in causes if "Error: " in line and "Task" not in line), "".join(causes[-1:]))
    if any(words in text for words in DAMAGED):
        return DatasetRefused(f"a file of the dataset is damaged: {cause[:300]}; start over with --checkpoint")
    if any(words in text for words in LOST):
        return ExecutorsLost(f"Spark keeps losing executors: {cause[:300]}; continue with --resume")
    hint = next((f"; {hint}" for words, hint in HINTS.items() if words in text), "")
    return ClusterFailed(f"the Spark job failed: {cause[:300]}{hint}")


def ship(*modules: ModuleType) -> None:
    """Makes Spark send functions of these modules by value, because executors need not have the modules."""
    from pyspark import cloudpickle

    for module in modules:
        cloudpickle.register_pickle_by_value(module)
