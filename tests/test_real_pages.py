"""Tutorials on real data, where there are any: their code runs, with little time for every fit."""

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from .test_docs import DOCS, blocks

VARIABLE = "GEOMNDP_DATA"
PAGES = sorted(path.relative_to(DOCS).as_posix() for path in DOCS.glob("tutorials/real_*.md"))
QUICK = {
    r"minutes=\d": "minutes=0.1",
    r"max_targets=\d+": "max_targets=3",
    r"num_samples=\d+": "num_samples=4",
}
"""Shorter fits, and fewer targets and samples."""


def test_pages_say_where_their_data_are():
    assert len(PAGES) == 4
    for page in PAGES:
        text = (DOCS / page).read_text(encoding="utf-8")
        assert f'os.environ["{VARIABLE}"]' in text and "gn.simple_models(plan" in text, page


@pytest.mark.slow
@pytest.mark.parametrize("page", PAGES)
def test_code_runs(page, tmp_path):
    if not (Path(os.environ.get(VARIABLE, "")) / "functions").is_dir():
        pytest.skip(f"no folder of real functions in ${VARIABLE}")
    code = "\n".join(blocks(page))
    for pattern, text in QUICK.items():
        code = re.sub(pattern, text, code)
    script = tmp_path / "page.py"
    script.write_text(code, encoding="utf-8")
    command = [sys.executable, "-W", "error", script.name]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
