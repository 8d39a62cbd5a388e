"""Files of packed states: Parquet with one column of fixed-size bytes, sorted by the hashes of the states.

The file's metadata has the first hash of every row group, so a look-up reads only the row groups that may have the
wanted states. A file is named by the root of its dataset and by its path in the dataset.
"""

from __future__ import annotations

import bisect
import hashlib
import io
import json
from collections.abc import Callable, Iterable, Iterator
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from isrcheck.checker.datasets.places import located

Array = Any
Hash = Callable[[Array], Array]
GROUP = 1 << 14
"""The most states in a row group. A row group is the smallest unit that is read."""
SLAB = 64
"""The most row groups that are read together. Row groups that are read together are a *slab*."""
FIRSTS = b"isrcheck.first-hashes"
CHANGED = "does not match its manifest"
OPTIONS = {"use_dictionary": False, "write_statistics": False, "compression": "lz4", "write_page_checksum": True}
"""LZ4 takes a sixth more space than Zstandard and is read twice as fast. The checksums detect changed pages."""


class Written(io.RawIOBase):
    """A new file that computes the size and the SHA-256 of its content while it is written."""

    def __init__(self, root: str, path: str) -> None:
        super().__init__()
        filesystem, place = located(root, path)
        self.stream, self.size, self.digest = filesystem.open_output_stream(place), 0, hashlib.sha256()

    def writable(self) -> bool:
        return True

    def write(self, data: Any) -> int:
        self.stream.write(data)
        self.digest.update(data)
        length = memoryview(data).nbytes
        self.size += length
        return length

    def tell(self) -> int:
        return self.size

    def end(self) -> dict[str, Any]:
        """Closes the file. Returns its size and SHA-256, for the file's entry in a manifest."""
        self.stream.close()
        return {"bytes": self.size, "sha256": self.digest.hexdigest()}


def is_whole(root: str, path: str, sha256: str) -> bool:
    """True if a file's content has the SHA-256 of the manifest."""
    filesystem, place = located(root, path)
    digest = hashlib.sha256()
    with filesystem.open_input_stream(place) as stream:
        while part := stream.read(1 << 24):
            digest.update(part)
    return digest.hexdigest() == sha256


def require_whole(root: str, path: str, sha256: str) -> None:
    """Raises `ValueError` if a file's content does not have the SHA-256 of the manifest."""
    if not is_whole(root, path, sha256):
        raise ValueError(f"{path} {CHANGED}")


def write(root: str, path: str, slabs: Iterable[tuple[Array, Array]], words: int, group: int = 0) -> dict[str, Any]:
    """Writes the rows of `slabs` into a new file. If there are no rows, writes no file.

    Each slab has rows and their hashes. All hashes must be in ascending order. Returns the data about the file for its
    entry in a manifest.
    """
    kind, group, count, firsts, last = pa.binary(8 * words), group or GROUP, 0, [], None
    writer, stream = None, None
    for rows, hashes in slabs:
        if not len(rows):
            continue
        if writer is None:
            stream = Written(root, path)
            writer = pq.ParquetWriter(stream, pa.schema([("state", kind)]), **OPTIONS)
        data = pa.py_buffer(np.ascontiguousarray(rows))
        column = pa.FixedSizeBinaryArray.from_buffers(kind, len(rows), [None, data])
        writer.write_table(pa.table({"state": column}), row_group_size=group)
        firsts.append(hashes[::group])
        count, last = count + len(rows), int(hashes[-1])
    if writer is None or stream is None:
        return {"rows": 0, "bytes": 0}
    index = np.concatenate(firsts)
    writer.add_key_value_metadata({FIRSTS: index.astype("<u8").tobytes().hex()})
    writer.close()
    ends = [f"{int(index[0]):016x}", f"{last:016x}"]
    return {"rows": count, **stream.end(), "hashes": ends}


def plan(frontier: Iterable[dict[str, Any]], known: Iterable[dict[str, Any]], bounds: list[int]) -> list[bytes]:
    """For each partition, a JSON text that lists the files that may have states of this partition.

    The text has two lists: files of the level to expand, and files of known states. A partition is a range of hashes,
    from one of `bounds` to the next. A task gets the texts of all partitions, and decodes only the text of its
    partition.
    """
    found: list[dict[str, list[dict[str, Any]]]] = [{"frontier": [], "known": []} for _ in bounds[1:]]
    for name, entries in (("frontier", frontier), ("known", known)):
        for entry in entries:
            first, last = (bisect.bisect_right(bounds, int(end, 16)) - 1 for end in entry["hashes"])
            for partition in range(first, last + 1):
                found[partition][name].append(entry)
    return [json.dumps(lists).encode() for lists in found]


