"""A hook of mkdocs: formulae as MathML, which browsers draw themselves, with nothing to fetch."""

import html
import re

from latex2mathml.converter import convert

# What pymdownx.arithmatex leaves behind, in a line of text or as a block of its own.
FORMULA = re.compile(r'<(span|div) class="arithmatex">\s*\\([\[(])(.*?)\\[\])]\s*</\1>', re.DOTALL)


def on_page_content(content: str, **_) -> str:
    """Replace every formula of a rendered page."""
    return FORMULA.sub(_mathml, content)


def _mathml(match: re.Match) -> str:
    display = "block" if match[2] == "[" else "inline"
    return convert(html.unescape(match[3]).strip(), display=display)
