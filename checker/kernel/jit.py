"""Loops: Python functions that run as compiled code over numbers and arrays. Numba compiles them.

A *loop* is a function with the decorator `Loop`. Its arguments are integers, contiguous arrays, and tuples of these. A
loop reads the fields of a named tuple by their names. A loop returns nothing or one number to Python. It allocates
nothing and raises nothing. It may call other loops and *instructions*. Instructions are operations that Python does not
have, such as an atomic addition (`isrcheck.checker.kernel.intrinsics`).

Compiled code takes only arguments of certain types. In this file the type of an argument is called its *kind*. A
*version* is the compiled code of a loop for one combination of kinds. A version is compiled when a call first needs it.

Importing Numba takes longer than a search of a million states. So versions are kept on disk, like all compiled objects
(`isrcheck.checker.kernel.code_cache`). A process imports Numba only to compile a version that is not on disk. For this
reason a version must not need Numba when it runs.
"""

from __future__ import annotations

import ctypes
import hashlib
import json
import os
import sys
import threading
from collections import namedtuple
from collections.abc import Callable, Iterator
from functools import cache, cached_property, update_wrapper
from inspect import Parameter, Signature
from pathlib import Path
from types import CodeType, FunctionType
from typing import TYPE_CHECKING, Any, Final, NamedTuple, cast

import llvmlite.binding as llvm
import numpy as np

from isrcheck.checker.kernel.code_cache import objects, version_of
from isrcheck.checker.kernel.llvm_compiler import Linker, begun, surroundings

if TYPE_CHECKING:
    from isrcheck.checker.kernel.code_cache import Folder

OPTIONS: Final = {"boundscheck": False, "error_model": "numpy"}
"""Options of Numba. With them a loop does not check positions in arrays, and raises nothing when it divides by zero."""
BARE: Final = {"no_cpython_wrapper": True, "no_cfunc_wrapper": True, "_nrt": False}
"""Options of Numba that leave out what a loop does not need: Numba's wrappers for calls from Python and from C, and
memory that Numba manages."""
OUTSIDE: Final = frozenset({"memcpy", "memset", "memmove", "pread"})
"""The functions of the C library that a loop may call. A loop may also call LLVM's own functions. It must not call any
other function, because that function may need Numba."""
RETURNED: Final[dict[str, Any]] = {
    "none": None,
    "bool": ctypes.c_bool,
    "int32": ctypes.c_int32,
    "int64": ctypes.c_int64,
    "uint64": ctypes.c_uint64,
}
"""The types that a loop may return to Python: Numba's name of each type, and the type in `ctypes`."""
NARROW: Final = (int, bool, np.bool_, np.int8, np.int16, np.int32, np.int64, np.uint8, np.uint16, np.uint32)
NUMBERS: Final[dict[type, str]] = {np.uint64: "uint64"} | dict.fromkeys(NARROW, "int64")
"""The types of the numbers that a loop takes, and for each type its name in compiled code. In compiled code all these
numbers have 64 bits, because platforms pass narrower numbers to functions in different ways."""
LEAST: Final = -(1 << 63)
GREATEST: Final = (1 << 63) - 1
"""`LEAST` and `GREATEST`: the range of the signed integers that a loop takes."""
NOTHING: Final = -2
"""Numba's status of a compiled function that returned None. If the function returned a value, the status is 0."""

Kind = str | tuple["Kind", ...]
"""The kind of an argument. For a number it is the name in `NUMBERS`, such as `int64`. For an array it is numpy's code
for the type of the entries, and the number of dimensions, such as `<u8[2]`. For a tuple it is the tuple of the kinds of
the elements. For a named tuple it is the tuple of its `Field`s."""


class Field(NamedTuple):
    """A field of a named tuple. Compiled code depends on the order of the fields, so their names are part of the kind.

    The class of the named tuple is no part of it.
    """

    name: str
    kind: Kind


