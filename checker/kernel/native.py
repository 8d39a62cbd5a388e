"""Makes functions from LLVM text: parses, verifies and optimises the text for this machine, and keeps the code alive.

This file needs only llvmlite and nothing of this project, because it is also sent to machines without the project.
"""

from __future__ import annotations

import ctypes
import re
import threading
from collections.abc import Callable, Iterator, Mapping
from concurrent.futures import Future
from typing import Any, Final, Protocol

import llvmlite
import llvmlite.binding as llvm

SIGNATURES: Final[Mapping[str, tuple[int, bool]]] = {
    "expand": (6, True),
    "failures": (4, True),
    "hashes": (3, False),
    "judge": (3, False),
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
        self._objects, self._engines = objects, dict[str, Any]()
        modules = {name: module for module in text.split(MODULE) for name in DEFINED.findall(module)}
        self.addresses: Mapping[str, int] = _Lazily({name: modules[name] for name in signatures}, self._address)
        self.calls: Mapping[str, Any] = _Lazily(signatures, self._call)

    def _address(self, name: str, module: str) -> int:
        if module not in self._engines:
            self._engines[module] = begun(lambda: _compiled(module, self._objects)).result()
        address: int = self._engines[module].get_function_address(name)
        return address

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


def _compiled(text: str, objects: Objects | None) -> Any:
    """An LLVM execution engine with the functions of a module. A module that `objects` has is not compiled."""
    machine = _machine()
    if objects is None:
        return _engine(_optimised(text, machine), machine)
    key = f"{text}\n{surroundings()} {PASSES}"
    kept = objects.get(key)
    if kept is not None:
        return loaded(kept)
    return _engine(_optimised(text, machine), machine, lambda data: objects.put(key, data))


def loaded(code: bytes) -> Any:
    """An LLVM execution engine with the functions of object code that was compiled for this machine."""
    engine = llvm.create_mcjit_compiler(llvm.parse_assembly(""), _machine())
    engine.add_object_file(llvm.ObjectFileRef.from_data(code))
    engine.finalize_object()
    return engine


def _engine(module: Any, machine: Any, tell: Any = None) -> Any:
    engine = llvm.create_mcjit_compiler(module, machine)
    if tell is not None:
        engine.set_object_cache(notify_func=lambda module, data: tell(bytes(data)))
    engine.finalize_object()
    return engine


def surroundings() -> str:
    """A text that names what compiled code depends on: the versions of llvmlite and LLVM, the system, the processor."""
    versions = (llvmlite.__version__, *llvm.llvm_version_info)
    return " ".join(map(str, (*versions, llvm.get_default_triple(), *_processor())))


def _processor() -> tuple[str, str]:
    """The name of this machine's processor, and its features."""
    return llvm.get_host_cpu_name(), llvm.get_host_cpu_features().flatten()


def _machine() -> Any:
    """A new LLVM target machine with all features of this processor. Each execution engine needs its own."""
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
