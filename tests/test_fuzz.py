"""A small run of the fuzzer (`make fuzz`), and what it takes for a finding."""

import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from fuzz.engine import minimised, run_case
from fuzz.judge import DONE, REFUSED, Finding, judge_call, judge_line
from fuzz.twists import Twister

ROOT = Path(__file__).parents[1]
CHEAP = "condition,parts,table,functions,reader,other_files,model_file,summary,plot,line"


def fuzz(*options):
    command = [sys.executable, "-m", "fuzz", *options]
    return subprocess.run(command, cwd=ROOT, capture_output=True, text=True)


def test_twisted_calls_files_and_lines_are_answered_or_refused():
    done = fuzz("--cases", "120", "--types", CHEAP, "--seed", "13")
    assert done.returncode == 0, done.stdout + done.stderr
    assert "120 cases" in done.stdout and "0 findings" in done.stdout


@pytest.mark.slow
def test_samples_densities_and_processes_too():
    done = fuzz("--cases", "1000", "--processes", "20", "--seed", "14")
    assert done.returncode == 0, done.stdout + done.stderr
    assert "1020 cases" in done.stdout


def fails(error):
    def call():
        raise error

    return call


def test_what_is_a_finding():
    assert judge_call(lambda: np.ones(3)) == DONE
    assert judge_call(fails(ValueError("expected one, got two"))) == REFUSED
    for wrong in (KeyError("x"), ValueError("shapes differ"), ValueError("expected\nlines")):
        with pytest.raises(Finding):
            judge_call(fails(wrong))
    with pytest.raises(Finding, match=r"NaN or infinity .* in result.a.1"):
        judge_call(lambda: {"a": [1.0, np.array([1.0, np.nan])]})
    assert judge_line(1, "", "geomndp: warning: far\ngeomndp: expected one\n") == REFUSED
    for code, out, error in (
        (139, "", ""),
        (1, "", "Traceback (most recent call last)\ngeomndp: a"),
        (1, "", ""),
        (1, "", "geomndp: an unexpected KeyError: 'x'"),
        (0, "x,y\n0,nan\n", ""),
    ):
        with pytest.raises(Finding):
            judge_line(code, out, error)


def test_a_finding_is_made_small_and_comes_again():
    """Of many twists the one that matters is left, and the same name gives the same case."""

    def make(twist: Twister, _):
        values = {name: twist(name, 0, lambda r: r.randint(1, 9)) for name in "abcdef"}
        return values, lambda: judge_call(lambda: 1 / 0 if values["d"] else None)

    case = next(
        name for name in map("odd/0/{}".format, range(100)) if _twists(make, name) > {"d", "a"}
    )
    kept, given, said = minimised(make, case, None, 0.8)
    assert kept == ["d"] and said.startswith("ZeroDivisionError")
    assert given == minimised(make, case, None, 0.8)[1]
    assert [name for name, value in given.items() if value] == ["d"]
    assert run_case(make, case, None, 0.8, frozenset("abc"))[0] == DONE


def _twists(make, case):
    twist = Twister(case, 0.8)
    make(twist, None)
    return set(twist.made)
