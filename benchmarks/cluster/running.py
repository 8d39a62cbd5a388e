"""Runs Kafka's published server: a controller, three brokers and an operator, each in a process of its own."""

from __future__ import annotations

import ctypes
import json
import os
import shutil
import signal
import socket
import subprocess
import time
import uuid
from base64 import urlsafe_b64encode
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from functools import cache
from pathlib import Path
from typing import Any, Final

from benchmarks.cluster.proxy import Proxy
from isrcheck.checker.conformance.harness_build import java
from isrcheck.checker.results.errors import CommandError
from isrcheck.checker.results.result import Exit

SOURCES: Final = Path(__file__).parent / "java"
TARGET: Final = SOURCES / "target"
CONTROLLER: Final = 9
BROKERS: Final = (0, 1, 2)
PATIENCE: Final = 180
"""The most seconds to wait for an event. It allows for a machine that others use."""
LOGGING: Final = """\
status = error
appender.file.type = File
appender.file.name = file
appender.file.fileName = ${sys:cluster.log}
appender.file.layout.type = PatternLayout
appender.file.layout.pattern = [%d] %p %m (%c)%n
rootLogger.level = INFO
rootLogger.appenderRef.file.ref = file
"""
PARTITIONS: Final = """\
logger.partition.name = kafka.cluster.Partition
logger.partition.level = DEBUG
"""
"""Further logging with which a leader's requests can be distinguished from the answers that it gets."""
SETTINGS: Final[Mapping[str, str]] = {
    "offsets.topic.replication.factor": "1",
    "num.network.threads": "1",
    "num.io.threads": "2",
    "num.replica.fetchers": "1",
    "replica.lag.time.max.ms": "4000",
    "replica.fetch.wait.max.ms": "200",
    "broker.session.timeout.ms": "7000",
    "broker.heartbeat.interval.ms": "1000",
    "leader.imbalance.check.interval.seconds": "100000",
    "log.initial.task.delay.ms": "100",
    "replica.high.watermark.checkpoint.interval.ms": "1000",
    "group.coordinator.rebalance.protocols": "classic",
}


@cache
def classpath() -> str:
    """The class path of Kafka and its dependencies, from Maven Central, and of the operator, which is compiled once."""
    jar, sources = TARGET / "cluster-1.jar", [SOURCES / "pom.xml", *SOURCES.rglob("*.java")]
    if not jar.is_file() or any(each.stat().st_mtime > jar.stat().st_mtime for each in sources):
        maven = shutil.which("mvn")
        if maven is None:
            raise CommandError("mvn not found; install a JDK of version 17 or later and Maven", Exit.OUTPUT)
        done = subprocess.run([maven, "-q", "-B", "package"], cwd=SOURCES, capture_output=True, text=True, check=False)
        if done.returncode:
            raise CommandError(f"Maven could not build the operator: {done.stdout[-300:]}", Exit.OUTPUT)
    return os.pathsep.join([str(jar), (TARGET / "classpath.txt").read_text().strip()])


def free_ports(count: int) -> list[int]:
    sockets = [socket.create_server(("127.0.0.1", 0)) for _ in range(count)]
    ports = [each.getsockname()[1] for each in sockets]
    for each in sockets:
        each.close()
    return ports


class Operator:
    """The operator's process, which sends requests to the cluster and reads its files."""

    def __init__(self, servers: str, log: Path) -> None:
        command = [java(), "-Xmx192m", "-cp", classpath(), f"-Dcluster.log={log}"]
        command += [f"-Dlog4j2.configurationFile={log.parent / 'log4j2.properties'}", "cluster.Operator", servers]
        self.process = subprocess.Popen(
            command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True
        )

    def ask(self, op: str, **arguments: Any) -> dict[str, Any]:
        """The answer to a request. It has the key `error` if the request failed."""
        assert self.process.stdin is not None
        assert self.process.stdout is not None
        self.process.stdin.write(json.dumps({"op": op, **arguments}) + "\n")
        self.process.stdin.flush()
        line = self.process.stdout.readline()
        if not line:
            raise CommandError("the operator has ended", Exit.OUTPUT)
        answer: dict[str, Any] = json.loads(line)
        return answer

    def must(self, op: str, **arguments: Any) -> dict[str, Any]:
        """The answer to a request. Raises `CommandError` if the request failed."""
        answer = self.ask(op, **arguments)
        if "error" in answer:
            raise CommandError(f"{op}: {answer['error']}", Exit.OUTPUT)
        return answer


