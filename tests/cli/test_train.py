"""Every kind of experiment is trained, gone on with and scored by the same two commands."""

import json
import os

import jax
import pytest
from numpy.testing import assert_allclose

from geomndp import _model_files
from geomndp.cli import main
from geomndp.experiments import registry
from geomndp.experiments.base import Deferred
from geomndp.experiments.vector_fields import training
from geomndp.model import load
from geomndp.train.lock import hold

from ..data.ibtracs.helper import storm, write_csv

SMALL = {"width": 4, "num_layers": 1, "num_heads": 1}
KINDS = {
    "regression1d/se": (SMALL | {"bias_width": 2, "num_frequencies": 2}, []),
    "vector-fields/div-free-ndp": (SMALL, ["--functions", "8"]),
    "cyclones/ibtracs": (SMALL | {"expansion": 1, "bias_width": 2}, ["--split", "3"]),
}


@pytest.fixture(scope="module")
def archive(tmp_path_factory):
    """Storms of one archive, each on its own parallel."""
    path = tmp_path_factory.mktemp("tracks") / "ibtracs.ALL.list.v04r01.csv"
    storms = (storm(f"20013{i:02}N10175", lat=[5.0 + i] * 60) for i in range(12))
    return write_csv(path, [row for rows in storms for row in rows])


def command(name, archive, *more):
    """Arguments of a tiny run."""
    net, options = KINDS[name]
    data = ["--data", str(archive)] if name.startswith("cyclones") else []
    sizes = ["--batch-size", "2", "--net", json.dumps(net), "--quiet"]
    return ["train", name, *sizes, *options, *data, *more]


# Fields and curves are trained by the tests below, too.
@pytest.mark.parametrize(
    "name",
    [pytest.param(n, marks=() if n.startswith("cyclones") else pytest.mark.slow) for n in KINDS],
)
def test_train_and_go_on(name, archive, tmp_path, capsys):
    """Two steps; the same command finds them done, and the log has each once."""
    arguments = command(name, archive, "--steps", "2", "--out", str(tmp_path))
    for _ in range(2):
        assert main(arguments) == 0
        assert "after 2 steps" in " ".join(capsys.readouterr().out.split())
    log = (tmp_path / "log.csv").read_text().splitlines()
    assert [line.split(",")[0] for line in log[1:]] == ["2"]
    notes = _model_files.metadata(tmp_path / "model")
    assert notes["experiment"] == name and notes["steps"] == 2
    assert _model_files.metadata(tmp_path) == notes
    assert notes.get("functions", 8) == 8 and notes.get("split", 3) == 3


def test_another_command_in_the_same_folder_is_refused(archive, tmp_path, capsys, monkeypatch):
    """At once while it trains, and afterwards if its data are others."""
    name = "vector-fields/div-free-ndp"
    arguments = command(name, archive, "--steps", "2", "--out", str(tmp_path))
    with hold(tmp_path), monkeypatch.context() as patch:
        patch.setattr(training, "make_generator", None)
        assert main(arguments) == 1
    assert f"held by process {os.getpid()} on " in capsys.readouterr().err
    assert main(arguments) == 0
    arguments[arguments.index("8")] = "7"
    assert main(arguments) == 1
    error = capsys.readouterr().err
    assert "holds another run, with other data (" in error and "optimiser" not in error


@pytest.mark.slow
@pytest.mark.parametrize("name", KINDS)
def test_evaluate_what_was_trained(name, archive, tmp_path, capsys):
    assert main(command(name, archive, "--steps", "2", "--out", str(tmp_path))) == 0
    capsys.readouterr()
    data = ["--data", str(archive)] if name.startswith("cyclones") else []
    arguments = ["evaluate", str(tmp_path / "model"), "--num", "2", "--probes", "2", *data]
    assert main([*arguments, "--json"]) == 0
    found = json.loads(capsys.readouterr().out)
    assert "log_prob" in found and found["seed"] == 1234


def test_every_part_of_every_experiment_can_be_called():
    for name in registry.EXPERIMENTS:
        found = registry.experiment(name)
        assert found.name == name
        if found.models:
            assert found.steps > 1000 and found.batch_size > 1
        parts = [value for value in vars(found).values() if isinstance(value, Deferred)]
        own = (found.measure is not None) + isinstance(found.exact, Deferred)
        assert len(parts) == (7 if found.models else 2) + own
        assert all(callable(part.resolve()) for part in parts)


WRONG = {
    "unknown experiment": (["nope"], "expected model to be one of 'regression1d/se'"),
    "no such archive": (["cyclones/ibtracs", "--data", "/no/where"], "/no/where"),
    "data for a synthetic set": (
        ["regression1d/se", "--data", "x"],
        "expected options of the data of regression1d (none), got --data x",
    ),
    "a finite set in 1D": (["regression1d/se", "--functions", "8"], "got --functions 8"),
    "options that are no JSON": (["regression1d/se", "--net", "width=8"], "as a JSON object"),
    "an unknown option": (["regression1d/se", "--net", '{"girth": 8}'], "girth"),
}


@pytest.mark.parametrize("case", WRONG)
def test_mistakes_get_one_sentence(case, tmp_path, capsys):
    arguments, message = WRONG[case]
    assert main(["train", *arguments, "--out", str(tmp_path), "--steps", "2"]) == 1
    error = capsys.readouterr().err
    assert error.startswith("geomndp: ") and message in error


@pytest.mark.slow  # extended networks have tests of their own
def test_training_starts_from_the_parameters_of_another_model(archive, tmp_path, capsys):
    """One step of rate almost zero leaves them as they were; other models are refused."""
    first, second = (str(tmp_path / name) for name in ("first", "second"))
    name = "regression1d/se"
    assert main(command(name, archive, "--steps", "3", "--out", first)) == 0
    again = command(name, archive, "--steps", "1", "--seed", "9", "--peak-rate", "1e-12")
    assert main([*again, "--start", first, "--out", second]) == 0
    old, new = (load(path).score.net for path in (first, second))
    for a, b in zip(jax.tree.leaves(old), jax.tree.leaves(new), strict=True):
        assert_allclose(a, b, atol=1e-3)  # a step of Adam's first rate, 1e-4
    notes = _model_files.metadata(second)
    assert notes["start"] == first and notes["peak_rate"] == 1e-12
    capsys.readouterr()
    other = command("vector-fields/div-free-ndp", archive, "--steps", "1", "--out", second)
    assert main([*other, "--start", first]) == 1
    assert "same noising" in capsys.readouterr().err
