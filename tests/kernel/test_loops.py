"""Loops give the results of the same functions in Python. Their code is compiled once and kept."""

from __future__ import annotations

import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from ctypes import CFUNCTYPE, c_int64
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pytest

from isrcheck.checker.engines.explicit import search_cache
from isrcheck.checker.kernel import jit as loops
from isrcheck.checker.kernel import llvm_compiler
from isrcheck.checker.kernel.code_cache import VARIABLE, Folder
from isrcheck.checker.kernel.intrinsics import fetch_and_add, load, lowest_bit, store, take_wide
from isrcheck.checker.kernel.jit import Loop

STEP = np.uint64(3)


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Folder:
    """An empty folder, which is used for compiled code."""
    monkeypatch.setenv(VARIABLE, str(tmp_path / "objects"))
    return Folder(tmp_path / "objects")


@Loop
def mixed(x: Any) -> Any:
    return x * np.uint64(0x9E3779B97F4A7C15) ^ STEP


@Loop
def summed(numbers: Any, table: Any, pair: Any, start: Any, shift: Any, yes: Any) -> Any:
    few, rows = pair
    total = np.int64(start)
    for i in range(len(numbers)):
        total += np.int64(numbers[i])
    for i in range(table.shape[0]):
        for j in range(table.shape[1]):
            total += np.int64(i * table[i, j]) + np.int64(few[j % len(few)]) * rows[i % len(rows), 0]
    few[0] = np.uint64(7) << shift
    return total if yes else np.int64(-1)


@Loop
def hashed(rows: Any, out: Any) -> None:
    for i in range(len(rows)):
        out[i] = mixed(rows[i])


@Loop
def counted(flags: Any) -> Any:
    count = np.int64(0)
    for i in range(len(flags)):
        count += flags[i]
    flags[len(flags) - 1] = False
    return count


@Loop
def greater(a: Any, b: Any) -> Any:
    return a > b


@Loop
def by_address(words: Any) -> Any:
    at = np.uint64(words.ctypes.data)
    store(at, load(at + np.uint64(8)) + np.uint64(1))
    before = fetch_and_add(at + np.uint64(8), np.uint64(5))
    if take_wide(at, np.uint64(9)) or not take_wide(at + np.uint64(16), np.uint64(9)):
        return np.uint64(0)
    return before + lowest_bit(np.uint64(1 << 40))


class Span(NamedTuple):
    first: Any
    last: Any


class Backwards(NamedTuple):
    last: Any
    first: Any


@Loop
def length(span: Any) -> Any:
    return span.last - span.first


@Loop
def length_of_arrays(span: Any) -> Any:
    return span.last[0] - span.first[0]


@Loop
def filled(pair: Any, out: Any) -> Any:
    span, number = pair
    for i in range(span.first[0], span.last[0]):
        out[i] = number
    return length_of_arrays(span)


def arguments() -> tuple[Any, ...]:
    dice = np.random.default_rng(7)
    few, rows = dice.integers(0, 99, 3, dtype=np.uint64), dice.integers(-99, 99, (4, 1), dtype=np.int64)
    table = dice.integers(0, 99, (5, 7), dtype=np.uint32)
    return dice.integers(0, 99, 11, dtype=np.int16), table, (few, rows), -5, np.uint64(60), True


def test_arguments_of_all_kinds_arrive(folder: Folder) -> None:
    given, same = arguments(), arguments()
    assert summed(*given) == summed.function(*same)
    assert given[2][0].tolist() == same[2][0].tolist() == [7 << 60 & (1 << 64) - 1, *same[2][0].tolist()[1:]]
    assert summed(*arguments()[:-1], False) == -1
    for part in (slice(3), slice(0, 0), slice(2, 9)):
        given, same = arguments(), arguments()
        assert summed(given[0][part], *given[1:]) == summed.function(same[0][part], *same[1:])


def test_fields_are_read_by_name_and_their_order_belongs_to_the_code(folder: Folder) -> None:
    assert length(Span(3, 10)) == length(Backwards(10, 3)) == 7
    assert len(folder.files()) == 2
    again = Loop(length.function)  # as in another process
    assert again(Backwards(10, 3)) == again(Span(3, 10)) == 7
    assert len(folder.files()) == 2
    assert length(Span(np.uint64(3), np.uint64(10))) == 7


