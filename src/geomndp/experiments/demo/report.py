"""Sections of the demonstration, and the HTML page that carries their figures with it."""

from __future__ import annotations

import base64
from html import escape
from pathlib import Path
from typing import NamedTuple

from geomndp import _atomic_io

HEAD = """<!doctype html>
<html lang="en">
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>{title}</title>
<style>
body {{ max-width: 60rem; margin: 2rem auto; padding: 0 1rem; font: 1rem/1.5 sans-serif; }}
img {{ max-width: 100%; }}
table {{ border-collapse: collapse; }}
th, td {{ padding: 0.2rem 0.8rem 0.2rem 0; text-align: left; border-bottom: 1px solid #ddd; }}
footer {{ color: #666; margin-top: 2rem; }}
</style>
<h1>{title}</h1>
"""


class Number(NamedTuple):
    """A measured number with its unit, and the exact or expected one beside it, as text."""

    name: str
    value: str
    reference: str


class Section(NamedTuple):
    """A figure, what it shows, and its numbers."""

    title: str
    caption: str
    figure: Path
    numbers: list[Number]


def with_error(value: float, error: float, unit: str = "", digits: int = 3) -> str:
    """A number with its standard error and unit."""
    return f"{value:.{digits}f} ± {error:.{digits}f} {unit}".rstrip()


def write_page(path: Path, title: str, sections: list[Section], footer: str) -> Path:
    """Write the page."""
    blocks = [HEAD.format(title=escape(title)), *map(_section, sections)]
    text = "".join([*blocks, f"<footer>{escape(footer)}</footer>\n</html>\n"])
    return _atomic_io.write(path, text)


def _section(part: Section) -> str:
    image = base64.b64encode(part.figure.read_bytes()).decode("ascii")
    rows = "".join(
        "<tr>" + "".join(f"<td>{escape(cell)}</td>" for cell in number) + "</tr>\n"
        for number in part.numbers
    )
    return (
        f"<h2>{escape(part.title)}</h2>\n<figure>\n"
        f'<img alt="{escape(part.title)}" src="data:image/png;base64,{image}">\n'
        f"<figcaption>{escape(part.caption)}</figcaption>\n</figure>\n"
        f"<table>\n<tr><th></th><th>found</th><th>compare</th></tr>\n{rows}</table>\n"
    )
