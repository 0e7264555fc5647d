"""The front end: one ES module, made of the files of `static/`, for the page and the widget.

A notebook takes a module as one text, so the files are joined in the order of their imports, with
the lines of `import` and the word `export` left out: no two files define the same name.
"""

from __future__ import annotations

import functools
import re
from importlib.resources import files

MODULES = (
    "vendor/d3.js",
    "dom.js",
    "state.js",
    "client.js",
    "observations.js",
    "line.js",
    "streams.js",
    "plane.js",
    "earth.js",
    "field.js",
    "globe.js",
    "controls.js",
    "playground.js",
)
IMPORT = re.compile(r"^import .*?;\n", re.MULTILINE | re.DOTALL)
EXPORT = re.compile(r"^export (?=async |function|const|class)", re.MULTILINE)
EXPORTS = "export { connectSocket, encodeState, mount };\nexport default { render };"
"""What the page takes, and what a notebook does."""


def read_static(name: str) -> str:
    """Text of a file of the front end."""
    return files("geomndp.play").joinpath("static", name).read_text(encoding="utf-8")


@functools.cache
def module() -> str:
    """The ES module: `mount(element, connect)` for pages, a default export for notebooks."""
    parts = []
    for name in MODULES:
        text = EXPORT.sub("", IMPORT.sub("", read_static(name)))
        parts.append(f"// {name}\n{text}")
    return "\n".join([*parts, EXPORTS, ""])


@functools.cache
def style() -> str:
    """The style sheet."""
    return read_static("style.css")
