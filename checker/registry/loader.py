"""Loads models and invariants by name: shipped models, and models in a file that the user names."""

from __future__ import annotations

import importlib
import importlib.util
import pkgutil
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from functools import cache
from pathlib import Path
from types import ModuleType
from typing import Any, Final

import isrcheck.invariants as shipped_invariants
import isrcheck.model as shipped_models
from isrcheck.checker.registry.fresh_imports import FromSource, imports_read_anew
from isrcheck.model.language.decorators import marks_of, refuse_unused
from isrcheck.model.language.errors import ModelError, UnknownName, line_of, mistake_in, nearest
from isrcheck.model.language.model import Model, kebab
from isrcheck.model.language.proofs import Proof
from isrcheck.model.language.properties import KINDS, kind_of
from isrcheck.model.language.refinements import refinement_of
from isrcheck.model.language.text_conditions import is_condition_text, text_condition
from isrcheck.model.semantics.method_calls import print_to_stderr

Invariant = Callable[[Any, Any], Any]
SHIPPED: Final = "isrcheck."
MODELS: Final = "isrcheck.model."
"""The prefix of the names of shipped modules that contain models."""
NO_MODELS: Final = (".language", ".specifications")
"""Packages in `model` whose names end like this are not searched for models. Specifications are loaded separately."""


@dataclass(frozen=True)
class LoadedModel:
    """A model's class and name, and the invariants that can be checked in the model.

    `source_file` is the user's file from which the model was loaded, or None if it was not loaded from such a file.
    `properties` are the properties of whole behaviours that can be checked in the model. For a user's file, `beside`
    names the invariants that the file defines outside of classes, and `mappings` has the refinement mappings.
    """

    cls: type[Model]
    name: str
    source_file: Path | None
    invariants: dict[str, Invariant]
    beside: frozenset[str] = frozenset()
    properties: dict[str, Invariant] = field(default_factory=dict)
    mappings: dict[str, Invariant] = field(default_factory=dict)

    def asked(self, names: Iterable[str]) -> dict[str, Invariant]:
        """The properties with these names. The name `all` selects all properties that fit the model."""
        wanted = {*names}
        if "all" in wanted and not self.properties:
            raise UnknownName(f"model {self.name} has no property; decorate a function with @leads_to")
        every = {*self.properties} if "all" in wanted else set()
        return {name: self._property(name) for name in sorted((wanted - {"all"}) | every)}

    def _property(self, name: str) -> Invariant:
        if name in self.properties:
            return self.properties[name]
        if name in library_properties():
            raise UnknownName(
                f"property {name} does not apply to model {self.name}; {nearest('', {*self.properties, 'all'})}"
            )
        raise UnknownName(f"model {self.name} has no property {name!r}; {nearest(name, {*self.properties, 'all'})}")

    def with_text_conditions(self, names: Iterable[str | None]) -> LoadedModel:
        """This model with one more invariant for each name that is itself a condition, such as `"s.epoch < 2"`."""
        found = {name: text_condition(name) for name in names if name is not None and is_condition_text(name)}
        return replace(self, invariants={**self.invariants, **found}) if found else self

    def chosen(self, names: tuple[str, ...] | None) -> dict[str, Invariant]:
        """The invariants with these names, or the default invariants if `names` is None."""
        picked = self._default() if names is None else names
        return {name: self._invariant(name) for name in sorted(set(picked))}

    def _default(self) -> set[str]:
        """The names of the invariants that are checked by default.

        If the class has a list `invariants`, these invariants are the defaults. If the list comes from a base class in
        another file, the invariants in the user's own file are added. Without a list, the defaults are the invariants
        that the class and its base classes define, and those in `beside`.
        """
        if not self.cls.invariants:
            return {*self.cls.predicates("invariant"), *self.beside}
        module = self.cls.__module__
        named_here = any("invariants" in c.__dict__ for c in self.cls.__mro__ if c.__module__ == module)
        return {*self.cls.invariants} if named_here else {*self.cls.invariants, *self._in_the_file()}

    def _in_the_file(self) -> set[str]:
        """The names of the invariants in the user's own file. A shipped model has none."""
        module = self.cls.__module__
        if module.startswith(SHIPPED):
            return set()
        own = {n for n, f in self.cls.predicates("invariant").items() if f.__module__ == module}
        return own | {n for n in self.beside if self.invariants[n].__module__ == module}

    def unchecked(self) -> list[str]:
        """The invariants in the user's own file that are not checked by default."""
        return sorted(self._in_the_file() - self._default())

    def _invariant(self, name: str) -> Invariant:
        if name in self.invariants:
            return self.invariants[name]
        if is_condition_text(name):
            return text_condition(name)
        lacking = library_invariants().get(name)
        if lacking is not None:
            missing = ", ".join(sorted(set(needed(lacking)) - set(self.cls().domains)))
            if missing:
                raise UnknownName(f"invariant {name} needs variables that model {self.name} does not have: {missing}")
            family, setting = needed_family(lacking), needed_setting(lacking)
            if family not in _families(self.cls):
                raise UnknownName(f"invariant {name} applies only to the models in model/{family}, not to {self.name}")
            value = getattr(self.cls, setting or "", None)
            verb = "fixes" if isinstance(value, (bool, int, str)) else "does not have"
            raise UnknownName(f"invariant {name} is about setting {setting}, which model {self.name} {verb}")
        raise UnknownName(f"model {self.name} has no invariant {name!r}; {nearest(name, self.invariants)}")


