"""The instructions of loops: memory by address, atomic operations, vectors, and calls of compiled functions.

A function with the decorator `instruction` defines an instruction of loops (`isrcheck.checker.kernel.jit`). The
function runs when a loop that calls the instruction is compiled, and writes the instruction's LLVM code (see
`Instruction`). The docstring of the function says what this code does when the loop runs. The decorator names the type
of the result, then the types of the arguments. An address is an integer. The instructions of programs over columns
(`isrcheck.checker.kernel.bytecode`) are something else.
"""

from __future__ import annotations

from typing import Any

from llvmlite import ir

from isrcheck.checker.kernel.jit import instruction

_I8, _I32, _I64 = ir.IntType(8), ir.IntType(32), ir.IntType(64)
_BYTES = _I8.as_pointer()


# --- memory ---------------------------------------------------------------------------------------------------------


@instruction("uint64", "uint64")
def load(builder: Any, address: Any) -> Any:
    """The unsigned 64-bit integer at an address."""
    return builder.load(builder.inttoptr(address, _I64.as_pointer()), align=1)


@instruction("void", "uint64", "uint64")
def store(builder: Any, address: Any, value: Any) -> None:
    """Puts an unsigned 64-bit integer at an address."""
    builder.store(value, builder.inttoptr(address, _I64.as_pointer()), align=1)


@instruction("void", "uint64")
def prefetch(builder: Any, address: Any) -> None:
    """Begins to fetch the cache line at an address that will be read soon."""
    kind = ir.FunctionType(ir.VoidType(), [_BYTES, _I32, _I32, _I32])
    function = _declared(builder, kind, "llvm.prefetch.p0")
    # 0: for reading; 3: to be kept in the cache; 1: the cache for data.
    builder.call(function, [builder.inttoptr(address, _BYTES), _I32(0), _I32(3), _I32(1)])


@instruction("void", "uint64", "uint64", "int64")
def memcpy(builder: Any, to: Any, address: Any, size: Any) -> None:
    """Copies `size` bytes from `address` to the address `to`."""
    function = _declared(builder, ir.FunctionType(_BYTES, [_BYTES, _BYTES, _I64]), "memcpy")
    builder.call(function, [*(builder.inttoptr(x, _BYTES) for x in (to, address)), size])


@instruction("int64", "int64", "uint64", "int64", "int64")
def pread(builder: Any, file: Any, address: Any, size: Any, place: Any) -> Any:
    """Reads at most `size` bytes of a file, from byte `place` on, to an address.

    Returns how many bytes were read, or -1 for an error.
    """
    function = _declared(builder, ir.FunctionType(_I64, [_I32, _BYTES, _I64, _I64]), "pread")
    return builder.call(function, [builder.trunc(file, _I32), builder.inttoptr(address, _BYTES), size, place])


def _declared(builder: Any, kind: Any, name: str) -> Any:
    return builder.module.globals.get(name) or ir.Function(builder.module, kind, name=name)


# --- memory that several threads use at once ------------------------------------------------------------------------


@instruction("uint64", "uint64")
def load_entry(builder: Any, address: Any) -> Any:
    """The 32-bit entry at an address, as 64 bits. Another thread may write there at the same time."""
    pointer = builder.inttoptr(address, _I32.as_pointer())
    return builder.zext(builder.load_atomic(pointer, "acquire", 4), _I64)


@instruction("void", "uint64", "uint64")
def store_entry(builder: Any, address: Any, value: Any) -> None:
    """Puts 32 bits at an address.

    A thread that reads these bits with `load_entry` also sees everything that the storing thread stored before them.
    """
    pointer = builder.inttoptr(address, _I32.as_pointer())
    builder.store_atomic(builder.trunc(value, _I32), pointer, "release", 4)


@instruction("uint64", "uint64")
def load_shared(builder: Any, address: Any) -> Any:
    """The unsigned 64-bit integer at an address. Another thread may write there at the same time."""
    return builder.load_atomic(builder.inttoptr(address, _I64.as_pointer()), "monotonic", 8)


@instruction("void", "uint64", "uint64")
def store_shared(builder: Any, address: Any, value: Any) -> None:
    """Puts an unsigned 64-bit integer at an address. Another thread may read or write there at the same time."""
    builder.store_atomic(value, builder.inttoptr(address, _I64.as_pointer()), "monotonic", 8)


@instruction("boolean", "uint64", "uint64")
def take_entry(builder: Any, address: Any, value: Any) -> Any:
    """Puts 32 bits at an address if 0 is there, as one atomic step. Returns whether 0 was there."""
    return _taken(builder, address, builder.trunc(value, _I32))


