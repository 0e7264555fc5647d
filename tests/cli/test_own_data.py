"""From a file of functions to answers: train, evaluate, condition, all on the command line."""

import json
import subprocess
import sys
from types import SimpleNamespace

import jax
import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_allclose
from rich.console import Console

from geomndp import _model_files
from geomndp.cli import main, own_data
from geomndp.cli.commands import Evaluate
from geomndp.cli.own_data import _density, _how
from geomndp.model import load
from geomndp.tables import name_variables

SMALL = json.dumps({"width": 4, "num_layers": 1, "num_heads": 1, "num_frequencies": 2})


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """Twelve days of a temperature, a file to test on, and one of observations."""
    path = tmp_path_factory.mktemp("own")
    rng = np.random.default_rng(0)
    day, hour = np.repeat(np.arange(12), 6), np.tile(np.arange(0.0, 24, 4), 12)
    temp = 15 + np.sin(hour / 4) + np.repeat(rng.normal(size=12), 6) + 0.1 * rng.normal(size=72)
    frame = pd.DataFrame({"day": day, "hour": hour, "temp": temp, "station": "A"})
    frame[frame.day < 9].to_csv(path / "days.csv", index=False)
    frame[frame.day >= 9].to_csv(path / "test.csv", index=False)
    frame[frame.day == 0].to_csv(path / "one.csv", index=False)
    (path / "dated.csv").write_text("day,x\n1.2.2024,0\n2.1.2024,1\n2.1.2024,2\n")
    (path / "nameless.csv").write_text("# day,hour,temp\n0,1.5,2\n0,2.5,2\n")
    (path / "bars.csv").write_text("day|hour|temp\n0|0|1\n")
    frame[frame.day == 9].iloc[:2].to_csv(path / "obs.csv", index=False)
    frame.pivot(index="day", columns="hour", values="temp").to_csv(path / "wide.csv")
    return path


def training(folder, *more):
    columns = ["--function", "day", "--inputs", "hour", "--outputs", "temp"]
    sizes = ["--steps", "2", "--batch-size", "4", "--net", SMALL, "--quiet"]
    return ["train", str(folder / "days.csv"), *columns, *sizes, *more]


@pytest.fixture(scope="module")
def trained(folder):
    out = folder / "mine"
    with jax.enable_x64(False):
        assert main(training(folder, "--out", str(out))) == 0
    return out


def test_the_model_keeps_the_names_of_its_columns(trained):
    model, notes = load(trained), _model_files.metadata(trained)
    assert model.variables is not None and model.variables.output_names == ("temp",)
    assert notes["function"] == "day" and notes["seed"] == 1 and notes["steps"] == 2
    assert_allclose(model.normaliser.y_shift, 15, atol=2)


def test_the_same_command_resumes_and_another_is_refused(trained, folder, capsys):
    with jax.enable_x64(False):
        assert main(training(folder, "--out", str(trained))) == 0
        assert "after 2 steps" in " ".join(capsys.readouterr().out.split())
        assert main(training(folder, "--out", str(trained), "--seed", "5")) == 1
    assert "holds another run" in capsys.readouterr().err


@pytest.mark.parametrize("terminal", [True, False])
def test_the_plan_tells_the_time_and_the_sentence_comes_once(folder, capsys, monkeypatch, terminal):
    report = type("Report", (), {"details": lambda _: "all", "__str__": lambda _: "all\nchosen"})()

    def said(plan, **options):
        print("chosen", file=sys.stderr)
        return None, report

    monkeypatch.setattr(own_data, "fit", said)
    monkeypatch.setattr(Console, "is_terminal", terminal)
    line = [word for word in training(folder) if word not in ("--steps", "2", "--quiet")]
    with jax.enable_x64(False):
        assert main([*line, "--minutes", "1", "--out", str(folder / f"timed-{terminal}")]) == 0
    text = capsys.readouterr()
    plan = " ".join(text.out.split())
    assert "at most 1 minute: " in plan and "5 minutes" not in plan
    assert text.out.count("chosen") == (0 if terminal else 1) and text.err.count("chosen") == 1