def test_a_named_tuple_of_arrays_arrives_and_is_passed_on(folder: Folder) -> None:
    out, span = np.zeros(5, dtype=np.int64), Span(*np.array([[1], [4]], dtype=np.int64))
    assert filled((span, 6), out) == 3
    assert out.tolist() == [0, 6, 6, 6, 0]


def test_a_loop_calls_loops_and_instructions(folder: Folder) -> None:
    rows = np.arange(1, 1 << 40, 1 << 36, dtype=np.uint64)
    out = np.zeros_like(rows)
    assert hashed(rows, out) is None
    assert out.tolist() == [(int(x) * 0x9E3779B97F4A7C15 ^ 3) & (1 << 64) - 1 for x in rows]
    words = np.array([0, 7, 0], dtype=np.uint64)
    assert (by_address(words), words.tolist()) == (47, [8, 12, 9])


def test_each_combination_of_types_has_its_own_code(folder: Folder) -> None:
    loop = Loop(greater.function)
    assert loop(-1, 1) is False  # with a sign
    assert loop(np.uint64((1 << 64) - 1), np.uint64(1)) is True  # without
    assert len(folder.files()) == 2
    assert loop(np.int8(-1), np.uint32((1 << 32) - 1)) is False  # narrower numbers keep their values
    assert loop(np.uint8(255), np.int16(254)) is True
    assert len(folder.files()) == 2


def test_code_is_compiled_once_and_by_one_thread(folder: Folder, monkeypatch: pytest.MonkeyPatch) -> None:
    compiled, seen = Loop._compiled, list[Any]()

    def noted(self: Loop, kinds: Any) -> Any:
        seen.append(kinds)
        return compiled(self, kinds)

    monkeypatch.setattr(Loop, "_compiled", noted)
    loop = Loop(greater.function)
    with ThreadPoolExecutor(4) as pool:
        assert list(pool.map(loop, range(4), [2] * 4)) == [False, False, False, True]
    assert seen == [("int64", "int64")]
    assert Loop(greater.function)(3, 2) is True  # as in another process
    assert len(seen) == 1


def test_damaged_code_is_compiled_again(folder: Folder) -> None:
    assert Loop(greater.function)(3, 2) is True
    ((path, _),) = folder.files()
    whole = path.read_bytes()
    path.write_bytes(whole[:-9])
    assert Loop(greater.function)(3, 2) is True
    ((path, _),) = folder.files()
    assert len(path.read_bytes()) == len(whole)


SCRIPT = """
import sys; sys.path.insert(0, sys.argv[1])
import outer
print(outer.twice(20), "numba" in sys.modules)
"""
INNER = """
from isrcheck.checker.kernel.jit import Loop
BEFORE = 1

@Loop
def next_of(x):
    return x + BEFORE
"""
OUTER = """
from constants import AFTER
from inner import next_of
from isrcheck.checker.kernel.jit import Loop

@Loop
def twice(x):
    return 2 * next_of(x) + AFTER
"""


@pytest.mark.exhaustive
def test_code_is_kept_for_other_processes_until_something_that_it_depends_on_changes(
    folder: Folder, tmp_path: Path
) -> None:
    files = {"inner": INNER, "outer": OUTER, "constants": "AFTER = 0\n"}

    def outcome(**changed: str) -> str:
        for name, text in (files | changed).items():
            (tmp_path / f"{name}.py").write_text(text)
        command = [sys.executable, "-B", "-c", SCRIPT, str(tmp_path)]
        return subprocess.run(command, capture_output=True, text=True, check=True).stdout.strip()

    assert outcome() == "42 True"
    assert outcome() == "42 False"
    assert outcome(inner=INNER.replace("BEFORE = 1", "BEFORE = 2")) == "44 True"
    assert outcome(constants="AFTER = 5\n") == "47 True"
    assert outcome() == "42 False"


def test_an_instruction_is_for_loops_only() -> None:
    with pytest.raises(TypeError, match="load is an instruction: only loops can call it"):
        load(0)


def allocating(x: Any) -> Any:
    return np.zeros(x).sum()


def giving_a_pair(x: Any) -> Any:
    return x, x


def printing(x: Any) -> None:
    print(x)


