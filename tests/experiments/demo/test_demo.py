"""The demonstration: its page is whole, its numbers are those of the exact law where one is."""

import base64
import re

import jax.random as jr
import pytest

from geomndp.cli import main
from geomndp.data import field_problem, regression1d, sphere_problem
from geomndp.experiments.demo import function_1d as line, globe, track, vector_field as field
from geomndp.experiments.demo.report import write_page
from geomndp.experiments.demo.training import _evaluation_steps, learn
from geomndp.geometry import Sphere
from geomndp.kernels import Diagonal, White
from geomndp.model import Model
from geomndp.nets import SphericalAttention
from geomndp.noising import Brownian, LinearSchedule, OrnsteinUhlenbeck
from geomndp.score import GaussianScore, NetworkScore, PreconditionK
from geomndp.train.step import divisor

GP1D, FIELD = regression1d("paper", "se").exact(), field_problem("div-free").gp
SCHEDULE = LinearSchedule(0.0, 10.0)


def exact(gp, kernel):
    return Model(OrnsteinUhlenbeck(kernel, SCHEDULE), GaussianScore(gp))


def small_model(name):
    """Exact processes in the place of the shipped models, and an untrained one of tracks."""
    if name == line.MODEL:
        return exact(GP1D, White(1.0))
    if name == globe.MODEL:
        return exact(sphere_problem("div-free").gp, Diagonal(White(1.02), 2))
    if name == field.MODEL:
        return exact(FIELD, Diagonal(White(1.02), 2))
    net = SphericalAttention(width=8, num_layers=1, num_heads=2, dtype="float32", key=jr.key(0))
    score = NetworkScore(net, PreconditionK(), conditional=True)
    return Model(Brownian(Sphere(2), LinearSchedule(1e-4, 15.0)), score)


@pytest.fixture
def sections(tmp_path, monkeypatch):
    for module in (line, field, globe, track):
        monkeypatch.setattr(module, "load", small_model)
    options = {"key": jr.key(0), "num_samples": 32}
    return [
        line.show_line(tmp_path, **options, steps=20),
        field.show_field(tmp_path, **options, steps=20, radius=2.2),
        track.show_track(tmp_path, **options, steps=3),
        globe.show_globe(tmp_path, **options, steps=24, points=40),
    ]


def value(number):
    return float(re.match(r"[\d.]+", number)[0])


def test_page_and_numbers_of_exact_models(sections, tmp_path):
    page = write_page(tmp_path / "demo.html", "Title", sections, "footer").read_text("utf-8")
    assert page.count("<img") == 4 and "http" not in page
    for part in sections:
        image = part.figure.read_bytes()
        assert image.startswith(b"\x89PNG") and base64.b64encode(image).decode() in page
        assert part.title in page and part.caption in page
        assert part.numbers and all(number.value in page for number in part.numbers)
    distance, mean, spread = (value(number.value) for number in sections[0].numbers)
    assert distance < 1e-4 and mean < 3 / 32**0.5 and abs(spread - 1) < 0.2
    divergence, curl, mean = sections[1].numbers
    for number in (divergence, curl):
        assert value(number.value) == pytest.approx(value(number.reference), rel=0.15)
    assert value(curl.value) > 3 * value(divergence.value) and value(mean.value) < 3 / 32**0.5
    mean, spread = sections[3].numbers
    assert value(mean.value) < 3 / 32**0.5 and abs(value(spread.value) - 1) < 0.1


@pytest.mark.parametrize("steps", [1, 2, 7, 20, 500])
def test_looks_are_whole_chunks_up_to_the_end(steps):
    chunk = divisor(steps, 10)
    looks = _evaluation_steps(steps, chunk)
    assert looks[-1] == steps and looks[0] > 0 and all(look % chunk == 0 for look in looks)
    assert 1 <= len(looks) <= 5


@pytest.mark.slow
def test_regret_falls():
    errors = learn(200, key=jr.key(0), log=print).score_errors
    values = [error.value for error in errors]
    assert values[-1] < 0.5 * values[0]


@pytest.mark.slow
def test_demo_as_a_command(tmp_path, capsys):
    assert main(["demo", "--out", str(tmp_path), "--steps", "20"]) == 0
    shown = capsys.readouterr()
    assert str(tmp_path / "demo.html") in shown.out.replace("\n", "")
    assert "a vector field" in shown.err
    names = {"line.png", "field.png", "globe.png", "track.png", "learning.png", "demo.html"}
    assert {path.name for path in tmp_path.iterdir()} == names
    distance = float(re.search(r"(\d\.\d+) ± \d\.\d+ nats", shown.out)[1])
    assert distance < 0.01
