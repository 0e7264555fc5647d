"""The layers of the package import in one direction only, and `import geomndp` loads none."""

import ast
import importlib
import importlib.util
import re
import subprocess
import sys
import tomllib
from collections.abc import Iterator
from pathlib import Path

import pytest

import geomndp

PACKAGE = Path(__file__).parents[1] / "src" / "geomndp"

# Earliest first. Modules on one line are siblings: they never import each other.
LAYERS = (
    (
        "_deprecated",
        "_methods",
        "_types",
        "_atomic_io",
        "_safetensors",
        "_threads",
        "_time_zones",
        "_missing_columns",
        "_progress",
        "_warnings",
        "_guarded",
    ),
    ("_model_files", "_text_columns"),
    ("_training_log",),
    ("_validation",),
    ("_arrays",),
    ("linalg", "_bisection"),
    ("geometry", "equivariance", "marginals"),
    ("kernels", "predictive"),
    ("gp",),
    ("noising",),
    ("data",),
    ("tables",),
    ("_csv_files",),
    ("_table_files",),
    ("nets",),
    ("score",),
    ("solve",),
    ("train", "samplers", "likelihood"),
    ("scale",),
    ("patches",),
    ("model",),
    ("law", "baselines"),
    ("evaluate",),
    ("auto",),
    ("distillation",),
    ("summaries",),
    ("plot",),
    ("experiments",),
    ("play",),
    ("widgets",),
    ("cli",),
    ("__main__",),
)
LEVEL = {name: level for level, layer in enumerate(LAYERS) for name in layer}
HEAVY = ("jax", "diffrax", "e3nn_jax", "xarray", "matplotlib", "orbax")


def imported_layers(source: str, parts: tuple[str, ...]) -> Iterator[tuple[int, str]]:
    """(line, layer) of every import of geomndp in `source`, the file geomndp/<parts>."""
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.Import):
            paths = [alias.name.split(".") for alias in node.names]
        elif isinstance(node, ast.ImportFrom):
            # `from . import x` in geomndp/a/b.py and in geomndp/a/__init__.py both mean geomndp.a.x
            folder = ("geomndp", *parts)[: len(parts) + 1 - node.level] if node.level else ()
            base = [*folder, *(node.module.split(".") if node.module else [])]
            paths = [[*base, alias.name] for alias in node.names]
        else:
            continue
        for path in paths:
            if path[0] == "geomndp":
                name = path[1] if len(path) > 1 else "geomndp itself"
                yield node.lineno, geomndp._NAMES.get(name, name)


def faults(source: str, parts: tuple[str, ...]) -> list[str]:
    """What is wrong with the imports of the file geomndp/<parts>, one sentence each."""
    where, layer = "/".join(("geomndp", *parts)), parts[0].removesuffix(".py")
    if layer not in LEVEL:
        return [f"{where}: {layer!r} is in no layer; add it to LAYERS in tests/test_layers.py"]
    found = []
    for line, target in imported_layers(source, parts):
        if target == layer:
            continue
        if target not in LEVEL:
            found.append(f"{where}:{line} imports {target!r}, which is in no layer")
        elif LEVEL[target] >= LEVEL[layer]:
            found.append(f"{where}:{line} imports {target!r}, not an earlier layer than {layer!r}")
    return found


def test_imports_go_one_way():
    found = []
    for path in sorted(PACKAGE.rglob("*.py")):
        parts = path.relative_to(PACKAGE).parts
        if parts != ("__init__.py",):
            found += faults(path.read_text(encoding="utf-8"), parts)
    assert not found, "\n" + "\n".join(found)


def test_the_command_line_knows_the_registry_of_experiments_and_nothing_below_it():
    found = set()
    for path in PACKAGE.glob("cli/*.py"):
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.ImportFrom) and node.module:
                names = [f"{node.module}.{alias.name}" for alias in node.names]
            elif isinstance(node, ast.Import):
                names = [alias.name for alias in node.names]
            else:
                continue
            found |= {name for name in names if name.startswith("geomndp.experiments")}
    assert found
    assert all(name.startswith("geomndp.experiments.registry") for name in found), found


def test_no_name_of_a_class_or_type_stands_twice():
    modules: dict[str, list[str]] = {}
    for path in sorted(PACKAGE.rglob("*.py")):
        for node in ast.parse(path.read_text(encoding="utf-8")).body:
            names = [node.name] if isinstance(node, ast.ClassDef) else []
            if isinstance(node, ast.Assign) and not isinstance(node.value, ast.Call):
                names = [ast.unparse(name) for name in node.targets]
            for name in filter(re.compile("[A-Z][A-Za-z0-9]*[a-z][A-Za-z0-9]*").fullmatch, names):
                modules.setdefault(name, []).append(str(path.relative_to(PACKAGE)))
    assert not {name: files for name, files in modules.items() if len(files) > 1}


