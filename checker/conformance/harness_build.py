"""Builds the harness, a Java program that drives Kafka's classes, and keeps it in the user's own cache folder.

Maven builds a separate harness for each version of Kafka, in a folder whose name contains a hash of the harness's
sources. The files in the folder are executed, so the folder is used only if no other user may write to it. Several
processes may build a harness at the same time, so the folder appears only when it is complete.

The environment variable ISRCHECK_CACHE can name another cache folder. If the variable is set to an empty text, the
harness is in a temporary folder, which is removed when this process ends.
"""

from __future__ import annotations

import atexit
import hashlib
import os
import re
import shutil
import subprocess
import tempfile
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from functools import cache
from pathlib import Path
from typing import Final

from isrcheck.checker.kernel.code_cache import VARIABLE, is_own_folder
from isrcheck.checker.results.errors import CommandError
from isrcheck.checker.results.result import Exit

SOURCES: Final = Path(__file__).parent / "java"
_RECORDS: Final = {"org.apache.kafka.common.record.": "org.apache.kafka.common.record.internal."}
_SINCE_4_3: Final = {
    **_RECORDS,
    "kafka.server.metadata.KRaftMetadataCache": "org.apache.kafka.metadata.KRaftMetadataCache",
}
_SINCE_4_4: Final = {
    **_SINCE_4_3,
    "kafka.log.LogManager": "org.apache.kafka.storage.internals.log.LogManager",
    "kafka.server.AlterPartitionManager": "org.apache.kafka.server.partition.AlterPartitionManager",
    "kafka.server.DefaultAlterPartitionManager": "org.apache.kafka.server.partition.DefaultAlterPartitionManager",
    "kafka.server.QuotaFactory": "org.apache.kafka.server.quota.QuotaFactory",
    "kafka.server.ReplicaQuota": "org.apache.kafka.server.quota.ReplicaQuota",
    "kafka.server.ReplicationQuotaManager": "org.apache.kafka.server.quota.ReplicationQuotaManager",
    "org.apache.kafka.common.utils.AppInfoParser": "org.apache.kafka.common.utils.internals.AppInfoParser",
    "org.apache.kafka.common.utils.Exit": "org.apache.kafka.common.utils.internals.Exit",
    "org.apache.kafka.common.utils.LogContext": "org.apache.kafka.common.utils.internals.LogContext",
}
_SERVER: Final = "org.apache.kafka.server."
_IN_4_0: Final = {
    f"{_SERVER}replica.": "kafka.cluster.",
    "org.apache.kafka.storage.internals.log.UnifiedLog": "kafka.log.UnifiedLog",
}
_IN_3_9: Final = {
    **_IN_4_0,
    f"{_SERVER}common.ControllerRequestCompletionHandler": f"{_SERVER}ControllerRequestCompletionHandler",
    f"{_SERVER}common.NodeToControllerChannelManager": f"{_SERVER}NodeToControllerChannelManager",
    f"{_SERVER}common.RequestLocal": "kafka.server.RequestLocal",
    f"{_SERVER}network.BrokerEndPoint": "kafka.cluster.BrokerEndPoint",
    f"{_SERVER}purgatory.": "kafka.server.",
    f"{_SERVER}storage.log.": "org.apache.kafka.storage.internals.log.",
    "org.apache.kafka.storage.internals.checkpoint.": "kafka.server.checkpoints.",
    "org.apache.kafka.storage.log.metrics.BrokerTopicStats": "kafka.server.BrokerTopicStats",
}
MOVED: Final[Mapping[str, Mapping[str, str]]] = {
    "3.9": _IN_3_9,
    "4.0": _IN_4_0,
    "4.1": {},
    "4.2": {},
    "4.3": _SINCE_4_3,
    "4.4": _SINCE_4_4,
}
"""For each version of Kafka (its first two numbers), the changes to imports in the harness's sources.

A change maps the beginning of an imported name in the sources to the beginning that the name has in that version.
"""
NEWEST: Final = "4.4.0"
BUILD_SECONDS: Final = 540
JACOCO: Final = "0.8.14"
_OF_JACOCO: Final = {"agent": "org.jacoco.agent:{}:jar:runtime", "cli": "org.jacoco.cli:{}:jar:nodeps"}
_COPY: Final = "org.apache.maven.plugins:maven-dependency-plugin:3.8.1:copy"
INSTALL: Final = "install a JDK of version 17 or later and Maven (apt install openjdk-17-jdk-headless maven)"
CENTRAL: Final = "Maven needs access to Maven Central, or a mirror in ~/.m2/settings.xml"

