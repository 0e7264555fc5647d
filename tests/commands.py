"""Shell commands as they stand in pages and docstrings, found and read as a shell would."""

import ast
import re
import shlex
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

ROOT = Path(__file__).parents[1]
START = re.compile(r"(?:\$ )?(?:\.venv/bin/)?(geomndp|make|python|pip)(?= )")
FENCE = re.compile(r"^```(\w*)\n(.*?)^```\n?", re.DOTALL | re.MULTILINE)
SPAN = re.compile(r"(?<!`)`([^`]+)`(?!`)")


class Command(NamedTuple):
    """One command: its words without comments, and whether it is shown to be run as it stands."""

    words: list[str]
    whole: bool

    def __str__(self) -> str:
        return " ".join(self.words)


def pages() -> list[Path]:
    """Everything that people read, but for the reference, which is made from docstrings."""
    found = [*ROOT.glob("*.md"), *ROOT.glob("docs/**/*.md"), *ROOT.glob("examples/**/*.md")]
    return sorted(path for path in found if path.parent.name != "reference")


def scripts() -> list[Path]:
    """Python files whose docstrings may show commands."""
    folders = ("src", "examples", "benchmarks", "docs")
    return sorted(path for folder in folders for path in (ROOT / folder).rglob("*.py"))


def commands(path: Path) -> list[Command]:
    """Commands of a page or of the docstrings of a Python file, in their order."""
    text = path.read_text(encoding="utf-8")
    if path.suffix == ".py":
        return [found for part in _docstrings(text) for found in _in_docstring(part)]
    return list(_in_page(text))


def _in_page(text: str) -> Iterator[Command]:
    """Lines of blocks in a shell's language, indented lines and code within a sentence."""
    end = 0
    for fence in FENCE.finditer(text):
        yield from _in_prose(text[end : fence.start()])
        if fence[1] in ("bash", "sh", "shell", "console", ""):
            yield from (_command(line, whole=True) for line in _lines(fence[2]))
        end = fence.end()
    yield from _in_prose(text[end:])


def _in_prose(text: str) -> Iterator[Command]:
    for part in re.split(r"(^ {4}.*\n(?:(?: {4}.*)?\n)*)", text, flags=re.MULTILINE):
        if part.startswith("    "):
            yield from (_command(s, whole=True) for s in _lines(part) if START.match(s))
        else:
            yield from _spans(part)


def _in_docstring(text: str) -> Iterator[Command]:
    """Examples, which go on to the end of a paragraph, lines, and code within a sentence."""
    for paragraph in re.split(r"\n\s*\n", text):
        example = " ".join(paragraph.split()).removeprefix("Example: ")
        lines = [example] if "Example: " in paragraph else list(_lines(paragraph))
        if all(START.match(line) for line in lines):
            yield from (_command(re.sub(r"[][]", "", line), whole=True) for line in lines)
        else:
            yield from _spans(paragraph)


def _spans(text: str) -> Iterator[Command]:
    for span in SPAN.findall(text):
        words = " ".join(span.split())
        if START.match(words):
            yield _command(words, whole=False)


def _lines(block: str) -> Iterator[str]:
    """Lines, joined where they end in a backslash."""
    joined = re.sub(r"\\\n\s*", "", block)
    return (line.strip() for line in joined.splitlines() if line.strip())


def _command(line: str, *, whole: bool) -> Command:
    """Split a line; the path of the environment's programs is dropped."""
    return Command(shlex.split(START.sub(r"\1", line), comments=True), whole)


def _docstrings(source: str) -> Iterator[str]:
    kinds = (ast.Module, ast.ClassDef, ast.FunctionDef)
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, kinds) and (text := ast.get_docstring(node)):
            yield text