def model_names() -> list[str]:
    """The names of the models that ship, in alphabetical order."""
    return sorted(_shipped())


def load_model_class(spec: str) -> LoadedModel:
    """The model with this name, or the model in `file.py` or `file.py:Class`.

    Raises `UnknownName` for an unknown name, and for a file with several models if `spec` has no `:Class`. Raises
    `ModelError` for a file without a model or with a mistake, and OSError for a file that cannot be read. The file
    is run, so name only files that you trust.
    """
    path, _, wanted = spec.partition(":")
    if path.endswith(".py"):
        return _from_file(Path(path), wanted)
    cls = _shipped_model(spec)
    if cls is None:
        raise UnknownName(f"there is no model {spec!r}; {nearest(spec, _shipped())}; or use a file: my_model.py")
    module = sys.modules[cls.__module__]
    return LoadedModel(cls, spec, None, fitting(cls, module), properties=fitting_properties(cls, module))


def fitting(cls: type[Model], module: ModuleType | None) -> dict[str, Invariant]:
    """The invariants that can be checked in a model: its own, those in `module`, and shipped ones that fit the model.

    `module` is the model's file. If `module` is None, the invariants that the file defines outside of classes are left
    out.
    """
    beside = _beside(cls, module, _decorated)
    _require_makeable(cls)
    shared, own = about(cls, library_invariants()), cls.predicates("invariant")
    _refuse_two(cls, beside, own)
    return dict(sorted({**shared, **beside, **own}.items()))


def fitting_properties(cls: type[Model], module: ModuleType | None) -> dict[str, Invariant]:
    """The properties that can be checked in a model: its own, those in `module`, and shipped ones that fit the model.

    `module` is as for `fitting`.
    """
    beside = _beside(cls, module, _properties)
    _require_makeable(cls)
    own = {name: f for kind in KINDS for name, f in cls.predicates(kind).items()}
    _refuse_two(cls, beside, own)
    return dict(sorted({**about(cls, library_properties()), **beside, **own}.items()))


def _beside(
    cls: type[Model], module: ModuleType | None, chosen: Callable[[Mapping[str, Any]], dict[str, Invariant]]
) -> dict[str, Invariant]:
    """The predicates of a model's file, and those of the user's files that define its bases.

    Raises `ModelError` if two files define the same name. There are none if `module`, the model's file, is None.
    """
    if module is None:
        return {}
    found = chosen(vars(module))
    for base in cls.__mro__[1:]:
        names = getattr(base, "__file_names__", {})
        if base.__module__ != module.__name__ and not base.__module__.startswith(SHIPPED):
            _refuse_two(base, found, more := chosen(names))
            found |= more
    return found


def _refuse_two(cls: type[Model], beside: dict[str, Invariant], own: dict[str, Invariant]) -> None:
    """Raises `ModelError` if a predicate of a file has the name of another one, of a class or of the file of a base."""
    for name, function in beside.items():
        if name in own and own[name] is not function:
            what = f"{function.__name__} has the name of another one, at {line_of(own[name])}, for {cls.__name__}"
            raise mistake_in(function, what, "give each a name of its own")


def about(cls: type[Model], known: dict[str, Invariant]) -> dict[str, Invariant]:
    """The predicates of `known` that fit a model.

    The model must have the variables, the setting and the actions that the predicate needs. If the predicate is only
    for one family (a folder of models), the model or one of its base classes must be in this folder.
    """
    variables, settings, actions = set(cls().domains), {None, *cls.declared_settings()}, set(cls.actions())
    families = _families(cls)
    return {
        n: f
        for n, f in known.items()
        if set(needed(f)) <= variables
        and needed_setting(f) in settings
        and needed_family(f) in families
        and set(getattr(f, "__never__", ())) <= actions
    }