def mine(work: dict[str, Any], partition: int) -> dict[str, list[dict[str, Any]]]:
    """The files that the plan in `work` (`tasks.py`) has for a partition: `frontier` (the level to expand) and `known`
    (known states)."""
    lists: dict[str, list[dict[str, Any]]] = json.loads(shared(work["plan"])[partition])
    return lists


def shared(value: Any) -> Any:
    """The data that all tasks of a job share. `value` is this data or Spark's broadcast of this data."""
    return value.value if hasattr(value, "value") else value


class Reader:
    """Reads the states of a file in order. `read` counts the bytes of the row groups that were read."""

    def __init__(self, root: str, path: str, hash_of: Hash) -> None:
        filesystem, place = located(root, path)
        self._stream = filesystem.open_input_file(place)
        self._file = pq.ParquetFile(self._stream, page_checksum_verification=True)
        self._hash_of, self.read = hash_of, 0
        text = self._file.metadata.metadata[FIRSTS].decode()
        self.firsts = np.frombuffer(bytes.fromhex(text), dtype="<u8").astype(np.uint64)

    def all(self) -> Iterator[Array]:
        """All rows, slab by slab."""
        for rows, _ in self._slabs(list(range(len(self.firsts)))):
            yield rows

    def between(self, low: int, high: int) -> Iterator[tuple[Array, Array]]:
        """The rows with hashes from `low` to `high - 1`, and these hashes, slab by slab."""
        begin = max(int(np.searchsorted(self.firsts, np.uint64(low))) - 1, 0)
        end = int(np.searchsorted(self.firsts, np.uint64(high - 1), side="right"))
        for rows, hashes in self._slabs(list(range(begin, end))):
            a = int(np.searchsorted(hashes, np.uint64(low)))
            b = int(np.searchsorted(hashes, np.uint64(high - 1), side="right"))
            if a < b:
                yield rows[a:b], hashes[a:b]

    def around(self, wanted: Array) -> Iterator[tuple[Array, Array, int, int]]:
        """Yields the slabs that may have some of the hashes in `wanted`. These hashes must be sorted.

        For each slab: its rows, their hashes, and two positions a and b. The slab may have the hashes `wanted[a:b]`.
        """
        if not len(wanted):
            return
        marks = np.zeros(len(self.firsts) + 1, dtype=np.int64)
        first = np.maximum(np.searchsorted(self.firsts, wanted) - 1, 0)
        np.add.at(marks, first, 1)
        np.add.at(marks, np.maximum(np.searchsorted(self.firsts, wanted, side="right"), first + 1), -1)
        for rows, hashes in self._slabs(np.flatnonzero(np.cumsum(marks[:-1]) > 0).tolist()):
            a = int(np.searchsorted(wanted, hashes[0]))
            b = int(np.searchsorted(wanted, hashes[-1], side="right"))
            if a < b:
                yield rows, hashes, a, b

    def _slabs(self, groups: list[int]) -> Iterator[tuple[Array, Array]]:
        for start in range(0, len(groups), SLAB):
            chosen = groups[start : start + SLAB]
            column = self._file.read_row_groups(chosen, use_threads=False).column(0)
            self.read += sum(self._file.metadata.row_group(g).column(0).total_compressed_size for g in chosen)
            parts = [_words(chunk) for chunk in column.chunks if len(chunk)]
            rows = parts[0] if len(parts) == 1 else np.concatenate(parts)
            yield rows, self._hash_of(rows)

    def close(self) -> None:
        self._file.close()
        self._stream.close()


def _words(chunk: Any) -> Array:
    """The rows of an Arrow array of fixed-size bytes, without a copy."""
    width = chunk.type.byte_width // 8
    data = np.frombuffer(chunk.buffers()[1], dtype=np.uint64)
    return data[chunk.offset * width : (chunk.offset + len(chunk)) * width].reshape(-1, width)