Tell = Callable[[str], None]


def classpath(version: str, tell: Tell = lambda line: None) -> str:
    """The class path of the harness for a version of Kafka. The harness is built if it is missing or incomplete."""
    profile = ".".join(known_version(version).split(".")[:2])
    java()
    folder = _folder(version)
    if not _is_whole(folder):
        tell(f"building the harness for Kafka {version} with Maven (only once) ...")
        _build(version, profile, folder)
    jars = (folder / "classpath.txt").read_text().strip()
    return os.pathsep.join([str(folder / "harness.jar"), jars])


def jacoco(tell: Tell = lambda line: None) -> tuple[Path, Path]:
    """The jar files of JaCoCo's agent and of JaCoCo's command. Maven fetches the files if they are missing."""
    folder = _root() / f"jacoco-{JACOCO}"
    if not _has_jacoco(folder):
        tell(f"downloading JaCoCo {JACOCO} with Maven (only once) ...")
        with _kept_as(folder, _has_jacoco) as ready:
            for name, artifact in _OF_JACOCO.items():
                chosen = f"-Dartifact=org.jacoco:{artifact.format(JACOCO)}"
                _maven([_COPY, chosen, f"-DoutputDirectory={ready}"], ready, "fetch JaCoCo")
                (found,) = ready.glob(f"org.jacoco.{name}-*.jar")
                found.rename(ready / f"{name}.jar")
    if not _has_jacoco(folder):
        raise CommandError(
            f"cannot store JaCoCo in {folder.parent}; choose another folder with {VARIABLE}", Exit.OUTPUT
        )
    return folder / "agent.jar", folder / "cli.jar"


def _has_jacoco(folder: Path) -> bool:
    return is_own_folder(folder) and all((folder / f"{name}.jar").is_file() for name in _OF_JACOCO)


def known_version(version: str) -> str:
    """Returns the version if the harness has sources for it. Raises `CommandError` (150) for other versions."""
    found = re.fullmatch(r"(\d+\.\d+)\.\d+", version, re.ASCII)
    if found is None or found[1] not in MOVED:
        known = ", ".join(f"{x}.x" for x in MOVED)
        raise CommandError(f"the harness does not support Kafka {version!r}; choose one of {known}", Exit.UNKNOWN)
    return version


def java() -> str:
    """The path of Java, from JAVA_HOME or else from PATH. Raises `CommandError` (exit code 153) if there is no Java."""
    return _tool("java", Path(os.environ["JAVA_HOME"], "bin", "java") if "JAVA_HOME" in os.environ else None)


def _tool(name: str, own: Path | None = None) -> str:
    found = str(own) if own is not None and own.is_file() else shutil.which(name)
    if found is None:
        raise CommandError(f"{name} not found; {INSTALL}", Exit.OUTPUT)
    return found


def _folder(version: str) -> Path:
    """The folder of the harness that is built from these sources for a version of Kafka."""
    return _root() / f"kafka-{version}-{_hash()}"


@cache
def _temporary() -> Path:
    root = Path(tempfile.mkdtemp(prefix="isrcheck-"))
    atexit.register(shutil.rmtree, root, ignore_errors=True)
    return root


def _root() -> Path:
    """The folder for all harnesses and for JaCoCo. It is temporary if ISRCHECK_CACHE is set to an empty text."""
    named = os.environ.get(VARIABLE)
    if named == "":
        return _temporary()
    if named is not None:
        return Path(named) / "conformance"
    from platformdirs import user_cache_path

    return user_cache_path("isrcheck") / "conformance"


