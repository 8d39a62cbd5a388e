"""Datasets outside of folders: in an object store without a shared disk, and in places that cannot be reached."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from isrcheck.checker.datasets.dataset import Dataset
from isrcheck.checker.datasets.places import is_uri
from isrcheck.checker.datasets.storage import Storage, root_of
from isrcheck.checker.results.errors import DatasetRefused, Unreachable
from tests.cli.running import counter, run

ROOT = Path(__file__).parent.parent.parent


@pytest.fixture(scope="module")
def store() -> Iterator[str]:
    """The `host:port` of an S3 server with a bucket, in a separate process. Skips the test without moto."""
    pytest.importorskip("moto.server")
    server = subprocess.Popen(
        [sys.executable, "-c", SERVER], stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL,
        text=True,
    )  # fmt: skip
    assert server.stdout is not None
    yield server.stdout.readline().strip()
    server.kill()
    server.communicate()


SERVER = """
import sys, boto3
from moto.server import ThreadedMotoServer
server = ThreadedMotoServer(ip_address="127.0.0.1", port=0, verbose=False)
server.start()
host, port = server.get_host_and_port()
keys = dict(aws_access_key_id="a", aws_secret_access_key="b", region_name="us-east-1")
boto3.client("s3", endpoint_url=f"http://{host}:{port}", **keys).create_bucket(Bucket="mine")
print(f"{host}:{port}", flush=True)
sys.stdin.read()
"""


@pytest.fixture
def keys(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("AWS_ACCESS_KEY_ID", "a")
    monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", "b")
    monkeypatch.setenv("AWS_EC2_METADATA_DISABLED", "true")


def searched(root: str, states: int = 0, how: str = "new") -> Any:
    """The result of `state_store.py`, run in a separate process."""
    command = [sys.executable, "-m", "tests.spark.storing", root, str(states), how]
    said = subprocess.run(command, cwd=ROOT, capture_output=True, text=True)
    assert said.returncode == 0, said.stderr[-3000:]
    return json.loads(said.stdout)


def where(scheme: str, store: str, name: str) -> str:
    return f"{scheme}://mine/{name}/?endpoint_override={store}&scheme=http&region=us-east-1"


@pytest.mark.usefixtures("keys")
@pytest.mark.parametrize("scheme", ["s3", "s3a"])
def test_a_search_over_an_object_store_that_stops_and_goes_on(scheme: str, store: str, tmp_path: Path) -> None:
    root = where(scheme, store, f"some/{scheme}")
    wanted = searched(str(tmp_path / "x"))
    assert searched(root, states=2)[-1] == "states"
    assert searched(root, how="resume") == wanted
    dataset, local = Dataset.open(root), Dataset.open(str(tmp_path / "x"))
    assert [level.distinct for level in dataset.levels] == [level.distinct for level in local.levels]
    # What lies there is what the manifests name, under its final names.
    for level in dataset.levels:
        listed = [
            f"states/level={level.number:05d}/{name}"
            for name in dataset.storage.names(f"states/level={level.number:05d}")
        ]
        assert sorted(listed) == sorted(entry["path"] for entry in level.files)
    # A trace has been looked for through files there, and left none.
    assert wanted[3]
    assert not [name for name in dataset.storage.names("") if name.startswith("cones")]


@pytest.mark.usefixtures("keys")
def test_an_object_that_is_damaged_is_refused(store: str) -> None:
    root = where("s3", store, "damaged")
    searched(root)
    dataset = Dataset.open(root)
    part = dataset.levels[1].files[0]["path"]
    content = dataset.storage.read(part)
    dataset.storage.write(part, content[:-30] + bytes([content[-30] ^ 1]) + content[-29:])
    with pytest.raises(DatasetRefused, match=f"{part} is missing or damaged; nothing was changed"):
        Dataset.resume(root)


def test_what_is_a_uri() -> None:
    assert [is_uri(path) for path in ("s3://b/x", "hdfs:/x", "dbfs:/x", "C:/x", "/x", "x", "a=b:c/d")] == [
        True, True, True, False, False, False, False,
    ]  # fmt: skip


def test_roots_are_as_executors_understand_them(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.chdir(tmp_path)
    assert root_of("x/") == str(tmp_path / "x")
    assert root_of("S3A://b/x/") == "s3://b/x"
    assert root_of("s3://b/x/?region=r&scheme=http") == "s3://b/x?region=r&scheme=http"


def test_a_file_uri_is_a_folder(tmp_path: Path) -> None:
    storage = Storage(f"file://{tmp_path}/x/")
    storage.make("")
    storage.write("a", b"a")
    assert ((tmp_path / "x/a").read_bytes(), storage.local, storage.names("")) == (b"a", True, ["a"])


@pytest.mark.parametrize(
    ("root", "words"),
    [
        (
            "dbfs:/x",
            "cannot open dbfs:/x: pyarrow does not support dbfs:// paths; use the path /dbfs/..., which the driver",
        ),
        ("wasbs://c@a/x", "pyarrow does not support wasbs:// paths; use abfss://"),
        (
            "ftp://there/x",
            "pyarrow does not support ftp:// paths; the schemes are abfs, abfss, file, gcs, gs, hdfs, s3, viewfs; or",
        ),
        ("s3://b/x?foo=bar", "cannot open s3://b/x?foo=bar: Unexpected query parameter"),
    ],
)
def test_what_cannot_be_reached(root: str, words: str) -> None:
    with pytest.raises(Unreachable) as said:
        Storage(root)
    assert words in str(said.value)
    assert "\n" not in str(said.value)


@pytest.mark.needs("java")
def test_hdfs_without_its_library_is_one_line(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("ARROW_LIBHDFS_DIR", "HADOOP_HOME", "JAVA_HOME"):
        monkeypatch.delenv(name, raising=False)
    said = run("check", counter(tmp_path), "--engine", "spark", "--checkpoint", "hdfs://127.0.0.1:1/x")
    assert (said.code, said.err.count("\n")) == (153, 1)
    assert "cannot open hdfs://127.0.0.1:1/x: libhdfs or Java's libjvm was not found; set ARROW" in said.err
    assert not os.path.exists("hdfs:")
