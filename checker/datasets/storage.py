"""Folders and small files of a dataset, on any file system that pyarrow knows: local paths, `hdfs://`, `s3://`."""

from __future__ import annotations

import hashlib
import json
import posixpath
import uuid
from typing import Any, Final

import pyarrow as pa
import pyarrow.fs as pafs

SCHEMES: Final = "://"
OBJECT_STORES: Final = ("s3", "gcs", "abfs")


class Storage:
    """A dataset's folder. Names are relative to it; errors are OSError."""

    def __init__(self, root: str) -> None:
        if SCHEMES in root:
            self.filesystem, self.place = pafs.FileSystem.from_uri(root)
        else:
            self.filesystem, self.place = pafs.LocalFileSystem(), posixpath.abspath(root)
        self.root = root.rstrip("/") if SCHEMES in root else self.place

    def at(self, name: str) -> str:
        return f"{self.place}/{name}" if name else self.place

    def names(self, folder: str) -> list[str]:
        """The names of what lies in a folder, in order; none where there is no such folder."""
        selector = pafs.FileSelector(self.at(folder), allow_not_found=True)
        return sorted(info.base_name for info in self.filesystem.get_file_info(selector))

    def exists(self, name: str) -> bool:
        found: bool = self.filesystem.get_file_info(self.at(name)).type != pafs.FileType.NotFound
        return found

    def size(self, name: str) -> int | None:
        """The bytes of a file; None where there is none."""
        size: int | None = self.filesystem.get_file_info(self.at(name)).size
        return size

    def make(self, folder: str) -> None:
        self.filesystem.create_dir(self.at(folder), recursive=True)

    def read(self, name: str) -> bytes:
        with self.filesystem.open_input_stream(self.at(name)) as stream:
            content: bytes = stream.read()
        return content

    def digest(self, name: str) -> str:
        """The SHA-256 of a file."""
        digest = hashlib.sha256()
        with self.filesystem.open_input_stream(self.at(name)) as stream:
            while part := stream.read(1 << 24):
                digest.update(part)
        return digest.hexdigest()

    def write(self, name: str, content: bytes) -> None:
        """Puts a whole file in place, at once."""
        temporary = f"{posixpath.dirname(name) or '.'}/.{uuid.uuid4().hex}.tmp"
        with self.filesystem.open_output_stream(self.at(temporary)) as stream:
            stream.write(content)
        self.filesystem.move(self.at(temporary), self.at(name))

    def write_json(self, name: str, data: Any) -> bytes:
        content = (json.dumps(data, indent=1) + "\n").encode()
        self.write(name, content)
        return content

    def write_table(self, name: str, table: Any) -> None:
        import pyarrow.parquet as pq

        sink = pa.BufferOutputStream()
        pq.write_table(table, sink)
        self.write(name, sink.getvalue().to_pybytes())

    def move(self, folder: str, to: str) -> None:
        """A folder under its final name: at once where the file system can, file by file in an object store."""
        if self.filesystem.type_name not in OBJECT_STORES:
            self.filesystem.move(self.at(folder), self.at(to))
            return
        self.make(to)
        for name in self.names(folder):
            self.filesystem.move(self.at(f"{folder}/{name}"), self.at(f"{to}/{name}"))

    def remove(self, name: str) -> None:
        """A file or a folder with all that is in it; nothing where there is none."""
        kind = self.filesystem.get_file_info(self.at(name)).type
        if kind == pafs.FileType.Directory:
            self.filesystem.delete_dir(self.at(name))
        elif kind != pafs.FileType.NotFound:
            self.filesystem.delete_file(self.at(name))
