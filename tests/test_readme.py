"""The README's example runs as it is printed."""

import re
from pathlib import Path

README = Path(__file__).parents[1] / "README.md"
HOME = README.parent / "docs" / "index.md"


def example(page: Path) -> str:
    """The one block of Python code of a page."""
    (block,) = re.findall(r"```python\n(.*?)```", page.read_text(encoding="utf-8"), re.DOTALL)
    return block


def test_example_runs(run_page, tmp_path):
    printed = run_page(example(README))
    assert (tmp_path / "posterior.png").stat().st_size > 1000
    assert len(printed.splitlines()) == 2


def test_home_page_shows_the_same_example():
    assert example(HOME) == example(README)


def test_glossary_comes_before_the_first_table():
    text = README.read_text(encoding="utf-8")
    assert -1 < text.find("docs/glossary.md") < text.find("\n|")


def test_links_lead_somewhere():
    links = re.findall(r"\]\(([^)#]+)\)", README.read_text(encoding="utf-8"))
    missing = [link for link in links if not (README.parent / link).exists()]
    assert not missing
