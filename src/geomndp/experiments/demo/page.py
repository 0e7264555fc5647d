"""One HTML page that carries its figures with it."""

from __future__ import annotations

import base64
from html import escape
from pathlib import Path

from geomndp import _atomic_io
from geomndp.experiments.demo.report import Part

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


def write_page(path: Path, title: str, parts: list[Part], footer: str) -> Path:
    """Write the page."""
    blocks = [HEAD.format(title=escape(title)), *map(_section, parts)]
    text = "".join([*blocks, f"<footer>{escape(footer)}</footer>\n</html>\n"])
    return _atomic_io.write(path, text)


def _section(part: Part) -> str:
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
