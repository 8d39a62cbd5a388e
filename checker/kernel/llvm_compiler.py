"""Makes functions from LLVM text: parses, verifies and optimises the text for this machine, and keeps the code alive.

This file needs only llvmlite and nothing of this project, because it is also sent to machines without the project. It
is sent as values, so it must not keep anything in global variables, and no function may be cached.
"""

from __future__ import annotations

import ctypes
import itertools
import re
import threading
from collections.abc import Callable, Iterable, Iterator, Mapping
from concurrent.futures import Future
from typing import Any, Final, Protocol

import llvmlite
import llvmlite.binding as llvm

SIGNATURES: Final[Mapping[str, tuple[int, bool]]] = {
    "expand": (6, True),
    "failures": (4, True),
    "hashes": (3, False),
    "evaluate": (3, False),
    "survey": (3, False),
}
"""For each function, the number of its arguments (integers and addresses), and whether it returns an integer."""
MODULE: Final = "; --- module\n"
"""The line between the modules of a text. A module is compiled when one of its functions is first needed."""
DEFINED: Final = re.compile(r"^define .*?@(\w+)\(", re.MULTILINE)
COMPILING: Final = "isrcheck compiles"
"""The name of the threads that `begun` starts. They compile code or run compiled code. Python cannot interrupt them."""
PASSES: Final = "sroa"
"""The only optimisation pass that is used. It puts variables into registers. Other passes gain little, because the
LLVM text that the kernel writes already shares expressions and uses vectors.

On the model kip-320 (3 replicas, log size 3, 3 records, last leader epoch 2), the whole O2 pipeline takes 0.45 s and
makes `expand` 3 % faster.
"""


class Objects(Protocol):
    """A store of objects, which are compiled modules. `key` names everything that an object depends on."""

    def get(self, key: str) -> bytes | None: ...

    def put(self, key: str, data: bytes) -> None: ...


class Code:
    """LLVM text. Each of its modules is compiled when a function of the module is first needed.

    The functions are valid only while this `Code` lives.

    `addresses` maps the name of each function to its address, and `calls` maps the name to a Python callable. A module
    that `objects` already has is loaded and not compiled again.
    """

    def __init__(
        self, text: str, signatures: Mapping[str, tuple[int, bool]] = SIGNATURES, objects: Objects | None = None
    ) -> None:
        self._objects, self._signatures, self._loaded = objects, signatures, dict[str, Library]()
        modules = {name: module for module in text.split(MODULE) for name in DEFINED.findall(module)}
        self.addresses: Mapping[str, int] = _Lazily({name: modules[name] for name in signatures}, self._address)
        self.calls: Mapping[str, Any] = _Lazily(signatures, self._call)

    def _address(self, name: str, module: str) -> int:
        if module not in self._loaded:
            names = [name for name in DEFINED.findall(module) if name in self._signatures]
            self._loaded[module] = begun(lambda: Linker().loaded(_compiled(module, self._objects), names)).result()
        return self._loaded[module][name]

    def _call(self, name: str, signature: tuple[int, bool]) -> Any:
        arguments, returns = signature
        result = ctypes.c_int64 if returns else None
        return ctypes.CFUNCTYPE(result, *[ctypes.c_int64] * arguments)(self.addresses[name])


class _Lazily(Mapping[str, Any]):
    """A mapping from names to values. `make` computes each value once, when a thread first needs the value."""

    def __init__(self, known: Mapping[str, Any], make: Any) -> None:
        self._known, self._make, self._made = known, make, dict[str, Any]()
        self._making = threading.Lock()

    def __getitem__(self, name: str) -> Any:
        if name not in self._made:
            with self._making:
                if name not in self._made:
                    self._made[name] = self._make(name, self._known[name])
        return self._made[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self._known)

    def __len__(self) -> int:
        return len(self._known)


def begun(work: Callable[[], Any]) -> Future[Any]:
    """Calls `work` in another thread. Returns a `Future` of the result.

    `work` compiles code or runs compiled code, so Python cannot interrupt `work`. But Python can interrupt the wait for
    the result. After such an interruption the thread goes on, and Python waits for the thread before the process exits.
    A process that must not wait has to exit in another way, such as `os._exit`.
    """
    outcome: Future[Any] = Future()

    def run() -> None:
        try:
            outcome.set_result(work())
        except BaseException as error:
            outcome.set_exception(error)

    threading.Thread(target=run, name=COMPILING).start()
    return outcome


class Library(Protocol):
    """Loaded functions: the address of each by its name. They are valid only while this object lives."""

    def __getitem__(self, name: str) -> int: ...


def _compiled(text: str, objects: Objects | None) -> bytes:
    """The object code of a module. A module that `objects` has is not compiled."""
    key = f"{text}\n{surroundings()} {PASSES}"
    code = None if objects is None else objects.get(key)
    if code is None:
        machine = _machine()
        code = bytes(machine.emit_object(_optimised(text, machine)))
        if objects is not None:
            objects.put(key, code)
    return code


class Linker:
    """LLVM's linker. To make one takes longer than to load code.

    The libraries that it loads do not see each other. This matters, because code that was compiled with other options
    may define functions of the same names.
    """

    def __init__(self) -> None:
        self._linker, self._numbers = llvm.create_lljit_compiler(_machine()), itertools.count()

    def loaded(self, code: bytes, names: Iterable[str]) -> Library:
        """The functions with these names in object code that was compiled for this machine."""
        builder = llvm.JITLibraryBuilder().add_object_img(code).add_current_process()
        for name in names:
            builder.export_symbol(name)
        library: Library = builder.link(self._linker, f"library {next(self._numbers)}")
        return library


def surroundings() -> str:
    """A text that names what compiled code depends on: the versions of llvmlite and LLVM, the system, the processor."""
    versions = (llvmlite.__version__, *llvm.llvm_version_info)
    return " ".join(map(str, (*versions, llvm.get_default_triple(), *_processor())))


def _processor() -> tuple[str, str]:
    """The name of this machine's processor, and its features."""
    return llvm.get_host_cpu_name(), llvm.get_host_cpu_features().flatten()


def _machine() -> Any:
    """A new LLVM target machine with all features of this processor."""
    llvm.initialize_native_target()
    llvm.initialize_native_asmprinter()
    cpu, features = _processor()
    return llvm.Target.from_default_triple().create_target_machine(cpu=cpu, features=features, opt=2, jit=True)


def _optimised(text: str, machine: Any) -> Any:
    module = llvm.parse_assembly(text)
    module.triple = machine.triple
    module.data_layout = str(machine.target_data)
    module.verify()
    passes = llvm.create_new_function_pass_manager()
    passes.add_sroa_pass()
    builder = llvm.create_pass_builder(machine, llvm.create_pipeline_tuning_options(speed_level=1))
    for function in module.functions:
        if not function.is_declaration:
            passes.run(function, builder)
    return module