class Cluster:
    """The processes of a cluster by their node ids, and the places of their files."""

    def __init__(self, folder: Path, is_proxied: bool = False) -> None:
        self.folder = folder
        ports = free_ports(4)
        self.ports = dict(zip((CONTROLLER, *BROKERS), ports, strict=True))
        self.proxies = {node: Proxy(port) for node, port in self.ports.items()} if is_proxied else {}
        self.processes: dict[int, subprocess.Popen[bytes]] = {}
        (folder / "log4j2.properties").write_text(LOGGING + PARTITIONS * is_proxied)
        servers = ",".join(self.address(b) for b in BROKERS)
        self.operator = Operator(servers, folder / "operator.log")

    def address(self, node: int) -> str:
        """The address at which others reach a node: its own address or that of its proxy."""
        return f"127.0.0.1:{self.proxies[node].port if self.proxies else self.ports[node]}"

    def data(self, node: int) -> Path:
        return self.folder / f"data-{node}"

    def log(self, node: int) -> Path:
        return self.folder / f"node-{node}.log"

    def configured(self) -> None:
        """Writes the configurations, and formats the folders."""
        name = urlsafe_b64encode(uuid.uuid4().bytes).decode().rstrip("=")
        for node in self.ports:
            is_controller = node == CONTROLLER
            listener = "CONTROLLER" if is_controller else "PLAINTEXT"
            settings = {
                **SETTINGS,
                "process.roles": "controller" if is_controller else "broker",
                "node.id": str(node),
                "controller.quorum.voters": f"{CONTROLLER}@{self.address(CONTROLLER)}",
                "controller.listener.names": "CONTROLLER",
                "listener.security.protocol.map": "CONTROLLER:PLAINTEXT,PLAINTEXT:PLAINTEXT",
                "listeners": f"{listener}://127.0.0.1:{self.ports[node]}",
                "advertised.listeners": f"{listener}://{self.address(node)}",
                "log.dirs": str(self.data(node)),
            }
            file = self.folder / f"node-{node}.properties"
            file.write_text("".join(f"{name}={value}\n" for name, value in settings.items()))
            self.operator.must("format", file=str(file), id=name)

    def start(self, node: int) -> None:
        command = [java(), "-Xmx256m", "-XX:+UseSerialGC", "-XX:TieredStopAtLevel=1", "-cp", classpath()]
        command += [f"-Dcluster.log={self.log(node)}"]
        command += [f"-Dlog4j2.configurationFile={self.folder / 'log4j2.properties'}", "kafka.Kafka"]
        with (self.folder / f"node-{node}.err").open("ab") as errors:
            self.processes[node] = subprocess.Popen(
                [*command, str(self.folder / f"node-{node}.properties")],
                stdout=errors,
                stderr=errors,
                preexec_fn=_ends_with_us,
            )

    def send(self, node: int, what: signal.Signals) -> None:
        self.processes[node].send_signal(what)

    def kill(self, node: int) -> None:
        self.send(node, signal.SIGKILL)
        self.processes[node].wait()

    def heal(self) -> None:
        """Continues or restarts the brokers that a failed run has left stopped."""
        for b in BROKERS:
            if self.processes[b].poll() is None:
                self.send(b, signal.SIGCONT)
            else:
                self.start(b)

    def metadata(self) -> list[dict[str, Any]]:
        """All records of the metadata log, in order."""
        files = sorted((self.data(CONTROLLER) / "__cluster_metadata-0").glob("*.log"))
        return [x for file in files for x in self.operator.must("metadata", file=str(file))["records"]]

    def records(self, broker: int, topic: str) -> list[dict[str, Any]]:
        """The records in a broker's log of the partition; none if it has no log."""
        files = sorted((self.data(broker) / f"{topic}-0").glob("*.log"))
        return [x for file in files for x in self.operator.must("log", file=str(file))["records"]]

    def epochs(self, broker: int, topic: str) -> list[tuple[int, int]]:
        """The leader epochs in a replica's checkpoint, each with its start offset."""
        lines = (self.data(broker) / f"{topic}-0" / "leader-epoch-checkpoint").read_text().splitlines()[2:]
        return [(int(epoch), int(start)) for epoch, start in map(str.split, lines)]

    def end(self) -> None:
        for process in (*self.processes.values(), self.operator.process):
            if process.poll() is None:
                process.kill()
                process.wait()
        for proxy in self.proxies.values():
            proxy.close()


def _ends_with_us() -> None:
    """Asks Linux to kill this process when its parent ends, even if the parent is killed: prctl(2)."""
    ctypes.CDLL(None).prctl(1, signal.SIGKILL)


def waited_for(what: str, condition: Any, seconds: float = PATIENCE, every: float = 0.2) -> None:
    """Waits until a condition holds, and checks it every `every` seconds. Raises `CommandError` after `seconds`."""
    until = time.monotonic() + seconds
    while not condition():
        if time.monotonic() > until:
            raise CommandError(f"waited {seconds:.0f} s for {what}", Exit.OUTPUT)
        time.sleep(every)


@contextmanager
def cluster(folder: Path, is_proxied: bool = False) -> Iterator[Cluster]:
    """A running cluster, optionally with a proxy before each node. At the end, also by SIGTERM, its processes end."""
    signal.signal(signal.SIGTERM, signal.default_int_handler)
    folder.mkdir(parents=True)
    found = Cluster(folder, is_proxied)
    try:
        found.configured()
        for node in found.ports:
            found.start(node)
        yield found
    finally:
        found.end()
