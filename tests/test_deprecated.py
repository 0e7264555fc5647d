"""Old names work, warn where they are used, and stand in the documentation with the new ones."""

import dataclasses
import importlib
import inspect
import runpy
import sys
import types
import warnings
from collections.abc import Iterator
from pathlib import Path

import equinox as eqx
import jax.numpy as jnp
import pytest

from geomndp import _deprecated
from geomndp._deprecated import deprecated_names, renamed_arguments, renamed_attribute

PAGE = runpy.run_path(str(Path(__file__).parents[1] / "tools" / "renamed.py"))


@pytest.fixture(scope="module")
def tables():
    """All tables of the package."""
    PAGE["import_all"]()


def rows(table: dict[str, dict[str, str]]) -> Iterator[tuple[str, str, str]]:
    for where, names in table.items():
        if where.startswith("geomndp"):
            yield from ((where, old, new) for old, new in names.items())


def find(where: str):
    """Module, class or function of this qualified name."""
    parts = where.split(".")
    size = max(n for n in range(1, len(parts) + 1) if ".".join(parts[:n]) in sys.modules)
    value = sys.modules[".".join(parts[:size])]
    for part in parts[size:]:
        value = inspect.getattr_static(value, part)
    return value


@pytest.mark.usefixtures("tables")
def test_every_old_name_is_the_new_one_and_warns():
    for module, old, _ in rows(_deprecated.NAMES):
        where, _, name = _deprecated.target(module, old).partition(":")
        with pytest.warns(DeprecationWarning, match=rf"{old} is deprecated.*use .*{name}$"):
            value = getattr(sys.modules[module], old)
        holder = importlib.import_module(where)
        assert value is getattr(holder, name, sys.modules.get(f"{where}.{name}")), old
        assert old not in vars(sys.modules[module]), f"{module} still has {old}"


@pytest.mark.usefixtures("tables")
def test_every_old_module_can_be_imported(monkeypatch):
    for module, old, _ in rows(_deprecated.NAMES):
        value = sys.modules.get(_deprecated.target(module, old).replace(":", "."))
        if value is None:
            continue
        monkeypatch.delitem(sys.modules, f"{module}.{old}", raising=False)
        with pytest.warns(DeprecationWarning, match=f"{old} is deprecated"):
            assert importlib.import_module(f"{module}.{old}") is value
        monkeypatch.delitem(sys.modules, f"{module}.{old}")
        monkeypatch.delattr(sys.modules[module], old)


@pytest.mark.usefixtures("tables")
def test_every_old_argument_is_taken_for_the_new_one():
    for where, old, new in rows(_deprecated.ARGUMENTS):
        parameters = inspect.signature(find(where)).parameters
        assert old not in parameters and new in parameters, (where, old, new)
        with pytest.warns(DeprecationWarning, match=rf"^{old} of \w+ is deprecated.*{new}$"):
            assert _deprecated.translate(where, {old: 1, "z": 2}) == {new: 1, "z": 2}


@pytest.mark.usefixtures("tables")
def test_every_old_attribute_stands_beside_a_new_one():
    for where, old, new in rows(_deprecated.ATTRIBUTES):
        cls = find(where)
        fields = {field.name for field in dataclasses.fields(cls)} | set(dir(cls))
        assert new in fields and new != old, (where, old, new)


@pytest.mark.usefixtures("tables")
def test_the_page_of_old_names_is_complete():
    assert PAGE["PAGE"].read_text(encoding="utf-8") == PAGE["page"](), "run tools/renamed.py"


def module(name: str, monkeypatch, **values) -> types.ModuleType:
    made = types.ModuleType(name)
    vars(made).update(values)
    monkeypatch.setitem(sys.modules, name, made)
    return made


