"""The command line as a user meets it: help, tables, refusals, exit codes."""

import json
import re
import subprocess
import sys
import time

import equinox as eqx
import jax
import pytest

import geomndp
from geomndp import _model_files, _progress
from geomndp._methods import method_names
from geomndp.cli import main
from geomndp.cli.main import _RUN
from geomndp.experiments import registry
from geomndp.experiments.regression1d import likelihood_table as table1d, paper as published
from geomndp.experiments.table import log_likelihood

LAZY = """
import sys
from geomndp.cli import main
try:
    main({arguments!r})
except SystemExit:
    pass
sys.exit("jax was imported" if "jax" in sys.modules else 0)
"""


@pytest.mark.parametrize("arguments", [["--help"], ["condition", "--help"], ["list"]])
def test_parsing_and_listing_import_no_jax(arguments):
    script = LAZY.format(arguments=arguments)
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    assert done.stdout


@pytest.mark.parametrize("command", [kind.__name__.lower() for kind in _RUN])
def test_help_shows_an_example(command, capsys):
    with pytest.raises(SystemExit) as stop:
        main([command, "--help"])
    assert stop.value.code == 0
    assert f"Example: geomndp {command}" in " ".join(capsys.readouterr().out.split())


def test_version(capsys):
    assert main(["--version"]) == 0
    assert capsys.readouterr().out == f"geomndp {geomndp.__version__}\n"


def test_list_shows_every_shipped_model(capsys):
    assert main(["list"]) == 0
    shown = capsys.readouterr().out
    assert _model_files.names() and all(name in shown for name in _model_files.names())
    assert all(name in shown for name in method_names())
    assert main(["list", "--json"]) == 0
    assert set(json.loads(capsys.readouterr().out)) == set(_model_files.names())


def test_list_shows_sizes_and_training(capsys):
    """Numbers of parameters are those of the loaded network, sizes those of the files."""
    assert main(["list", "--training", "--json"]) == 0
    records = json.loads(capsys.readouterr().out)
    assert set(records) == set(_model_files.names())
    name = "regression1d/se"
    net = geomndp.load(name).score.net
    leaves = jax.tree.leaves(eqx.filter(net, eqx.is_inexact_array))
    file = _model_files.weights(_model_files.find(name))
    assert records[name]["parameters"] == sum(leaf.size for leaf in leaves)
    assert records[name]["bytes"] == file.stat().st_size
    assert records[name]["network"] == type(net).__name__
    name = "sphere-winds/gfs-residual"  # its file has tables of two processes, too
    leaves = jax.tree.leaves(eqx.filter(geomndp.load(name).score.net, eqx.is_inexact_array))
    assert records[name]["parameters"] == sum(leaf.size for leaf in leaves)
    assert main(["list", "--training"]) == 0
    shown = capsys.readouterr().out
    assert all(name in shown for name in records)


def has_tables(entry):
    """From stored results, or from the cards of shipped models."""
    return bool(entry.report(entry.read_results()))


def check_words_on_measuring(table, tmp_path, capsys):
    assert main(["reproduce", table, "--out", str(tmp_path / "new")]) == 1
    assert f"geomndp reproduce {table} --num" in capsys.readouterr().err
    assert not (tmp_path / "new" / f"{table}.md").exists()


@pytest.mark.parametrize("table", registry.EXPERIMENTS)
def test_tables_on_the_console_are_those_of_the_file(table, tmp_path, capsys):
    """Those without results say how to measure them."""
    if not has_tables(registry.experiment(table)):
        check_words_on_measuring(table, tmp_path, capsys)
        return
    assert main(["reproduce", table, "--no-figures", "--out", str(tmp_path)]) == 0
    shown = capsys.readouterr().out
    written = (tmp_path / f"{table}.md").read_text(encoding="utf-8")
    titles = re.findall(r"^## (.*)$", written, re.MULTILINE)
    assert titles and all(title in shown for title in titles)
    labels = re.findall(r"^\| ([^|]+?) \|", written, re.MULTILINE)
    assert len(labels) > 1 and all(label in shown for label in labels)


WRONG = {
    "unknown model": (["evaluate", "regression1d/nope"], "shipped name (regression1d/"),
    "unknown table": (["reproduce", "table9"], "expected experiment to be one of 'regression1d'"),
    "unknown region": (
        ["evaluate", "regression1d/se", "--region", "mars"],
        "expected region to be one of 'in-range'",
    ),
    "unknown route": (["evaluate", "regression1d/se", "--route", "both"], "'conditional', 'joint'"),
    "a demo of nothing": (["demo", "--num-samples", "0"], "whole number >= 2, got 0"),
    "a demo for nobody": (["demo", "--out", "/proc/a"], "expected to write /proc/a/demo.html"),
    "no functions": (["evaluate", "regression1d/se", "--num", "0"], "num"),
}


@pytest.mark.parametrize("case", WRONG)
def test_mistakes_get_one_sentence_and_exit_code_one(case, capsys):
    arguments, message = WRONG[case]
    assert main(arguments) == 1
    error = capsys.readouterr().err
    last = error.splitlines()[-1]  # after progress, on a slow machine
    assert last.startswith("geomndp: ") and message in last
    assert "Traceback" not in error


def test_unwritable_output_is_one_sentence(tmp_path, capsys):
    blocked = tmp_path / "file"
    blocked.write_text("")
    assert main(["reproduce", "regression1d", "--out", str(blocked / "folder")]) == 1
    assert capsys.readouterr().err.startswith("geomndp: ")


def test_shipped_models_are_experiments_with_measured_metrics():
    for name in _model_files.names():
        notes = _model_files.metadata(name)
        assert notes["experiment"] == name
        gaps = registry.find(name).read_results().get("gaps", {})
        assert registry.find(name).regions[0] in notes["metrics"] or name in gaps
        tolerance = 0.5 if name.startswith("cyclones") else 1e-3  # of whole tracks, of a point
        for region, measured in notes["metrics"].items():
            assert measured["num"] > 0 and len(measured["log_prob"]) == 2
            if name.startswith("cyclones/"):
                assert region == "joint" or measured["mean_error"] < 1000
            if not name.startswith("neural-processes"):  # their densities need no solver
                assert measured["solver_error"] < tolerance or measured["log_prob"][0] < 0


def test_table_has_published_and_measured_rows():
    text = "".join(table.markdown() for table in table1d.tables("paper"))
    assert "| T(1)-GeomNDP, paper | 0.72 | 0.32 | -0.38 | 3.39 | 0.64 |" in text
    assert "| NDP*, paper | * | * | * | * | * |" in text
    measured = _model_files.metadata("regression1d/se")["metrics"]["in-range"]
    assert log_likelihood(*measured["log_prob"]) in text
    rows = table1d.rows("gnp2020", "in-range")
    quoted = published.QUOTED["in-range"]
    assert {row[0] for row in rows} >= set(quoted)


def test_whoever_waits_is_told(monkeypatch, capsys):
    """A line after a while, with how far it is; silence where it was quick."""
    monkeypatch.setattr(_progress, "QUIET_SECONDS", 0.02)
    with _progress.progress("sampling", 10) as update:
        update(7)
        time.sleep(0.2)
    assert list(_progress.each("drawing", iter("ab"))) == ["a", "b"]
    seen = capsys.readouterr()
    assert seen.err.startswith("sampling: 7 of 10, about 0 s left, 0 s\n") and not seen.out