class Instruction:
    """An operation that Python does not have. Only loops can call it.

    `generate` writes the operation's LLVM code into each loop that calls the operation. It gets an llvmlite builder and
    the LLVM values of the arguments, and returns the LLVM value of the result, if there is one. `result` and
    `arguments` are Numba's names of the types.
    """

    def __init__(self, generate: Callable[..., Any], result: str, arguments: tuple[str, ...]) -> None:
        self.function: Any = generate
        self.source = _hash_of(generate.__code__.co_filename)
        self._types = result, *arguments

    def __call__(self, *arguments: Any) -> Any:
        raise TypeError(f"{self.function.__name__} is an instruction: only loops can call it")

    @cached_property
    def numba(self) -> Any:
        """The instruction in Numba's form: an intrinsic function."""
        from numba import types
        from numba.extending import intrinsic

        result, *arguments = (getattr(types, name) for name in self._types)

        def lowered(context: Any, builder: Any, signature: Any, values: Any) -> Any:
            value = self.function(builder, *values)
            return context.get_dummy_value() if result is types.void else value

        def typed(context: Any, *given: Any) -> Any:
            return result(*arguments), lowered

        # Numba needs a signature that has one parameter for each argument. `*given` is not enough.
        names, signed = ("context", *(f"value_{n}" for n in range(len(arguments)))), cast(Any, typed)
        signed.__signature__ = Signature([Parameter(name, Parameter.POSITIONAL_ONLY) for name in names])
        return intrinsic(signed)


def instruction(result: str, *arguments: str) -> Callable[[Callable[..., Any]], Instruction]:
    """A decorator for a function that writes an instruction's LLVM code. Makes an `Instruction` of the function."""
    return lambda generate: Instruction(generate, result, arguments)


class Loop:
    """A function that runs as compiled code. There is one version of the code for each combination of argument kinds.

    In compiled code, an argument of type `np.uint64` has no sign. All other arguments that are integers or booleans
    become 64-bit integers with a sign. `function` is the Python function itself.
    """

    def __init__(self, function: Callable[..., Any]) -> None:
        self.function: Any = function
        self._versions: dict[tuple[Kind, ...], Version] = {}
        self._compiling = threading.Lock()
        update_wrapper(self, function)

    def __call__(self, *arguments: Any) -> Any:
        kinds = tuple(map(_kind, arguments))
        version = self._versions.get(kinds)
        if version is None:
            # Numba compiles in another thread, so that Python can be interrupted meanwhile.
            version = begun(lambda: self._version(kinds)).result()
        return version(arguments)

    def _version(self, kinds: tuple[Kind, ...]) -> Version:
        with self._compiling:
            if kinds not in self._versions:
                self._versions[kinds] = Version(kinds, *self._object(kinds, objects()))
            return self._versions[kinds]

    def _object(self, kinds: tuple[Kind, ...], folder: Folder | None) -> tuple[str, str, bytes]:
        """The name of the compiled function, the name of its result's type, and the object code."""
        if folder is None:
            return self._compiled(kinds)
        key = f"{self.function.__qualname__} {kinds} {self._text} {_numba()}"
        if (kept := folder.get(key)) is not None:
            about, _, code = kept.partition(b"\n")
            name, returned = json.loads(about)
            return name, returned, code
        name, returned, code = self._compiled(kinds)
        folder.put(key, json.dumps([name, returned]).encode() + b"\n" + code)
        return name, returned, code

    def _compiled(self, kinds: tuple[Kind, ...]) -> tuple[str, str, bytes]:
        dispatcher, types = self.numba, tuple(map(_numba_type, kinds))
        dispatcher.compile(types)
        found = dispatcher.overloads[types]
        library, returned = found.library, str(found.signature.return_type)
        code = library.serialize_using_object_code()[2][0]
        text = llvm.parse_assembly(library.get_llvm_str())
        outside = {x.name for x in (*text.functions, *text.global_variables) if x.is_declaration}
        strange = sorted(name for name in outside - OUTSIDE if not name.startswith("llvm."))
        if strange or library.has_dynamic_globals:
            what = ", ".join(strange) or "addresses of this process"
            raise TypeError(f"the loop {self.function.__name__} needs {what}")
        if returned not in RETURNED:
            raise TypeError(f"the loop {self.function.__name__} returns {returned}")
        return found.fndesc.llvm_func_name, returned, code

    @cached_property
    def numba(self) -> Any:
        """The function in Numba's form. The loops and instructions that the function calls are in this form, too."""
        import numba

        function = self.function
        known = {**function.__globals__, **{name: used.numba for name, used in _used(function) if used is not self}}
        return cast(Any, numba).njit(FunctionType(function.__code__, known, function.__name__), **OPTIONS, **BARE)

    @cached_property
    def _text(self) -> str:
        """A hash of the source that the compiled code depends on.

        The hash covers the bytecode of this loop and of all loops that it calls, directly or through other loops. It
        also covers the values of the global numbers that these loops use, the files of the instructions that these
        loops call, and this file. It does not cover the files of the loops, because such a file may have changed since
        this process imported it.
        """
        parts, waiting, seen = [_OWN], [self.function], set[Any]()
        while waiting:
            function = waiting.pop()
            if function in seen:
                continue
            seen.add(function)
            parts += _bytecode(function.__code__, function.__doc__)
            parts += (f"{name}={number!r}" for name, number in _numbers(function))
            for name, used in _used(function):
                parts.append(f"{name}: {used.source if isinstance(used, Instruction) else 'a loop'}")
                waiting += [used.function] if isinstance(used, Loop) else []
        return hashlib.sha256("\n".join(parts).encode()).hexdigest()