def _families(cls: type[Model]) -> set[str | None]:
    """The families (folders of models) of a model and its base classes, and None for predicates of no family."""
    return {None, *(base.__module__.removeprefix(MODELS).partition(".")[0] for base in cls.__mro__)}


def _require_makeable(cls: type[Model]) -> None:
    """Raises `ModelError` for a class whose own `__init__` does not set up the model (as in a dataclass)."""
    if cls.__init__ is Model.__init__:
        return
    try:
        made: Any = cls()
    except TypeError as error:
        if error.__traceback__ is not None and error.__traceback__.tb_next is not None:
            raise  # a mistake inside the file
        made = None
    if made is None or "_domains" not in vars(made):
        remedy = "remove it, or accept **settings and call super().__init__(**settings)"
        raise ModelError(f"{cls.__stands__}: {cls.__name__} defines __init__ (as a dataclass does); {remedy}")


@cache
def library_invariants() -> dict[str, Invariant]:
    """Every invariant of the `invariants` package."""
    found: dict[str, Invariant] = {}
    for module in modules_of(shipped_invariants):
        found.update(_decorated(vars(module)))
    return found


@cache
def library_properties() -> dict[str, Invariant]:
    """Every property of the `invariants` package."""
    found: dict[str, Invariant] = {}
    for module in modules_of(shipped_invariants):
        found.update(_properties(vars(module)))
    return found


def needed(invariant: Invariant) -> tuple[str, ...]:
    """The variables that an invariant reads, as its decorator `@needs` declares them."""
    return getattr(invariant, "__needs__", ())


def needed_setting(invariant: Invariant) -> str | None:
    """The setting that an invariant is about, or None. A model that lacks or fixes the setting does not fit.

    A class fixes a setting if it assigns a value to the setting's name.
    """
    return getattr(invariant, "__needs_setting__", None)


def needed_family(invariant: Invariant) -> str | None:
    """The folder in `model` to whose models an invariant is restricted, or None for no restriction.

    The invariant also fits models that inherit from these models.
    """
    return getattr(invariant, "__needs_family__", None)


@cache
def _shipped() -> dict[str, type[Model]]:
    return {name: cls for name in _homes() if (cls := _shipped_model(name)) is not None}


@cache
def _shipped_model(name: str) -> type[Model] | None:
    """The last model in the shipped file with this name, or None. Loads only this file and its imports."""
    found = models_in(importlib.import_module(_homes()[name])) if name in _homes() else []
    return found[-1] if found else None


@cache
def _homes() -> dict[str, str]:
    """Maps each possible name of a shipped model to the name of the shipped module that may define the model."""
    packages = [info.name for info in _inside(shipped_models) if info.ispkg and not info.name.endswith(NO_MODELS)]
    modules = [info.name for name in packages for info in _inside(importlib.import_module(name))]
    return {kebab(name.rpartition(".")[2]): name for name in modules}


def modules_of(package: ModuleType) -> Iterator[ModuleType]:
    """The modules of a shipped package."""
    for info in _inside(package):
        yield importlib.import_module(info.name)


def _inside(package: ModuleType) -> Iterator[pkgutil.ModuleInfo]:
    return pkgutil.iter_modules(package.__path__, package.__name__ + ".")


def models_in(module: ModuleType) -> list[type[Model]]:
    """The models that a module defines itself, except abstract ones, in the order of the file."""
    own = [x for x in vars(module).values() if isinstance(x, type) and issubclass(x, Model)]
    return [cls for cls in own if cls.__module__ == module.__name__ and not cls.abstract]


def _decorated(names: Mapping[str, Any]) -> dict[str, Invariant]:
    functions = {n: f for n, f in names.items() if getattr(f, "__predicate__", None) == "invariant"}
    return {kebab(n): f for n, f in functions.items() if f.__module__ == names["__name__"]}


def _properties(names: Mapping[str, Any]) -> dict[str, Invariant]:
    functions = {n: f for n, f in names.items() if kind_of(f) is not None}
    return {kebab(n): f for n, f in functions.items() if f.__module__ == names["__name__"]}


def mappings_in(names: Mapping[str, Any]) -> dict[str, Invariant]:
    """The refinement mappings among the names of a file, without those that the file imports."""
    functions = {n: f for n, f in names.items() if refinement_of(f) is not None}
    return {kebab(n): f for n, f in functions.items() if f.__module__ == names["__name__"]}


