"""Starts a Spark session. Settings of the user and of the platform take precedence over the defaults here.

The settings in `SQL_NEEDED` are an exception: only `--conf` takes precedence over them.

The user gives settings by `--master` and `--conf`, or by an existing session. The platform gives settings by
`spark-submit`, `spark-defaults.conf`, PYSPARK_SUBMIT_ARGS or the environment. Before Java runs, this module cannot know
all settings of the platform (see `platform_says`).
"""

from __future__ import annotations

import atexit
import os
import signal
import sys
import tempfile
import threading
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Final

from isrcheck.checker.engines.spark.cluster import Cluster
from isrcheck.checker.results.errors import ClusterFailed, DatasetRefused

DEFAULTS: Final[Mapping[str, str]] = {
    "spark.ui.showConsoleProgress": "false",
    "spark.log.level": "ERROR",
    "spark.locality.wait": "0s",
}
LOCAL_DEFAULTS: Final[Mapping[str, str]] = {"spark.ui.enabled": "false"}
"""Defaults for a session on this machine, where a check must not open a port."""
LOCAL_JAVA: Final = "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC"
"""Java only moves bytes here. Optimising Java's code would take more time than it saves, and would slow the work."""
SQL_DEFAULTS: Final[Mapping[str, str]] = {"spark.sql.adaptive.enabled": "false"}
"""Adaptive execution is not needed, because the plan of a level is known before it runs."""
SQL_NEEDED: Final[Mapping[str, str]] = {
    # A row has megabytes of packed states, so a batch must have few rows. The platform's setting assumes small rows.
    "spark.sql.execution.arrow.maxRecordsPerBatch": "8",
    # Reports contain times and names of files, so a repeated task writes different bytes for the same candidates. Spark
    # would regard these bytes as a different answer. It would restart the job, or end a job that cannot be restarted.
    "spark.sql.shuffle.orderIndependentChecksum.enabled": "false",
    "spark.sql.shuffle.orderIndependentChecksum.enableFullRetryOnMismatch": "false",
    "spark.sql.shuffle.orderIndependentChecksum.enableQueryLevelRollbackOnMismatch": "false",
}
"""Settings of the session in which jobs run. Only the user's --conf overrides these settings."""
CONNECT: Final = (
    "Spark Connect (sc://) cannot run the driver's Python code and has no context; use a master "
    "(spark://..., yarn, k8s://...), or run the program on the cluster with spark-submit"
)


def session_of(cluster: Cluster) -> Any:
    """A new session with its own SQL settings, in the present Spark context or in a new context."""
    _require_no_connect(cluster)
    from pyspark import SparkContext
    from pyspark.sql import SparkSession

    base = cluster.session
    if base is None:
        running = SparkContext._active_spark_context is not None
        base = SparkSession.builder.getOrCreate() if running else _begun(cluster)
    if not hasattr(base, "sparkContext") or "connect" in type(base).__module__:
        raise DatasetRefused(f"{CONNECT}; or pass a classic session")
    session, said = base.newSession(), base.sparkContext.getConf()
    for name, value in SQL_DEFAULTS.items():
        if not said.contains(name):
            session.conf.set(name, value)
    mine = {name: value for name, value in cluster.conf.items() if name.startswith("spark.sql.")}
    for name, value in {**SQL_NEEDED, **mine}.items():
        session.conf.set(name, value)
    return session


def _require_no_connect(cluster: Cluster) -> None:
    if cluster.session is not None:
        return
    where = [cluster.master, cluster.conf.get("spark.remote"), os.environ.get("SPARK_REMOTE")]
    if any(url and url.startswith("sc:") for url in where):
        raise DatasetRefused(CONNECT)


def _begun(cluster: Cluster) -> Any:
    """A session in a new Spark context."""
    from py4j.protocol import Py4JError
    from pyspark.errors import PySparkException

    said = {**cluster.conf, **({} if cluster.master is None else {"spark.master": cluster.master})}
    if "spark.master" not in said and not platform_says("spark.master", "--master", "MASTER="):
        said["spark.master"] = "local[*]"
    if said.get("spark.master", "").startswith("local"):
        # Because there are no other machines, nothing needs to resolve the name of the driver's machine.
        os.environ.setdefault("SPARK_LOCAL_IP", "127.0.0.1")
        os.environ.setdefault("PYSPARK_PYTHON", sys.executable)
        if not any("JavaOptions" in name for name in said) and not platform_says("JavaOptions", "java-options"):
            said["spark.driver.extraJavaOptions"] = LOCAL_JAVA
    heard: list[str] = []
    try:
        with _own_interruptions(), _hearing(heard):
            return _session(said)
    except (PySparkException, Py4JError) as error:
        raise ClusterFailed(f"Spark did not start: {_cause(str(error), heard)}") from error