def test_dates_keep_their_units_and_simple_models_are_saved(folder, capsys, monkeypatch):
    """Brackets around units are no markup of the console."""
    frame = pd.read_csv(folder / "days.csv")
    frame["date"] = pd.Timestamp("2024-01-01") + pd.to_timedelta(frame.hour, unit="D")
    frame.to_csv(folder / "dates.csv", index=False)
    saved = {}
    simple = SimpleNamespace(save=lambda path, metadata: saved.update({str(path): metadata}))
    given = {}

    def fitted(plan, **options):
        given.update(options)
        return {"shrunk covariance": simple}

    monkeypatch.setattr(own_data, "simple_models", fitted)
    monkeypatch.setattr(own_data, "fit", lambda plan, **options: (None, "report"))
    line = ["train", str(folder / "dates.csv"), "--function", "day", "--inputs", "date"]
    line += ["--outputs", "temp", "--symmetry", "none", "--minutes", "1", "--simple-models"]
    with jax.enable_x64(False):
        assert main([*line, "--out", str(folder / "dated")]) == 0
    shown = capsys.readouterr().out
    assert "date [days since 2024-01-01 00:00:00]" in shown
    path = folder / "dated" / "shrunk-covariance"
    assert saved == {str(path): {"function": "day", "seed": 1}} and str(path) in shown
    assert given == {"minutes": 1.0, "key": 1}

    def refused(plan, **options):
        raise ValueError("another run")

    saved.clear()
    monkeypatch.setattr(own_data, "fit", refused)
    with jax.enable_x64(False):
        assert main([*line, "--out", str(folder / "dated")]) == 1
    assert not saved


def test_evaluate_a_table_and_compare(trained, folder, capsys):
    """The same model twice: no gain at all, and the numbers of the first by itself."""
    line = ["evaluate", str(trained), str(folder / "test.csv"), "--context", "2", "--json"]
    with jax.enable_x64(False):
        assert main([*line, "--num-samples", "8"]) == 0
        (alone,) = json.loads(capsys.readouterr().out).values()
        figure = folder / "compared.png"
        more = ["--against", str(trained / "model"), "--figure", str(figure), "--num-samples", "8"]
        assert main([*line[:-1], *more]) == 0
    out = " ".join(capsys.readouterr().out.split())
    assert alone["ctx2"]["tasks"] == 3 and figure.exists()
    assert f"{alone['ctx2']['joint'][0]:.3f}" in out and "0.000 ± 0.000" in out


def test_a_neural_process_is_trained_and_evaluated_by_the_same_commands(folder, capsys):
    out = folder / "neural"
    line = ["evaluate", str(out), str(folder / "test.csv"), "--context", "2", "--json"]
    with jax.enable_x64(False):
        assert main(training(folder, "--out", str(out), "--method", "te-tnp")) == 0
        assert "te-tnp: TETNP" in " ".join(capsys.readouterr().out.split())
        assert main([*line, "--num-samples", "8"]) == 0
    (metrics,) = json.loads(capsys.readouterr().out).values()
    assert np.isfinite(metrics["ctx2"]["joint"][0]) and metrics["ctx2"]["tasks"] == 3


def test_condition_what_was_trained(trained, folder, capsys):
    line = ["condition", str(trained), str(folder / "obs.csv"), "--targets", "0:20:5"]
    assert main([*line, "--num-samples", "3", "--steps", "2", "--json"]) == 0
    rows = json.loads(capsys.readouterr().out)
    assert len(rows) == 15 and {"hour", "temp", "sample"} <= set(rows[0])
    line[2] = str(folder / "days.csv")
    assert main(line) == 1
    error = capsys.readouterr().err
    assert "observations of one function" in error and "got 9 values of 'day'" in error
    assert "--task-column day" in error


