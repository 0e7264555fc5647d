"""A new experiment is one file and one line: every command knows it then."""

import json

import pytest

from geomndp.cli import main
from geomndp.experiments import registry

TOY = """
from pathlib import Path

from geomndp import Model
from geomndp.data import ProcessGenerator
from geomndp.data.synthetic import Gaussian
from geomndp.experiments.base import Experiment, Unavailable
from geomndp.experiments.metric_columns import likelihood_columns
from geomndp.experiments.table import Table, pair
from geomndp.gp import GP
from geomndp.kernels import SquaredExponential, White
from geomndp.nets import RelativeAttention
from geomndp.noising import LinearSchedule, OrnsteinUhlenbeck
from geomndp.score import NetworkScore
from geomndp.train import DenoisingLoss, adam

SIZES = {"width": 4, "num_layers": 1, "num_heads": 1, "bias_width": 2, "num_frequencies": 2}


def make_model(name, *, key, compute_dtype=None, **options):
    net = RelativeAttention(1, 1, **SIZES | options, dtype="float32", key=key)
    return Model(OrnsteinUhlenbeck(White(), LinearSchedule(0.0, 10.0)), NetworkScore(net))


def make_generator(name, batch_size, *, functions):
    process = Gaussian(GP(SquaredExponential(0.5), noise=0.05))
    return ProcessGenerator(process=process, batch_size=batch_size, max_points=4, dtype="float32")


def evaluate(model, name, *, num, region, route, probes, seed, directory, functions):
    assert model.score.conditional
    return {"log_prob": [0.5, 0.01], "num": num, "region": region}


def report(results):
    rows = [(name, pair(found["log_prob"])) for name, found in results.items()]
    return [Table("Toy table", ("model", "log-likelihood"), rows)]


def figures(results, folder, data):
    raise Unavailable("no paper")


EXPERIMENT = Experiment(
    name="toy",
    title="Toy",
    models=("toy/line",),
    model=make_model,
    generator=make_generator,
    loss=DenoisingLoss,
    optimiser=lambda name, steps: adam(steps, peak=1e-3),
    evaluate=evaluate,
    report=report,
    figures=figures,
    results=Path(__file__).with_name("results.json"),
    columns=likelihood_columns("nats", {"anywhere": "nats"}),
    steps=2,
    batch_size=2,
    regions=("anywhere",),
    data_options={"functions": None},
)
"""


@pytest.fixture
def toy(tmp_path, monkeypatch):
    (tmp_path / "toy_experiment.py").write_text(TOY)
    monkeypatch.syspath_prepend(str(tmp_path))
    monkeypatch.setitem(registry.EXPERIMENTS, "toy", "toy_experiment")
    return registry.experiment("toy")


def test_every_command_knows_a_new_experiment(toy, tmp_path, capsys):
    out = str(tmp_path / "run")
    assert main(["train", "toy/line", "--functions", "8", "--quiet", "--out", out]) == 0
    assert main(["evaluate", out, "--num", "3", "--json"]) == 0
    metrics = json.loads(capsys.readouterr().out.splitlines()[-1])
    assert metrics["num"] == 3 and metrics["region"] == "anywhere"
    toy.results.write_text(json.dumps({"toy/line": metrics}))
    before = toy.results.read_bytes()
    assert main(["reproduce", "toy", "--num", "2", "--out", str(tmp_path / "tables")]) == 0
    shown = capsys.readouterr().out
    assert "0.5000 ± 0.0100" in shown and "no figures: no paper" in shown
    assert "| toy/line | 0.5000 ± 0.0100 |" in (tmp_path / "tables" / "toy.md").read_text()
    assert json.loads((tmp_path / "tables" / "toy-measured.json").read_text()) == {}  # none shipped
    assert toy.results.read_bytes() == before
    assert main(["list"]) == 0
    assert "sphere-winds, flow-maps, toy\n" in capsys.readouterr().out


def test_options_that_an_experiment_does_not_have_are_refused(toy, capsys):
    assert main(["train", "toy/line", "--split", "1", "--steps", "1"]) == 1
    expected = "expected options of the data of toy (--functions), got --split 1"
    assert expected in capsys.readouterr().err
    assert toy.options(functions=3) == {"functions": 3} and toy.options() == {"functions": None}


def test_models_are_found_by_name():
    for name, found in registry.models().items():
        assert name in found.models and registry.find(name) is found
    with pytest.raises(ValueError, match="expected model to be one of 'regression1d/se'"):
        registry.find("regression1d")
    with pytest.raises(ValueError, match="expected experiment to be one of 'regression1d', "):
        registry.experiment("regression1d/se")