def _from_file(path: Path, wanted: str) -> LoadedModel:
    module = run_file(path)
    models = {cls.__name__: cls for cls in models_in(module)}
    if not models:
        raise ModelError(f"{path.name}: there is no model in this file; define a subclass of isrcheck.Model")
    if wanted and wanted not in models:
        raise UnknownName(f"{path.name} has no model {wanted!r}; {nearest(wanted, models)}")
    if not wanted and len(models) > 1:
        raise UnknownName(f"{path.name} has several models; choose one: {path.name}:{next(iter(models))}")
    cls = models[wanted or next(iter(models))]
    name = kebab(path.stem) if len(models) == 1 else f"{kebab(path.stem)}:{cls.__name__}"
    with blaming(path):
        beside, mappings = _beside(cls, module, _decorated), _beside(cls, module, mappings_in)
        _refuse_unused_in(module, {*beside.values(), *mappings.values(), *_beside(cls, module, _properties).values()})
        return LoadedModel(
            cls,
            name,
            path.resolve(),
            fitting(cls, module),
            frozenset(beside),
            fitting_properties(cls, module),
            mappings,
        )


IN_A_FILE: Final = ("invariant", *KINDS, "refinement")
"""The decorators of functions outside of classes."""


def _refuse_unused_in(module: ModuleType, used: set[Invariant]) -> None:
    """Raises `ModelError` for a marked function of a model's file that is in a class without use, or is imported."""
    classes = [x for x in vars(module).values() if isinstance(x, type)]
    within = {id(x) for cls in classes for base in cls.__mro__ for x in vars(base).values()}
    for cls in classes:
        if cls.__module__ == module.__name__ and not any(
            issubclass(x, Model | Proof) for x in classes if issubclass(x, cls)
        ):
            place = f"is in class {cls.__name__}, which is no model"
            refuse_unused(vars(cls), (), place, f"write class {cls.__name__}(Model)")
    for name, value in vars(module).items():
        marks = marks_of(value)
        if not marks or value in used or id(value) in within:
            continue
        if value.__module__ != module.__name__ and not value.__module__.startswith(SHIPPED):
            what = f"@{marks[0]} {value.__name__} is imported into {module.__name__}.py as {name}, and not asked there"
            raise mistake_in(value, what, "decorate a function in that file that calls it, and import only that file")


def run_file(path: Path) -> ModuleType:
    """Runs a user's file, and returns its module. The file may import files beside it.

    The file and all of the user's files that it imports are read anew, so the module is as the files are now.
    """
    with path.open("rb"):
        pass  # an unreadable file is an OSError, not a mistake in a model
    loader = FromSource(path.stem, str(path.resolve()))
    spec = importlib.util.spec_from_file_location(path.stem, path.resolve(), loader=loader)
    assert spec is not None
    module = importlib.util.module_from_spec(spec)
    vars(module)["print"] = print_to_stderr
    folder = str(path.resolve().parent)
    sys.path.insert(0, folder)
    try:
        with imports_read_anew() as imported, blaming(path):
            loader.exec_module(module)
    finally:
        sys.path.remove(folder)
    for one in (*imported, module):
        refuse_unused(vars(one), IN_A_FILE, "is outside of a class", "put it into the class of a model")
    return module


class blaming:
    """Turns an exception from a user's file into a `ModelError` that names the line of the file.

    Nothing is changed if there is no user's file (`path` is None). A `ModelError` or KeyboardInterrupt stays as it is.
    A SyntaxError becomes a `ModelError` even if it is in a file that the user's file imports. Any other exception
    becomes a `ModelError` only if it passed through a line of the user's file.
    """

    def __init__(self, path: Path | None) -> None:
        self.path = path

    def __enter__(self) -> None:
        return None

    def __exit__(self, kind: Any, error: BaseException | None, traceback: Any) -> None:
        if self.path is None or error is None or isinstance(error, ModelError | KeyboardInterrupt):
            return
        if isinstance(error, SyntaxError):
            name = self.path.name if error.filename is None else Path(error.filename).name  # perhaps of an import
            raise ModelError(f"{name}:{error.lineno}: {error.msg}; fix the syntax") from error
        lines, file = [], str(self.path.resolve())
        while traceback is not None:
            if traceback.tb_frame.f_code.co_filename == file:
                lines.append(traceback.tb_lineno)
            traceback = traceback.tb_next
        if lines and isinstance(error, SystemExit):
            raise ModelError(f"{self.path.name}:{lines[-1]}: the model file calls sys.exit(); remove it") from error
        if lines:
            what = f"{type(error).__name__}: {error}"
            raise ModelError(f"{self.path.name}:{lines[-1]}: {what}; fix the model") from error
