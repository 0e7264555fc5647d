"""The documentation: its code runs as it is printed, its site builds and is whole."""

import inspect
import os
import re
import subprocess
import sys
from importlib import import_module
from pathlib import Path

import pytest

from .cases import slow_but
from .commands import commands
from .quick_commands import run_quickly

ROOT = Path(__file__).parents[1]
DOCS = ROOT / "docs"
PAGES = sorted(
    path.relative_to(DOCS).as_posix()
    for folder in ("tutorials", "extend")
    for path in (DOCS / folder).glob("*.md")
)
LAYERS = (
    "baselines",
    "data",
    "evaluate",
    "geometry",
    "equivariance",
    "kernels",
    "likelihood",
    "linalg",
    "model",
    "nets",
    "noising",
    "play",
    "plot",
    "predictive",
    "samplers",
    "scale",
    "score",
    "solve",
    "summaries",
    "tables",
    "train",
    "widgets",
)


def blocks(page: str) -> list[str]:
    """Python code of a page, block by block."""
    text = (DOCS / page).read_text(encoding="utf-8")
    return re.findall(r"^```python\n(.*?)^```", text, re.DOTALL | re.MULTILINE)


# Their calls are those of the README's example, of examples/ and of other tests.
SLOW = {
    f"tutorials/{name}.md"
    for name in (
        "scalar",
        "vector",
        "own_data",
        "known_world",
        "missing_outputs",
        "globe",
        "global_wind",
    )
}
SLOW |= {f"extend/{name}.md" for name in ("baseline", "manifold")}


# Those on real data run in tests/test_real_pages.py.
RUN = [page for page in PAGES if not page.startswith("tutorials/real_")]


@pytest.mark.parametrize("page", slow_but([page for page in RUN if page not in SLOW], RUN))
def test_code_runs(page, run_page, tmp_path, monkeypatch):
    """Python code first, then the commands, which read what it wrote."""
    code = blocks(page)
    assert code
    run_page("\n".join(code))
    monkeypatch.chdir(tmp_path)
    run_quickly(commands(DOCS / page), files_exist=True)


@pytest.mark.parametrize("page", PAGES)
def test_code_is_in_order(page, tmp_path):
    """Blocks are linted like any other code, but for imports where they are first needed."""
    script = tmp_path / "page.py"
    script.write_text("\n".join(blocks(page)), encoding="utf-8")
    command = [sys.executable, "-m", "ruff", "check", "--select", "E,F,W,B,NPY,UP", "--no-cache"]
    done = subprocess.run(
        [*command, "--ignore", "E402,F722,F821", "--line-length", "100", str(script)],
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, done.stdout


def test_every_page_is_in_the_navigation():
    listed = re.findall(r"[\w/]+\.md", (ROOT / "mkdocs.yml").read_text(encoding="utf-8"))
    written = {path.relative_to(DOCS).as_posix() for path in DOCS.rglob("*.md")}
    assert sorted(listed) == sorted(written)


def test_files_that_pages_name_exist():
    """Every `folder/file.py`, from the root or the package, but one that a page tells to write."""
    roots = (ROOT, ROOT / "src" / "geomndp")
    pages = [*DOCS.rglob("*.md"), ROOT / "README.md", ROOT / "CHANGELOG.md"]
    named = {
        (path.name, file)
        for path in pages
        for file in re.findall(r"`(\w+(?:/\w+)+\.py)`", path.read_text(encoding="utf-8"))
    }
    assert len(named) > 50
    missing = {item for item in named if not any((root / item[1]).exists() for root in roots)}
    assert missing == {("manifold.md", "src/geomndp/geometry/axes.py")}


@pytest.fixture(scope="module")
def site(tmp_path_factory) -> Path:
    pytest.importorskip("mkdocs")
    folder = tmp_path_factory.mktemp("site")
    command = [sys.executable, "-m", "mkdocs", "build", "--strict"]  # --quiet would hide warnings
    done = subprocess.run(
        [*command, "--site-dir", str(folder)],
        cwd=ROOT,
        env={**os.environ, "NO_MKDOCS_2_WARNING": "1"},
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return folder


def test_site_needs_nothing_from_elsewhere(site):
    """No page fetches a font, a script or a picture; no formula is left as it was written."""
    for page in site.rglob("*.html"):
        text = page.read_text(encoding="utf-8")
        assert not re.search(r'(?:src|<link[^>]*href)="(?:https?:)?//', text), page
        assert 'class="arithmatex"' not in text, page


def test_reference_has_every_public_name(site):
    pages = (page.read_text(encoding="utf-8") for page in (site / "reference").glob("*.html"))
    shown = set(re.findall(r'id="geomndp[\w.]*\.(\w+)"', "".join(pages)))
    for layer in LAYERS:
        module = import_module(f"geomndp.{layer}")
        members = ((name, getattr(module, name)) for name in module.__all__)
        public = {n for n, o in members if inspect.isroutine(o) or inspect.isclass(o)}
        assert not public - shown, layer
