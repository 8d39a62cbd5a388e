"""Executors get compiled code's module as values, often several times in one process, and have no isrcheck."""

from __future__ import annotations

import pickle
import subprocess
import sys
from pathlib import Path

import pytest

from isrcheck.checker.kernel import llvm_compiler
from isrcheck.checker.kernel.compiled import Kernel
from tests.kernel.toys import grid

cloudpickle = pytest.importorskip("pyspark.cloudpickle")

PROGRAM = """
import pickle, sys
sys.meta_path = [finder for finder in sys.meta_path if "editable" not in repr(finder)]
for data in pickle.load(open(sys.argv[1], "rb")):
    work, text = pickle.loads(data)
    print(work(text))
assert not [name for name in sys.modules if name.startswith("isrcheck")]
"""


def both(text: str) -> list[int]:
    """Loads the same functions twice, calls one of each, and returns how many places they have."""
    codes = [llvm_compiler.Code(text) for _ in range(2)]
    for code in codes:
        code.calls["hashes"](0, 0, 0)
    return [len({code.addresses[name] for code in codes}) for name in ("expand", "hashes", "failures")]


def test_code_is_loaded_where_only_its_values_are(tmp_path: Path) -> None:
    kernel = Kernel(grid([3, 4]))
    assert kernel.code.addresses["expand"]  # this process has loaded code, too
    assert both(kernel.text) == [2, 2, 2]
    modules = (llvm_compiler, sys.modules[__name__])
    for module in modules:
        cloudpickle.register_pickle_by_value(module)
    try:
        sent = [cloudpickle.dumps((both, kernel.text)) for _ in range(2)]
    finally:
        for module in modules:
            cloudpickle.unregister_pickle_by_value(module)
    (tmp_path / "sent").write_bytes(pickle.dumps(sent))
    said = subprocess.run(
        [sys.executable, "-c", PROGRAM, str(tmp_path / "sent")], cwd=tmp_path, capture_output=True, text=True
    )
    assert (said.stdout, said.stderr) == ("[2, 2, 2]\n" * 2, "")
