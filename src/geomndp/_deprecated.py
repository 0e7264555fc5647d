"""Old names that still work, with a warning that names the new ones.

Every package, or module, keeps one table of its own, registered at the end of its file:

    deprecated_names(__name__, {"old": "new", "moved": "geomndp.gp:GP", "old_module": "new_module"})

A value is a name or a submodule of the same package, the path of a module, or `module:name`.
Arguments are renamed by the decorator `renamed_arguments`, of functions and of classes; attributes
and methods by `old = renamed_attribute("new")` in the body of a class, whose base
`RenamedMethods` lets users' subclasses define a method by its old name. Plain Python.
"""

from __future__ import annotations

import functools
import sys
import warnings
from collections.abc import Callable
from importlib import import_module
from importlib.machinery import ModuleSpec
from typing import Any, TypeVar

_T = TypeVar("_T", bound=Callable[..., Any])

NAMES: dict[str, dict[str, str]] = {}
"""Module -> {old name: where it is now}."""
ARGUMENTS: dict[str, dict[str, str]] = {}
"""Qualified name of a callable -> {old argument: new argument}."""
ATTRIBUTES: dict[str, dict[str, str]] = {}
"""Qualified name of a class -> {old attribute: new attribute}."""


def deprecated_names(module: str, table: dict[str, str]) -> None:
    """Let a module answer for its old names, by a warning and the new one's value.

    Args:
        module: The module's `__name__`; its own `__getattr__`, if any, is asked first.
        table: Old name -> new name or submodule, path of a module, or `module:name`.
    """
    NAMES[module] = table
    namespace = vars(sys.modules[module])
    before = namespace.get("__getattr__")

    def lookup(name: str) -> Any:
        if name in table:
            return _resolve(module, name)
        if before is not None:
            return before(name)
        raise AttributeError(f"module {module!r} has no attribute {name!r}")

    # Not written as a `def` in the module: type checkers would then know every name in it.
    namespace["__getattr__"] = lookup
    if _FINDER not in sys.meta_path:
        sys.meta_path.insert(0, _FINDER)


def target(module: str, old: str) -> str:
    """Where an old name of a module is now, written as `package.module:name`."""
    new = NAMES[module][old]
    if ":" in new:
        return new
    return f"{module}:{new}" if "." not in new else ":".join(new.rsplit(".", 1))


def renamed_arguments(**names: str) -> Callable[[_T], _T]:
    """Let a function, or the constructor of a class, take old keyword arguments with a warning.

    A class keeps its fields and its signature; it is decorated as it is, not replaced.

    Args:
        **names: Old argument = "new argument".

    Example:
        >>> @renamed_arguments(grid="time_grid")
        ... def solve(time_grid): return time_grid
    """

    def decorate(function: Any) -> Any:
        where = f"{function.__module__}.{function.__qualname__}"
        ARGUMENTS[where] = names
        called = function.__init__ if isinstance(function, type) else function

        @functools.wraps(called)
        def wrapper(*args: Any, **kwargs: Any) -> Any:
            if not names.keys().isdisjoint(kwargs):
                kwargs = translate(where, kwargs)
            return called(*args, **kwargs)

        if not isinstance(function, type):
            return wrapper
        type.__setattr__(function, "__init__", wrapper)
        return function

    return decorate


def translate(where: str, arguments: dict[str, Any]) -> dict[str, Any]:
    """Replace old keyword arguments of a callable by the new ones, with a warning for each."""
    new = dict(arguments)
    short = where.rpartition(".")[2]
    for old, name in ARGUMENTS[where].items():
        if old in new:
            if name in new:
                raise TypeError(f"expected {name} of {short} once, got it as {old} too")
            _warn(f"{old} of {short}", name)
            new[name] = new.pop(old)
    return new


class renamed_attribute:
    """Old name of an attribute or a method of a class: `old = renamed_attribute("new")`."""

    def __init__(self, new: str):
        self.new = new

    def __set_name__(self, owner: type, name: str) -> None:
        self.old = name
        ATTRIBUTES.setdefault(f"{owner.__module__}.{owner.__qualname__}", {})[name] = self.new

    def __get__(self, instance: Any, owner: type | None = None) -> Any:
        if instance is None:
            return self
        _warn(f"{type(instance).__name__}.{self.old}", self.new)
        return getattr(instance, self.new)


class RenamedMethods:
    """Base of a class whose methods users override, perhaps by their old names still.

    Old names are those of `renamed_attribute` in the body of the class or of its bases.
    """

    def __init_subclass__(cls, **options: Any) -> None:
        super().__init_subclass__(**options)
        for base in cls.__mro__[1:]:
            for old, attribute in vars(base).items():
                if isinstance(attribute, renamed_attribute) and old in vars(cls):
                    if attribute.new not in vars(cls):
                        _warn(f"{cls.__name__}.{old}", attribute.new)
                        setattr(cls, attribute.new, vars(cls)[old])


def _resolve(module: str, old: str) -> Any:
    where, _, name = target(module, old).partition(":")
    _warn(f"{module}.{old}", f"{where}.{name}")
    holder = import_module(where)
    try:
        return getattr(holder, name)
    except AttributeError:
        return import_module(f"{where}.{name}")


class _RenamedModules:
    """Finds modules by their old paths, also those inside a package that was renamed."""

    def find_spec(self, fullname: str, path: Any = None, target: Any = None) -> ModuleSpec | None:
        parent, _, child = fullname.rpartition(".")
        if parent.partition(".")[0] != __package__:
            return None
        package = sys.modules[parent].__name__  # the new one, where the parent was renamed
        if package == parent and ":" in NAMES.get(package, {}).get(child, ":"):
            return None
        loader: Any = self
        return ModuleSpec(fullname, loader)

    def create_module(self, spec: ModuleSpec) -> None:
        """Let Python make an empty module, to be replaced."""

    def exec_module(self, module: Any) -> None:
        old = module.__name__
        parent, _, child = old.rpartition(".")
        package = sys.modules[parent].__name__
        if child in NAMES.get(package, {}):
            value = _resolve(package, child)
        else:
            value = import_module(f"{package}.{child}")
        sys.modules[old] = value  # the machinery of imports takes what it finds here


_FINDER = _RenamedModules()


_MACHINERY = ("abc", "equinox", "jaxtyping", "beartype", "importlib")


def _warn(old: str, new: str) -> None:
    """Warn at the first frame outside this module and outside the libraries that call it."""
    frame, level = sys._getframe(), 1
    while frame.f_back is not None:
        name, file = frame.f_globals.get("__name__", ""), frame.f_code.co_filename
        inside = name == __name__ or name.startswith("geomndp.nets.") or "beartype" in file
        inside = inside or name.partition(".")[0] in _MACHINERY
        if not inside:
            break
        if "importlib._bootstrap" not in file:  # `warnings` leaves these out itself
            level += 1
        frame = frame.f_back
    message = f"{old} is deprecated and will be removed in the next release: use {new}"
    warnings.warn(message, DeprecationWarning, stacklevel=level)