@pytest.mark.parametrize(
    ("file", "source"),
    [
        ("kernels/base.py", "import geomndp.gp"),
        ("kernels/base.py", "from geomndp.gp import GP"),
        ("kernels/base.py", "from geomndp import gp"),
        ("kernels/base.py", "from .. import gp"),
        ("kernels/__init__.py", "from ..score.exact import GaussianScore"),
        ("gp.py", "from .model import Model"),
        ("gp.py", "from . import Model"),
        ("gp.py", "import geomndp"),
        ("gp.py", "def f():\n    from . import solve"),
        ("gp.py", "from typing import TYPE_CHECKING\nif TYPE_CHECKING:\n    from . import law"),
        ("train/loop.py", "from ..samplers import Langevin"),
        ("samplers/base.py", "import geomndp.likelihood"),
        ("gp.py", "from ._nowhere import x"),
        ("nowhere.py", "import math"),
    ],
)
def test_a_wrong_import_is_caught(file, source):
    assert len(faults(source, tuple(file.split("/")))) == 1


@pytest.mark.parametrize(
    ("file", "source"),
    [
        ("gp.py", "import jax\nfrom . import linalg, kernels\nfrom .kernels.base import White"),
        ("kernels/base.py", "from .stationary import White\nfrom . import vector\nimport math"),
        ("solve/grids/power.py", "from ..flow import f\nfrom ...score import GaussianScore"),
        ("cli/main.py", "from geomndp import Model, kernels\nfrom geomndp.experiments import x"),
    ],
)
def test_a_right_import_is_not(file, source):
    assert faults(source, tuple(file.split("/"))) == []


def declared(requirements: list[str]) -> set[str]:
    """Names under which the distributions of a list of requirements are imported."""
    names = {re.split(r"[<>=\[ ]", line)[0] for line in requirements}
    return {name.replace("-", "_").removesuffix("_checkpoint") for name in names}


def test_what_is_imported_is_declared_and_what_is_declared_is_imported():
    trees = (ast.parse(path.read_text(encoding="utf-8")) for path in PACKAGE.rglob("*.py"))
    nodes = [node for tree in trees for node in ast.walk(tree)]
    names = {n.module for n in nodes if isinstance(n, ast.ImportFrom) and n.module and not n.level}
    names |= {alias.name for n in nodes if isinstance(n, ast.Import) for alias in n.names}
    imported = {name.partition(".")[0] for name in names} - {*sys.stdlib_module_names, "geomndp"}
    project = tomllib.loads((PACKAGE.parents[1] / "pyproject.toml").read_text())["project"]
    needed = declared(project["dependencies"])
    extras = declared([line for part in project["optional-dependencies"].values() for line in part])
    assert needed <= imported <= needed | extras


def test_import_is_lazy():
    code = "import sys, geomndp; dir(geomndp); print(*{name.split('.')[0] for name in sys.modules})"
    command = [sys.executable, "-c", code]
    result = subprocess.run(command, check=True, capture_output=True, text=True)
    assert not set(HEAVY) & set(result.stdout.split())


@pytest.mark.parametrize("name", [*geomndp._SUBMODULES, *geomndp._NAMES])
def test_every_export_resolves(name):
    module = f"geomndp.{geomndp._NAMES.get(name, name)}"
    if importlib.util.find_spec(module) is None:
        pytest.skip(f"{module} is not written yet")
    value = getattr(geomndp, name)
    loaded = importlib.import_module(module)
    assert value is (loaded if name in geomndp._SUBMODULES else getattr(loaded, name))


def test_exports_are_known_to_type_checkers_and_dir():
    exported = {*geomndp._SUBMODULES, *geomndp._NAMES}
    assert len(exported) == len(geomndp._SUBMODULES) + len(geomndp._NAMES)
    (block,) = (
        node
        for node in ast.parse((PACKAGE / "__init__.py").read_text(encoding="utf-8")).body
        if isinstance(node, ast.If)
    )
    typed = {
        alias.asname or alias.name
        for node in ast.walk(block)
        if isinstance(node, ast.ImportFrom)
        for alias in node.names
    }
    assert typed == exported
    assert set(dir(geomndp)) == {*exported, "__version__"}


def test_unknown_name_is_an_attribute_error():
    with pytest.raises(AttributeError, match="has no attribute 'nothing'"):
        _ = geomndp.nothing