def _hash() -> str:
    found = hashlib.sha256()
    found.update(repr(MOVED).encode())
    for path in sorted(p for p in SOURCES.rglob("*") if p.suffix in (".java", ".xml")):
        found.update(f"{path.relative_to(SOURCES)}\0{path.stat().st_size}\0".encode() + path.read_bytes())
    return found.hexdigest()[:16]


def _is_whole(folder: Path) -> bool:
    """Whether a folder has a complete harness, and no other user may write to the folder.

    Kafka's jars are not in the folder: `classpath.txt` has their paths, and all of these jars must exist.
    """
    if not is_own_folder(folder) or not (folder / "harness.jar").is_file():
        return False
    try:
        jars = (folder / "classpath.txt").read_text().strip().split(os.pathsep)
    except OSError:
        return False
    return all(Path(jar).is_file() for jar in jars)


def _rename(sources: Path, moved: Mapping[str, str]) -> None:
    """Rewrites the imports in the Java files of a folder. `moved` maps old beginnings of names to new ones."""
    for path in sorted(sources.rglob("*.java")):
        text = path.read_text(encoding="utf-8")
        for old, new in moved.items():
            text = text.replace(f"\nimport {old}", f"\nimport {new}")
        path.write_text(text, encoding="utf-8")


def _build(version: str, profile: str, folder: Path) -> None:
    with tempfile.TemporaryDirectory(prefix="isrcheck-") as work:
        project = Path(work) / "java"
        shutil.copytree(SOURCES, project, ignore=shutil.ignore_patterns("target", "__pycache__"))
        _rename(project, MOVED[profile])
        _maven(["-P", f"kafka-{profile}", f"-Dkafka.version={version}", "package"], project, "build the harness")
        with _kept_as(folder, _is_whole) as ready:
            shutil.copy(project / "target" / "conformance-1.jar", ready / "harness.jar")
            shutil.copy(project / "target" / "classpath.txt", ready / "classpath.txt")
    if not _is_whole(folder):
        raise CommandError(
            f"cannot store the harness in {folder.parent}; choose another folder with {VARIABLE}", Exit.OUTPUT
        )


def _maven(arguments: list[str], folder: Path, what: str) -> None:
    """Runs Maven in a folder. Raises `CommandError` (exit code 153) if Maven is missing, takes too long or fails.

    `what` is Maven's task, in words for the error message (`build the harness`).
    """
    command = [_tool("mvn"), "-q", "-B", *arguments]
    try:
        done = subprocess.run(
            command, cwd=folder, capture_output=True, text=True, timeout=BUILD_SECONDS, stdin=subprocess.DEVNULL
        )
    except subprocess.TimeoutExpired:
        raise CommandError(f"Maven did not {what} within {BUILD_SECONDS} seconds; {CENTRAL}", Exit.OUTPUT) from None
    if done.returncode:
        raise CommandError(f"Maven could not {what}: {_reason(done.stdout + done.stderr)}", Exit.OUTPUT)


@contextmanager
def _kept_as(folder: Path, is_whole: Callable[[Path], bool]) -> Iterator[Path]:
    """Yields a new folder to fill. Afterwards renames it to `folder`, unless `folder` exists and is whole.

    If renaming fails, raises nothing: the caller must check `folder`.
    """
    folder.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    ready = Path(tempfile.mkdtemp(dir=folder.parent, prefix="."))
    try:
        yield ready
        if folder.exists() and not is_whole(folder):
            shutil.rmtree(folder, ignore_errors=True)
        with suppress(OSError):  # for example because another process was first
            ready.rename(folder)
    finally:
        shutil.rmtree(ready, ignore_errors=True)


def _reason(output: str) -> str:
    """The first error that Maven reports, with a hint if Maven could not fetch an artifact."""
    lines = [line.removeprefix("[ERROR]").strip() for line in output.splitlines() if line.startswith("[ERROR]")]
    first = next((line for line in lines if line), "it printed nothing")
    offline = any(word in output for word in ("Could not transfer", "Unknown host", "could not be resolved"))
    hint = f"; {CENTRAL}" if offline else ""
    return f"{first[:300]}{hint}"