@pytest.mark.parametrize(
    ("function", "message"),
    [
        (allocating, "Failed in nopython mode"),
        (giving_a_pair, "returns UniTuple"),
        (printing, r"printing needs .*, numba_gil_release"),
    ],
)
def test_what_needs_numba_when_it_runs_is_refused(function: Any, message: str, folder: Folder) -> None:
    with pytest.raises(Exception, match=message):
        Loop(function)(3)
    assert folder.files() == []


def test_an_argument_that_no_loop_takes_is_refused(folder: Folder) -> None:
    backwards, read_only = np.arange(3, dtype=">u8"), np.frombuffer(b"12345678", dtype=np.uint64)
    crooked = np.frombuffer(bytearray(17), dtype=np.uint8)[1:].view(np.uint64)
    for wrong in (1.5, "text", None, np.arange(8)[::2], np.zeros((3, 3)).T, backwards, read_only, crooked):
        with pytest.raises(TypeError):
            greater(wrong, 1)
    for large in (1 << 63, 1 << 64, -(1 << 63) - 1):
        with pytest.raises(OverflowError, match="has more than 64 bits"):
            greater(large, 1)
    assert greater((1 << 63) - 1, -(1 << 63)) is True


def test_flags_are_an_array_of_numbers(folder: Folder) -> None:
    flags = np.array([True, False, True])
    assert counted(flags) == 2
    assert flags.tolist() == [True, False, False]


def test_two_loops_of_one_name_are_two(folder: Folder) -> None:
    both = Loop(lambda x: x + 1), Loop(lambda x: x + 2)
    assert [loop(1) for loop in both] == [2, 3]
    assert len(folder.files()) == 2


def test_code_is_kept_as_what_was_imported(folder: Folder, tmp_path: Path) -> None:
    """A file may change between its import and the first call."""
    text = "from isrcheck.checker.kernel.jit import Loop\n\n\n@Loop\ndef more(x):\n    return x + 1\n"
    script = (
        "import sys; sys.path.insert(0, sys.argv[1])\n"
        "import pathlib, changing\n"
        "file = pathlib.Path(changing.__file__)\n"
        "if len(sys.argv) > 2: file.write_text(file.read_text().replace('+ 1', '+ 100'))\n"
        "print(changing.more(1), 'numba' in sys.modules)\n"
    )
    (tmp_path / "changing.py").write_text(text)

    def outcome(*words: str) -> str:
        command = [sys.executable, "-B", "-c", script, str(tmp_path), *words]
        return subprocess.run(command, capture_output=True, text=True, check=True).stdout.strip()

    assert outcome("change") == "2 True"
    assert outcome() == "101 True"
    (tmp_path / "changing.py").write_text(text.replace("    return", "\n    return"))
    assert outcome() == "2 False"  # the bytecode is that of the beginning, though in another line


def test_the_key_names_the_versions_and_the_processor(folder: Folder, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("surroundings", "version_of"):
        loops._numba.cache_clear()
        before = loops._numba()
        with monkeypatch.context() as patched:
            patched.setattr(loops, name, lambda *given: "another")
            loops._numba.cache_clear()
            assert loops._numba() != before
    loops._numba.cache_clear()


def test_a_change_of_any_file_with_loops_of_the_search_is_noticed() -> None:
    """Else a search would wait for the compiler where it expects that it need not."""
    loops = [path for path in search_cache.HERE.glob("*.py") if "\n@Loop\n" in path.read_text()]
    assert len(loops) == 3
    assert {*loops, *(search_cache.KERNEL / name for name in ("jit.py", "intrinsics.py"))} == {*search_cache.FILES}


EQUAL_NAMES = """
define weak i64 @inner() noinline {{
  ret i64 {0}
}}
define i64 @outer() {{
  %it = call i64 @inner()
  ret i64 %it
}}
"""


def test_code_calls_its_own_functions_though_others_have_the_same_names() -> None:
    """A process may have code of a loop that was changed since, as tests do, or that another process has compiled."""
    linker = llvm_compiler.Linker()
    libraries = [linker.loaded(llvm_compiler._compiled(EQUAL_NAMES.format(n), None), ["outer"]) for n in range(5)]
    given = [CFUNCTYPE(c_int64)(library["outer"])() for library in libraries]
    assert given == [0, 1, 2, 3, 4]