@instruction("boolean", "uint64", "uint64")
def take_wide(builder: Any, address: Any, value: Any) -> Any:
    """Puts 64 bits at an address if 0 is there, as one atomic step. Returns whether 0 was there."""
    return _taken(builder, address, value)


def _taken(builder: Any, address: Any, value: Any) -> Any:
    pointer = builder.inttoptr(address, value.type.as_pointer())
    done = builder.cmpxchg(pointer, value.type(0), value, ordering="acq_rel", failordering="acquire")
    return builder.extract_value(done, 1)


@instruction("uint64", "uint64", "uint64")
def fetch_and_add(builder: Any, address: Any, amount: Any) -> Any:
    """Adds `amount` to the 64-bit integer at an address, as one atomic step. Returns the former value."""
    return builder.atomic_rmw("add", builder.inttoptr(address, _I64.as_pointer()), amount, "monotonic")


@instruction("uint64", "uint64", "uint64")
def fetch_and_or(builder: Any, address: Any, bits: Any) -> Any:
    """Sets bits of the 64-bit integer at an address, as one atomic step. Returns the former value."""
    return builder.atomic_rmw("or", builder.inttoptr(address, _I64.as_pointer()), bits, "monotonic")


# --- bits and vectors -----------------------------------------------------------------------------------------------


@instruction("uint64", "uint64")
def lowest_bit(builder: Any, value: Any) -> Any:
    """The position of the lowest bit that is set. The value must not be 0."""
    return builder.cttz(value, ir.Constant(ir.IntType(1), 1))


@instruction("uint64", "uint64", "uint64", "uint64")
def look(builder: Any, address: Any, key: Any, mask: Any) -> Any:
    """Looks for a key in the bucket at an address. A bucket has 16 entries of 32 bits, and an empty entry is 0.

    Bit i of the result is set if entry i is not empty and `entry & mask` equals the key. Bit 32 + i is set if entry i
    is empty.
    """
    return _looked(builder, address, builder.trunc(key, _I32), builder.trunc(mask, _I32))


@instruction("uint64", "uint64", "uint64", "uint64")
def look_wide(builder: Any, address: Any, key: Any, mask: Any) -> Any:
    """Does the same as `look`, for a bucket of 8 entries of 64 bits."""
    return _looked(builder, address, key, mask)


def _looked(builder: Any, address: Any, key: Any, mask: Any) -> Any:
    """Compares all entries of a bucket of 64 bytes at once."""
    count = 512 // key.type.width
    vector, flags = ir.VectorType(key.type, count), ir.IntType(count)

    def all_lanes(value: Any) -> Any:
        one = builder.insert_element(ir.Constant(vector, ir.Undefined), value, _I32(0))
        return builder.shuffle_vector(one, one, ir.Constant(ir.VectorType(_I32, count), [_I32(0)] * count))

    entries = builder.load(builder.inttoptr(address, vector.as_pointer()), align=64)
    same = builder.icmp_unsigned("==", builder.and_(entries, all_lanes(mask)), all_lanes(key))
    empty = builder.icmp_unsigned("==", entries, ir.Constant(vector, [key.type(0)] * count))
    found = builder.zext(builder.bitcast(builder.and_(same, builder.not_(empty)), flags), _I64)
    return builder.or_(found, builder.shl(builder.zext(builder.bitcast(empty, flags), _I64), _I64(32)))


# --- functions of the kernel, by their addresses --------------------------------------------------------------------


@instruction("int64", *["int64"] * 7)
def call_expand(builder: Any, function: Any, *arguments: Any) -> Any:
    """Calls `expand` with states, their number, three arrays (for successors, sources, transitions), and the tally."""
    return _called(builder, _I64, function, arguments)


@instruction("int64", *["int64"] * 5)
def call_failures(builder: Any, function: Any, *arguments: Any) -> Any:
    """Calls `failures` with states, their number, and two arrays (for sources, transitions)."""
    return _called(builder, _I64, function, arguments)


@instruction("void", *["int64"] * 4)
def call_batch(builder: Any, function: Any, *arguments: Any) -> None:
    """Calls `hashes`, `evaluate`, `survey` or the like with states, their number, and an array for results."""
    _called(builder, ir.VoidType(), function, arguments)


def _called(builder: Any, result: Any, function: Any, arguments: tuple[Any, ...]) -> Any:
    kind = ir.FunctionType(result, [_I64] * len(arguments))
    return builder.call(builder.inttoptr(function, kind.as_pointer()), arguments)