def platform_says(*words: str) -> bool:
    """True if the platform's settings contain one of these words, or if some settings cannot be read here.

    The settings of a running Java process or of a properties file cannot be read here.
    """
    if "PYSPARK_GATEWAY_PORT" in os.environ:
        return True
    import pyspark

    environment = {name: os.environ.get(name, "") for name in ("PYSPARK_SUBMIT_ARGS", "SPARK_SUBMIT_OPTS", "MASTER")}
    text = [f"{name}={value}" for name, value in environment.items() if value]
    home = os.environ.get("SPARK_HOME") or str(Path(pyspark.__file__).parent)
    defaults = Path(os.environ.get("SPARK_CONF_DIR") or Path(home, "conf"), "spark-defaults.conf")
    if defaults.is_file():
        lines = defaults.read_text(encoding="utf-8", errors="replace").splitlines()
        text += [line for line in lines if not line.lstrip().startswith("#")]
    return any(word in line for line in text for word in (*words, "--properties-file"))


def _session(said: Mapping[str, str]) -> Any:
    import pyspark
    from pyspark import SparkConf, SparkContext
    from pyspark.sql import SparkSession

    # Java is started first, with these settings. A SparkConf that is made afterwards also has the platform's settings.
    SparkContext._ensure_initialized(conf=SparkConf(loadDefaults=False).setAll(list(said.items())))
    conf = SparkConf().setAll(list(said.items()))
    if conf.get("spark.app.name", "pyspark-shell") == "pyspark-shell":
        conf.setAppName("isrcheck")
    here = conf.get("spark.master", "local[*]").startswith("local")
    for name, value in {**DEFAULTS, **(LOCAL_DEFAULTS if here else {})}.items():
        if not conf.contains(name):
            conf.set(name, value)
    builder: Any = SparkSession.builder
    session = builder.config(conf=conf).getOrCreate()
    versions = session.version, pyspark.__version__
    if versions[0].split(".")[:2] != versions[1].split(".")[:2]:
        session.stop()
        raise ClusterFailed(
            f"Spark is version {versions[0]} but PySpark is version {versions[1]}; install the matching "
            "PySpark, or set SPARK_HOME to a matching Spark or to the empty string"
        )
    return session


@contextmanager
def _own_interruptions() -> Iterator[None]:
    """Restores, at the end of the context, the handler of Ctrl-C that the process had before.

    PySpark sets its own handler in between. At Ctrl-C, that handler would call Java, even within another call of Java.
    """
    mine, handler = threading.current_thread() is threading.main_thread(), signal.getsignal(signal.SIGINT)
    yield
    if mine and handler is not None:
        signal.signal(signal.SIGINT, handler)
    if mine:
        # At its end, the process only has to stop Java. An interruption would only print a traceback then.
        atexit.register(signal.signal, signal.SIGINT, signal.SIG_IGN)


@contextmanager
def _hearing(heard: list[str]) -> Iterator[None]:
    """Keeps Java's messages away from standard error, and adds their lines to `heard`.

    If ISRCHECK_DEBUG is 1, the messages go to standard error instead, and `heard` gets no lines.
    """
    if os.environ.get("ISRCHECK_DEBUG") == "1":
        yield
        return
    sys.stderr.flush()
    saved = os.dup(2)
    with tempfile.TemporaryFile() as file:
        os.dup2(file.fileno(), 2)
        try:
            yield
        finally:
            os.dup2(saved, 2)
            os.close(saved)
            file.seek(0)
            heard += file.read().decode(errors="replace").splitlines()


def _cause(said: str, heard: list[str]) -> str:
    """The reason why Spark does not start, in one line with a remedy."""
    remedy = "check --master and --conf; ISRCHECK_DEBUG=1 shows Java's output"
    if "JAVA_GATEWAY_EXITED" in said:
        marks = "Exception in thread", "Error:", "Exception:", "must be set"
        causes = [line for line in heard if any(mark in line for mark in marks)] or heard[-1:]
        said = causes[0].rpartition("Exception: ")[2] if causes else "Java exited immediately"
    # If the master cannot be reached, Java's last message says that the context is stopped.
    said = " ".join(said.partition("This stopped SparkContext")[0].split())
    if "stopped SparkContext" in said:
        said = "the master cannot be reached, or rejected the application"
    if "HADOOP_CONF_DIR" in said:
        remedy = "set HADOOP_CONF_DIR to the folder with core-site.xml and yarn-site.xml"
    return f"{said[:300].rstrip('.')}; {remedy}"
