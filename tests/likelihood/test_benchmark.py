"""The benchmark runs, and says what its documentation says."""

import subprocess
import sys
from pathlib import Path

import pytest

SCRIPT = Path(__file__).parents[2] / "benchmarks" / "likelihood.py"


@pytest.mark.slow
def test_quick_benchmark_meets_the_bars():
    command = [sys.executable, str(SCRIPT), "--quick"]
    result = subprocess.run(command, check=True, capture_output=True, text=True, timeout=900)
    assert "Bars met everywhere: yes" in result.stdout