WRONG = {
    "no such file": (["train", "none.csv", "--inputs", "x"], "expected a file none.csv, got none"),
    "no inputs": (["train", "days.csv"], "expected --inputs, columns of days.csv ('day', 'hour'"),
    "no such column": (
        ["train", "days.csv", "--function", "day", "--inputs", "hours"],
        "expected a column 'hours', got 'day', 'hour', 'temp', 'station'",
    ),
    "no column of functions": (
        ["train", "days.csv", "--inputs", "hour"],
        "expected a column 'function', got 'day'",
    ),
    "points beside each other": (
        ["train", "wide.csv", "--function", "day", "--inputs", "hour", "--outputs", "temp"],
        "make rows (pandas: table.melt(id_vars=['day'], var_name='hour', value_name='temp'))",
    ),
    "one function": (
        ["train", "one.csv", "--function", "station", "--inputs", "hour"],
        "one value of 'station'; a column of days, weeks or the like would make many of one long",
    ),
    "as many functions as points": (
        ["train", "one.csv", "--function", "hour", "--inputs", "day"],
        "got one row for every value of 'hour'; --function names the column that says which",
    ),
    "labels in no order": (
        [*"train dated.csv --function day --inputs x --outputs x --ordered".split()],
        "expected --ordered with labels in order of time, got dates as text in 'day'; write",
    ),
    "another kind of file": (
        ["train", "days.xlsx", "--inputs", "hour", "--minutes", "1"],
        "expected a file to read that ends in .csv, .parquet, .nc, got 'days.xlsx'",
    ),
    "no names": (
        ["train", "nameless.csv", "--function", "day", "--inputs", "hour"],
        "expected a line of names such as 'day' above the numbers, got '0' for a name (lines that",
    ),
    "bars": (
        ["train", "bars.csv", "--function", "day", "--inputs", "hour"],
        "expected commas, semicolons or tabs between columns, got one column 'day|hour|temp'",
    ),
    "a wrong period": (
        ["train", "days.csv", "--inputs", "hour", "--period", "hour"],
        "expected --period INPUT=NUMBER, got 'hour'",
    ),
    "several noises": (
        ["train", "days.csv", "--inputs", "hour", "--noise", "a", "b"],
        "expected --noise OUTPUT=COLUMN for several, got a b",
    ),
    "steps and minutes": (
        ["train", "days.csv", "--inputs", "hour", "--steps", "5", "--minutes", "1"],
        "expected --steps or --minutes, got both",
    ),
    "a rate without steps": (
        ["train", "days.csv", "--inputs", "hour", "--peak-rate", "1e-3"],
        "expected --steps with --peak-rate, got none",
    ),
    "simple models of noisy values": (
        ["train", "days.csv", "--inputs", "hour", "--noise", "0.1", "--simple-models"],
        "expected --simple-models without --start and --noise, got both",
    ),
    "options of an experiment": (
        ["train", "days.csv", "--inputs", "hour", "--split", "1"],
        "expected --split with an experiment only, got it with a table",
    ),
    "options of a table": (
        ["train", "regression1d/se", "--inputs", "hour"],
        "expected --inputs with a table of functions only, got it with an experiment",
    ),
    "tasks of a table": (
        ["evaluate", "regression1d/se", "--forecast"],
        "expected --forecast with a table of functions only, got it with test functions",
    ),
    "no table": (["evaluate", "regression1d/se", "days"], "expected a table (.csv, .parquet, .nc)"),
    "other columns": (
        ["evaluate", "regression1d/se", "days.csv"],
        "expected a column 'function', got",
    ),
    "a figure of nothing": (
        ["evaluate", "regression1d/se", "days.csv", "--figure", "x.png"],
        "expected --against MODEL for a --figure, got none",
    ),
}


@pytest.mark.parametrize("case", WRONG)
def test_mistakes_get_one_sentence(case, folder, monkeypatch, capsys):
    line, message = WRONG[case]
    monkeypatch.chdir(folder)
    assert main(line) == 1
    error = capsys.readouterr().err
    assert error.startswith("geomndp: ") and message in error


def test_mistakes_in_files_need_no_jax(folder):
    line = ["train", str(folder / "days.csv"), "--inputs", "x", "--function", "day"]
    code = f"import sys, geomndp.cli as c; print(c.main({line}), 'jax' in sys.modules)"
    result = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert result.stdout.split() == ["1", "False"], result.stderr


def test_a_start_keeps_its_units(trained, folder, capsys):
    """Other days train it further; its scales stay, its parameters move."""
    out = folder / "further"
    line = ["train", str(folder / "test.csv"), "--function", "day", "--start", str(trained)]
    line += ["--batch-size", "2", "--quiet"]
    with jax.enable_x64(False):
        assert main([*line, "--steps", "1", "--out", str(out)]) == 0
    old, new = load(trained), load(out)
    assert old.normaliser == new.normaliser and old.variables == new.variables
    assert not np.array_equal(*(jax.tree.leaves(each.score)[0] for each in (old, new)))
    assert main([*line, "--steps", "1", "--outputs", "station", "--out", str(out)]) == 1
    assert "expected --outputs as the start has it, got ('station',)" in capsys.readouterr().err
    assert main([*line, "--out", str(out)]) == 1
    assert "expected --steps with --start, got none" in capsys.readouterr().err


def test_probes_reach_the_networks_of_a_mixture():
    command = Evaluate("mine", probes=4)
    network, process = SimpleNamespace(noising=None), SimpleNamespace()
    mixture = SimpleNamespace(members=(process, network))
    assert _density(mixture, command)["flow"].divergence.probes == 4
    assert _density(network, command) == _density(mixture, command)
    assert (
        _density(SimpleNamespace(members=(process,)), command) == _density(process, command) == {}
    )


def test_tables_of_tracks_say_their_units():
    command, tracks = Evaluate("mine"), name_variables("hours", ("lat", "lon"), "sphere")
    assert _how(command, tracks).endswith("nats per location, per km2")
    assert _how(command, name_variables("hour", "temp", "real")).endswith("of the outputs")
