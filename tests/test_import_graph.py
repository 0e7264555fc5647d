"""The command that prints the import graph."""

import runpy
from pathlib import Path

import pytest

TOOL = runpy.run_path(str(Path(__file__).parents[1] / "tools" / "import_graph.py"))


@pytest.fixture
def package(tmp_path):
    def write(files: dict[str, str]) -> Path:
        for name, text in files.items():
            file = tmp_path / "geomndp" / name
            file.parent.mkdir(parents=True, exist_ok=True)
            file.write_text(text)
        return tmp_path / "geomndp"

    return write


def test_edges_and_surprises(package):
    folder = package(
        {
            "__init__.py": "from . import top",
            "low.py": "import math",
            "middle/a.py": "from geomndp.low import helper\nfrom geomndp.middle.b import x",
            "middle/b.py": "from ..low import CONSTANT",
            "top.py": "from geomndp import low\nfrom geomndp.middle.a import Thing, f",
        }
    )
    edges = TOOL["graph"](folder)
    counts = {edge: len(uses) for edge, uses in edges.items()}
    assert counts == {("middle", "low"): 2, ("top", "low"): 1, ("top", "middle"): 2}
    assert TOOL["heights"](edges) == {"low": 0, "middle": 1, "top": 2}
    assert TOOL["surprising"](edges) == [("middle", "low", "CONSTANT, helper")]


def test_a_cycle_is_named(package):
    edges = TOOL["graph"](package({"a.py": "from geomndp import b", "b.py": "from . import a"}))
    with pytest.raises(ValueError, match="expected no cycle, got a -> b -> a"):
        TOOL["heights"](edges)
