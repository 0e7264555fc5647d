"""Prints the import graph of the package's layers: who imports from whom, and how often.

    python tools/import_graph.py [--source DIR] [--surprising]

A layer is a module or package directly below `geomndp`; an edge's number is that of the imported
names. An edge surprises where it carries a few helper functions or constants and no class: the
helpers then belong lower down. `--source` names the `src` folder of another checkout.
"""

from __future__ import annotations

import argparse
import ast
from collections import defaultdict
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

Graph = dict[tuple[str, str], list["Use"]]
FEW = 3
"""Names on an edge up to which it surprises, if none of them is a class."""
SHARED = ("linalg", "geometry", "equivariance", "groups")
"""Layers of helper functions, like the private modules: made to be used by all others."""


class Use(NamedTuple):
    """One imported name."""

    file: str
    name: str


def imports(source: str, names: tuple[str, ...]) -> Iterator[tuple[str, str]]:
    """(layer, name) of every import of geomndp in the file geomndp/<names>."""
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.Import):
            paths = [alias.name.split(".") for alias in node.names]
        elif isinstance(node, ast.ImportFrom):
            folder = ("geomndp", *names)[: len(names) + 1 - node.level] if node.level else ()
            base = [*folder, *(node.module.split(".") if node.module else [])]
            paths = [[*base, alias.name] for alias in node.names]
        else:
            continue
        for path in paths:
            if path[0] == "geomndp" and len(path) > 1:
                yield path[1], ".".join(path[2:]) or path[1]


def graph(package: Path) -> Graph:
    """All edges between layers with their uses."""
    edges: Graph = defaultdict(list)
    for file in sorted(package.rglob("*.py")):
        names = file.relative_to(package).parts
        layer = names[0].removesuffix(".py")
        if layer == "__init__":
            continue
        for target, name in imports(file.read_text(encoding="utf-8"), names):
            if target != layer and not target.startswith("__"):
                edges[layer, target].append(Use("/".join(names), name))
    return dict(edges)


def heights(edges: Graph) -> dict[str, int]:
    """Length of the longest chain of imports below every layer."""
    below: dict[str, set[str]] = defaultdict(set)
    for layer, target in edges:
        below[layer].add(target)
    longest: dict[str, int] = {}

    def height(layer: str, path: tuple[str, ...] = ()) -> int:
        if layer in path:
            raise ValueError(f"expected no cycle, got {' -> '.join([*path, layer])}")
        if layer not in longest:
            steps = [height(target, (*path, layer)) + 1 for target in below[layer]]
            longest[layer] = max(steps, default=0)
        return longest[layer]

    for edge in edges:
        for layer in edge:
            height(layer)
    return longest


def surprising(edges: Graph) -> list[tuple[str, str, str]]:
    """Edges that carry a few functions or constants: (layer, target, their names)."""
    surprises = []
    for (layer, target), uses in sorted(edges.items()):
        names = sorted({use.name.rpartition(".")[2] for use in uses})
        if any(name[0].isupper() and (len(name) < 4 or not name.isupper()) for name in names):
            continue  # a class: GP, SO3, Sphere
        if len(names) <= FEW and not target.startswith("_") and target not in (*SHARED, *names):
            surprises.append((layer, target, ", ".join(names)))
    return surprises


def main() -> None:
    """Print the layers from the bottom up, each with what it imports."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--source", type=Path, default=Path(__file__).parents[1] / "src")
    parser.add_argument("--surprising", action="store_true", help="print only surprising edges")
    options = parser.parse_args()
    edges = graph(options.source / "geomndp")
    odd = surprising(edges)
    if not options.surprising:
        height = heights(edges)
        for layer in sorted(height, key=lambda name: (height[name], name)):
            targets = {target: uses for (source, target), uses in edges.items() if source == layer}
            listed = ", ".join(f"{target} {len(uses)}" for target, uses in sorted(targets.items()))
            print(f"{layer:14} {listed}".rstrip())
        total = sum(map(len, edges.values()))
        print(f"\n{len(height)} layers, {len(edges)} edges, {total} imported names")
    print(f"{len(odd)} surprising edges")
    for layer, target, names in odd:
        print(f"    {layer} -> {target}: {names}")


if __name__ == "__main__":
    main()