@cache
def _hash_of(file: str) -> str:
    """A hash of a file of this project. The first call reads the file, while Python imports it. Later calls do not."""
    return hashlib.sha256(Path(file).read_bytes()).hexdigest()


_OWN: Final = _hash_of(__file__)


def _bytecode(code: CodeType, doc: str | None = None) -> Iterator[str]:
    """Yields, as texts, the parts of a function's bytecode that determine the compiled code. Leaves out `doc`.

    `doc` is the function's docstring.
    """
    counts = code.co_argcount, code.co_posonlyargcount, code.co_kwonlyargcount, code.co_flags
    yield repr((code.co_name, counts, code.co_code, code.co_names, code.co_varnames, code.co_freevars))
    for constant in code.co_consts:
        if isinstance(constant, CodeType):
            yield from _bytecode(constant)
        elif constant is None or constant != doc:
            yield repr(constant)


def _used(function: Any) -> list[tuple[str, Loop | Instruction]]:
    """The loops and instructions that a function uses, each with its name in the function."""
    return [(name, value) for name, value in _globals(function) if isinstance(value, (Loop, Instruction))]


def _numbers(function: Any) -> Iterator[tuple[str, Any]]:
    """The global numbers that a function uses, with their names.

    Leaves out numpy, loops and instructions. Raises `TypeError` if the function uses any other global, because `_text`
    would not cover its value.
    """
    for name, value in _globals(function):
        if isinstance(value, (int, np.integer)):
            yield name, value
        elif not isinstance(value, (Loop, Instruction)) and value is not np:
            raise TypeError(f"{function.__name__} uses {name}, which is no number, loop or instruction")


def _globals(function: Any) -> Iterator[tuple[str, Any]]:
    """The globals that a function uses (names that its file defines or imports), with their values.

    `co_names` does not tell attributes from globals: a global with the name of an attribute counts as used.
    """
    known = function.__globals__
    yield from ((name, known[name]) for name in sorted(set(_names(function.__code__))) if name in known)


def _names(code: CodeType) -> Iterator[str]:
    yield from code.co_names
    for constant in code.co_consts:
        if isinstance(constant, CodeType):
            yield from _names(constant)


# --- arguments ------------------------------------------------------------------------------------------------------


def _kind(argument: Any) -> Kind:
    if (known := NUMBERS.get(type(argument))) is not None:
        return known
    if isinstance(argument, np.ndarray):
        if not argument.flags.carray or not argument.dtype.isnative:
            raise TypeError("an array of a loop must be contiguous, aligned, writable and in native byte order")
        return f"{argument.dtype.str}[{argument.ndim}]"
    if not isinstance(argument, tuple):
        raise TypeError(f"invalid argument of a loop: {type(argument)}")
    kinds, names = map(_kind, argument), getattr(argument, "_fields", None)
    return tuple(kinds) if names is None else tuple(map(Field, names, kinds))


