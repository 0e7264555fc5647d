"""Any error is one sentence and a code; what needs no JAX is refused before its import."""

import json
import os
import random
import signal
import subprocess
import sys
import warnings

import numpy as np
import pandas as pd
import pytest

from geomndp import _arrays, _table_files
from geomndp._guarded import find_fault
from geomndp.cli import input_tables

FEW = "--num-samples 2 --steps 2"
TIMED = """
import sys
from geomndp.cli import main
code = main({arguments!r})
print("jax was imported" if "jax" in sys.modules else "no jax")
sys.exit(code)
"""


def test_an_unknown_error_is_one_sentence_and_debug_shows_where(run, monkeypatch):
    def fail(_):
        raise KeyError("no such thing")

    monkeypatch.setattr(input_tables, "read_tables", fail)
    code, out, error = run("sample mast --targets 0:6:3")
    assert (code, out) == (1, "") and error.count("\n") == 1
    assert error.startswith("geomndp: an unexpected KeyError: 'no such thing' (run with --debug")
    for line in ("--debug sample mast --targets 0:6:3", "sample mast --debug --targets 0:6:3"):
        code, _, error = run(line)
        assert code == 1 and "Traceback" in error and "in fail" in error


def test_a_warning_is_one_line(run, monkeypatch):
    def warn(_):
        warnings.warn("the values lie\nfar outside", stacklevel=1)
        raise ValueError("expected nothing")

    monkeypatch.setattr(input_tables, "read_tables", warn)
    with warnings.catch_warnings():
        warnings.simplefilter("always")
        code, _, error = run("sample mast --targets 0:6:3")
    assert code == 1
    assert error == ("geomndp: warning: the values lie far outside\ngeomndp: expected nothing\n")


@pytest.mark.parametrize("seed", ["-1", "4294967296"])
@pytest.mark.parametrize(
    "line",
    [
        "sample mast --targets 0:6:3",
        "condition mast mast.csv --targets 0:6:3",
        "train regression1d/se",
        "distil regression1d/se",
        "evaluate mast",
        "demo",
    ],
)
def test_seeds_that_jax_would_cut_are_refused(line, seed, run):
    code, out, error = run(f"{line} --seed {seed}")
    assert (code, out) == (1, "")
    assert error == f"geomndp: expected a seed from 0 to 2**32 - 1, got {seed}\n"


@pytest.mark.parametrize(
    "line",
    [
        "condition regression1d/se nothing.csv --targets 0:1:0.1",
        "condition regression1d/nope mast.csv --targets 0:1:0.1",
        "condition regression1d/se mast.csv --targets 0:1:0.1",
        "sample regression1d/se --targets nothing.nc",
        "sample regression1d/se --targets 0:1:0.1 --out a.xlsx",
        "evaluate regression1d/nope",
        "evaluate regression1d/se mast.csv --function station --against nope",
        "train regression1d/se --start nope",
        "train regression1d/se --out mast.csv/run",
        "distil regression1d/se --out mast.csv/run",
        "evaluate cyclones/ibtracs --data nothing",
        "reproduce regression1d --results nothing.json",
    ],
)
def test_wrong_files_are_refused_before_jax_is_imported(line, here):
    script = TIMED.format(arguments=line.split())
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True)
    assert done.returncode == 1 and done.stderr.startswith("geomndp: expected ")
    assert done.stdout == "no jax\n"


def flipped(content: bytes, seed: int) -> bytes:
    generator, damaged = random.Random(seed), bytearray(content)
    for _ in range(generator.choice([1, 3, 10])):
        damaged[generator.randrange(len(damaged))] ^= 1 << generator.randrange(8)
    return bytes(damaged)


@pytest.fixture
def good(here):
    frame = pd.DataFrame({"time": [0.0, 3.0, 6.0], "temperature": [14.0, 16.5, 18.5]})
    frame.to_parquet("good.parquet")
    frame.set_index("time").to_xarray().to_netcdf("good.nc", engine="h5netcdf")
    return here


@pytest.mark.parametrize("ending", ["nc", "parquet"])
def test_flipped_bits_are_refused_or_read(ending, good, monkeypatch):
    """No other error than a ValueError that names the file, no crash, no endless loop."""
    monkeypatch.setattr(_table_files, "READ_SECONDS", 2)
    content = (good / f"good.{ending}").read_bytes()
    path, refused = good / f"flipped.{ending}", 0
    for seed in range(15):
        path.write_bytes(flipped(content, seed))
        try:
            _table_files.read_table(str(path))
        except ValueError as error:
            refused += 1
            assert str(error).startswith(f"expected a table in {path}, got none: ")
    assert 0 < refused < 15


def test_a_child_tries_what_may_not_end():
    def spin():
        while True:
            pass

    assert find_fault(lambda: None, 5) == ""
    assert find_fault(lambda: 1 / 0, 5) == "division by zero"
    assert find_fault(lambda: os.kill(os.getpid(), signal.SIGKILL), 5).startswith("a crash")
    assert find_fault(spin, 1) == "no end after 1 s"


def test_a_table_larger_than_the_memory_is_not_loaded(good, monkeypatch):
    monkeypatch.setattr(_arrays, "free_bytes", lambda: 10)
    with pytest.raises(ValueError, match="more than a quarter of the free memory"):
        _table_files.read_table("good.nc")


def test_rows_may_stand_twice(run, here):
    (here / "twice.csv").write_text("time,temperature\n0,14\n0,14\n3,15\n")
    code, out, _ = run(f"condition mast twice.csv --targets 1:5:2 {FEW}")
    assert code == 0 and np.isfinite(pd.read_csv(pd.io.common.StringIO(out)).temperature).all()


def test_results_of_another_layout(run, here):
    (here / "odd.json").write_text(json.dumps({"ablation": 3, "samplers": [1], "curve": "x"}))
    code, _, error = run("reproduce regression1d --no-figures --results odd.json")
    assert code == 1 and "expected results of regression1d in odd.json" in error


@pytest.mark.parametrize(
    ("table", "options"),
    [("vector-fields", "--num 64"), ("own-data", "--num 64 [--data FOLDER]")],
)
def test_tables_say_first_that_they_are_stored(table, options, run):
    code, out, _ = run(f"reproduce {table} --no-figures")
    assert code == 0
    first = out.splitlines()[0]
    assert first.startswith("Stored results")
    assert first.endswith(f"to measure anew: geomndp reproduce {table} {options}")


def test_requests_outside_of_training_are_answered_with_a_warning(run, here):
    """One line on stderr for all batches of samples, and exit code 0."""
    line = "condition trained {} --targets 0:6:1 --num-samples 66 --steps 2"
    code, _, error = run(line.format("mast.csv"))
    assert code == 0 and "warning" not in error
    (here / "hot.csv").write_text("time,temperature\n0,1000\n3,16.5\n")
    code, out, error = run(line.format("hot.csv"))
    assert code == 0 and out.startswith("sample,")
    (said,) = [line for line in error.splitlines() if "warning" in line]
    assert said.startswith("geomndp: warning: outside of what the model was trained on")
    assert "temperature = 1000 (trained on -10 to 40 degC)" in said
    code, _, error = run("sample trained --targets 0:100:20 --num-samples 66 --steps 2")
    (said,) = [line for line in error.splitlines() if "warning" in line]
    assert code == 0 and "points over a range of" in said
