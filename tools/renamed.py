"""Writes docs/reference/renamed.md: every old name that still works, and the new one."""

from __future__ import annotations

import importlib
import pkgutil
from pathlib import Path

import geomndp
from geomndp import _deprecated

PAGE = Path(__file__).parents[1] / "docs" / "reference" / "renamed.md"
HEAD = """# Renamed

These old names work for one more release, with a `DeprecationWarning`. This page is written by
`python tools/renamed.py`. The modules `geomndp.model.execute` and `geomndp.model.stepping` held
internals that no page named, and are gone; the function of the former module `geomndp.model.fit` is
`gn.fit`.
"""


def import_all() -> None:
    """Import every module of the package, so that all tables of old names are known."""
    for module in pkgutil.walk_packages(geomndp.__path__, "geomndp."):
        if not module.name.endswith("__main__"):
            importlib.import_module(module.name)


def rows() -> list[tuple[str, str]]:
    """Old and new names, written as a reader would."""
    pairs = []
    for module, old, _ in _entries(_deprecated.NAMES):
        new = _deprecated.target(module, old).replace(":", ".")
        pairs.append((f"{module}.{old}", new))
    for where, old, new in _entries(_deprecated.ARGUMENTS):
        short = where.rpartition(".")[2]
        pairs.append((f"{short}({old}=)", f"{short}({new}=)"))
    for where, old, new in _entries(_deprecated.ATTRIBUTES):
        short = where.rpartition(".")[2]
        pairs.append((f"{short}.{old}", f"{short}.{new}"))
    return sorted(pairs)


def _entries(table: dict[str, dict[str, str]]) -> list[tuple[str, str, str]]:
    """Rows of the package's own tables."""
    public = {where: names for where, names in table.items() if where.startswith("geomndp.")}
    public |= {"geomndp": table["geomndp"]} if "geomndp" in table else {}
    return [(where, old, new) for where, names in public.items() for old, new in names.items()]


def page() -> str:
    """The page as text."""
    lines = [f"| `{old}` | `{new}` |" for old, new in rows()]
    return "\n".join([HEAD, "| old | new |", "|---|---|", *lines, ""])


if __name__ == "__main__":
    import_all()
    PAGE.write_text(page(), encoding="utf-8")