def _numba_type(kind: Kind) -> Any:
    from numba import from_dtype, types

    if isinstance(kind, tuple):
        fields = [each for each in kind if isinstance(each, Field)]
        class_ = _class_with(tuple(each.name for each in fields)) if fields else None
        elements = [_numba_type(each.kind if isinstance(each, Field) else each) for each in kind]
        return cast(Any, types.BaseTuple).from_types(elements, class_)
    name, _, dimensions = kind.partition("[")
    number = from_dtype(np.dtype(name))
    return types.Array(number, int(dimensions[:-1]), "C") if dimensions else number


@cache
def _class_with(names: tuple[str, ...]) -> Any:
    """A class of named tuples with these fields."""
    return namedtuple("Fields", names)


def _flat(arguments: tuple[Any, ...], into: list[int]) -> list[int]:
    """Adds the arguments to the list `into`, in the form in which Numba passes them to compiled code. Returns `into`.

    An array becomes two zeros, the number of its entries, the bytes of an entry, its address, its shape and its
    strides. In place of the zeros, Numba may pass addresses of objects that own the array's memory. Here there are no
    such objects.
    """
    for argument in arguments:
        if type(argument) in NUMBERS:
            number = int(argument)
            if not LEAST <= number <= GREATEST and type(argument) is not np.uint64:
                raise OverflowError(f"{number} has more than 64 bits")
            into.append(number)
        elif isinstance(argument, tuple):
            _flat(argument, into)
        else:
            address = argument.__array_interface__["data"][0]
            into += 0, 0, argument.size, argument.itemsize, address, *argument.shape, *argument.strides
    return into


def _slots(kind: Kind) -> int:
    """How many integers `_flat` makes of an argument of this kind."""
    if isinstance(kind, tuple):
        return sum(_slots(each.kind if isinstance(each, Field) else each) for each in kind)
    _, _, dimensions = kind.partition("[")
    return 5 + 2 * int(dimensions[:-1]) if dimensions else 1


# --- compiled code --------------------------------------------------------------------------------------------------


class Version:
    """The compiled code of a loop for one combination of argument kinds.

    `name` is the name of the function in the object code `code`. `returned` is Numba's name of the result's type. By
    Numba's conventions, the function takes the address for its result, the address for an exception, and then the
    loop's arguments (`_flat`). It returns a status. `ctypes` releases Python's global lock during a call, so loops can
    run in several threads at once.
    """

    def __init__(self, kinds: tuple[Kind, ...], name: str, returned: str, code: bytes) -> None:
        self._library = _linker().loaded(code, [name])
        self._result, self._error = RETURNED[returned], ctypes.c_void_p()
        slots = [ctypes.c_int64] * _slots(kinds)
        form = ctypes.CFUNCTYPE(ctypes.c_int32, ctypes.c_void_p, ctypes.c_void_p, *slots)
        self._call = form(self._library[name])

    def __call__(self, arguments: tuple[Any, ...]) -> Any:
        result = (self._result or ctypes.c_int64)()
        status = self._call(ctypes.byref(result), ctypes.byref(self._error), *_flat(arguments, []))
        if status not in (0, NOTHING):
            raise RuntimeError(f"a loop ended with status {status}")
        return None if self._result is None else result.value


@cache
def _linker() -> Linker:
    """The linker of all loops of this process."""
    return Linker()


@cache
def _numba() -> str:
    """A text that names everything that compiled code depends on, except its source. Does not import Numba.

    The text names the versions of Numba, Python and LLVM, this machine's system and processor, and the options of
    Numba, also those in the environment.
    """
    asked = sorted(pair for pair in os.environ.items() if pair[0].startswith("NUMBA_"))
    return f"{version_of('numba')} {sys.version} {surroundings()} {OPTIONS} {BARE} {asked}"
