"""Files of the package that three requests pass: no more than they need."""

import re
import subprocess
import sys
from pathlib import Path

import pytest

TOOL = Path(__file__).parents[1] / "tools" / "walks.py"
MOST = {
    "CSV to NetCDF": 67,
    "one training step": 29,
    "conditional likelihood of a track": 42,
}
"""A file more needs a reason: see docs/history/structure.md."""


@pytest.mark.slow
def test_three_requests_pass_few_files():
    shown = subprocess.run([sys.executable, TOOL], capture_output=True, text=True, check=True)
    counts = {name: int(n) for name, n in re.findall(r"^(.+): (\d+) files$", shown.stdout, re.M)}
    assert counts.keys() == MOST.keys()
    assert not {name: n for name, n in counts.items() if n > MOST[name]}