def test_an_unknown_name_stays_unknown(monkeypatch):
    made = module("geomndp.toy", monkeypatch, new=1, __getattr__=lambda name: {"lazy": 2}[name])
    deprecated_names("geomndp.toy", {"old": "new"})
    monkeypatch.delitem(_deprecated.NAMES, "geomndp.toy")
    assert made.lazy == 2
    with pytest.raises(KeyError):
        _ = made.nothing
    plain = module("geomndp.plain", monkeypatch)
    deprecated_names("geomndp.plain", {"old": "new"})
    monkeypatch.delitem(_deprecated.NAMES, "geomndp.plain")
    with pytest.raises(AttributeError, match=r"module 'geomndp.plain' has no attribute 'nothing'"):
        _ = plain.nothing


def test_a_module_inside_a_renamed_package_is_not_loaded_twice(monkeypatch):
    import geomndp
    import geomndp.kernels.stationary as stationary

    monkeypatch.setitem(_deprecated.NAMES, "geomndp", {"covariances": "kernels"})
    monkeypatch.setattr(sys, "meta_path", [_deprecated._FINDER, *sys.meta_path])
    with pytest.warns(DeprecationWarning, match="use geomndp.kernels$") as caught:
        loaded = importlib.import_module("geomndp.covariances.stationary")
    assert loaded is stationary
    assert sys.modules["geomndp.covariances"] is geomndp.kernels
    assert caught[0].filename == __file__
    for name in ("geomndp.covariances", "geomndp.covariances.stationary"):
        monkeypatch.delitem(sys.modules, name)
    monkeypatch.delattr(geomndp, "covariances")
    assert geomndp.kernels.__spec__.name == "geomndp.kernels"


@renamed_arguments(old="new")
class Toy(eqx.Module):
    new: float
    other: int = eqx.field(default=1, static=True)
    former = renamed_attribute("new")

    def __check_init__(self):
        if self.new < 0:
            raise ValueError("expected new >= 0")

    @eqx.filter_jit
    def double(self):
        return 2 * self.new


@renamed_arguments(old="new")
def toy(x, *, new=0):
    return x + new


def test_arguments_of_functions_and_classes():
    with pytest.warns(DeprecationWarning, match="old of toy is deprecated") as caught:
        assert toy(1, old=2) == 3
    assert caught[0].filename == __file__
    with pytest.warns(DeprecationWarning, match="old of Toy is deprecated") as caught:
        made = Toy(old=jnp.asarray(2.0))
    assert caught[0].filename == __file__
    with pytest.raises(TypeError, match="expected new of toy once"):
        toy(1, old=2, new=3)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert toy(1, new=2) == 3
        assert made.double() == 4.0
        assert dataclasses.replace(made, new=jnp.asarray(3.0)).new == 3.0
    assert [field.name for field in dataclasses.fields(Toy)] == ["new", "other"]
    assert list(inspect.signature(Toy).parameters) == ["new", "other"]
    with pytest.raises(ValueError, match="expected new >= 0"):
        Toy(-1.0)


def test_an_old_attribute_is_the_new_one():
    with pytest.warns(DeprecationWarning, match=r"Toy.former is deprecated.*use new$") as caught:
        assert Toy(2.0).former == 2.0
    assert caught[0].filename == __file__


def test_a_subclass_may_override_a_method_by_its_old_name():
    from geomndp.geometry import Sphere
    from geomndp.geometry.base import AbstractFamily

    names = ("exp", "log", "distance", "project", "ambient_dim", "log_volume", "to_tangent_coords")
    body = {name: getattr(Sphere, name) for name in names}
    old = {"onto": Sphere.retract, "embed": Sphere.from_tangent_coords}
    with pytest.warns(DeprecationWarning) as caught:
        made = type(Sphere)(
            "OldSphere", (AbstractFamily,), {**body, **old, "_mirror": Sphere._mirror}
        )
    assert {str(warning.message).split()[0] for warning in caught} == {
        "OldSphere.onto",
        "OldSphere.embed",
    }
    assert all(warning.filename == __file__ for warning in caught)
    point = jnp.array([[3.0, 0.0, 4.0]])
    assert jnp.array_equal(made(2).retract(point), Sphere(2).retract(point))
    assert made(2).basis(point / 5).shape == (1, 2, 3)
