"""`geomndp play`: what it refuses before it serves, and what a page begins with."""

import pytest

from geomndp.cli.commands import Play
from geomndp.cli.main import main, run
from geomndp.play.opening import exact_process

from ..play.models import GP_1D, exact, line_model


@pytest.fixture
def model(tmp_path):
    path = tmp_path / "model"
    exact(GP_1D, line_model()).save(path)
    return path


@pytest.fixture
def served(monkeypatch):
    """Sessions that would have been served."""
    from geomndp.play import server

    sessions = []

    def remember(self, session, port=0, **options):
        sessions.append(session)
        self.address = "http://127.0.0.1:1/secret/"

    monkeypatch.setattr(server.Server, "__init__", remember)
    monkeypatch.setattr(server.Server, "run", lambda self: None)
    return sessions


def test_a_page_begins_with_the_observations_of_a_file(model, served, tmp_path, capsys):
    (tmp_path / "obs.csv").write_text("x,y,std\n0.5,1.0,0.1\n-0.5,0.0,0\n")
    observations = str(tmp_path / "obs.csv")
    run(Play(str(model), observations=observations, num_samples=4, seed=2, browser=False))
    (session,) = served
    assert session.start["samples"] == 4 and session.start["seed"] == 2
    assert session.start["observations"] == [
        {"x": [0.5], "y": [1.0], "std": 0.1},
        {"x": [-0.5], "y": [0.0], "std": 0.0},
    ]
    assert "http://127.0.0.1:1/secret/" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("arguments", "expected"),
    [
        (["nothing"], "expected a model file or a shipped name"),
        (["MODEL", "--port", "70000"], "expected --port from 0 to 65535, got 70000"),
        (["MODEL", "--observations", "nothing.csv"], "expected a file nothing.csv, got none"),
        (["MODEL", "--num-samples", "1"], "expected samples to be a whole number from 2"),
    ],
)
def test_what_cannot_be_played_is_refused(arguments, expected, model, served, capsys):
    line = [str(model) if word == "MODEL" else word for word in arguments]
    assert main(["play", *line, "--no-browser"]) == 1
    assert expected in capsys.readouterr().err
    assert served == []


def test_the_exact_process_is_that_of_the_experiment():
    process = exact_process("regression1d/se", line_model())
    assert process.variables.output_names == ("y",)
    assert process.process.noise == pytest.approx(0.05**2)
    assert exact_process("regression1d/sawtooth", line_model()) is None
