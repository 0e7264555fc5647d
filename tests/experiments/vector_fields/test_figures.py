"""Pictures of fields: arrows, rotated posteriors, data efficiency."""

import jax.random as jr
import matplotlib.pyplot as plt
import numpy as np
import pytest

from geomndp import plot
from geomndp.data import disc, field_problem
from geomndp.experiments.vector_fields.figures import draw_fields, efficiency_figure, field_figure
from geomndp.kernels import Diagonal, White
from geomndp.model import Model
from geomndp.noising import LinearSchedule, OrnsteinUhlenbeck
from geomndp.score import GaussianScore

NOISING = OrnsteinUhlenbeck(Diagonal(White(1.02), 2), LinearSchedule(1e-4, 15.0))
POINTS = [
    {"functions": number, "regret": [regret, 0.001]}
    for number, regret in ((800, 0.02), (80, 0.4), (None, 0.01))
]


@pytest.fixture(autouse=True)
def closed():
    yield
    plt.close("all")


def test_arrows_have_the_length_of_the_spacing():
    x, y = disc(6, 5.0), np.ones((len(disc(6, 5.0)), 2))
    _, ax = plt.subplots()
    assert plot.vector_field(x, y, context=(x[:2], y[:2]), title="field", ax=ax) is ax
    assert ax.get_title() == "field" and len(ax.collections) == 2
    assert 1 / vars(ax.collections[0])["scale"] == pytest.approx(plot.arrow_scale(x, y))
    assert 1 < plot.arrow_scale(x, y) * 2**0.5 < 2.5
    with pytest.raises(ValueError, match=r"expected inputs \(n, 2\).* \(24, 3\)"):
        plot.vector_field(x, np.ones((24, 3)))


@pytest.mark.slow  # equivariance is tested with the networks
def test_figure_of_an_exact_score_turns(tmp_path):
    problem = field_problem("div-free")._replace(grid=disc(5, 2.5), contexts=4)
    model = Model(NOISING, GaussianScore(problem.gp))
    drawn = draw_fields(model, problem, key=jr.key(0), num=3, steps=4)
    assert drawn.equivariance_error(problem) < 1e-3
    assert not np.allclose(drawn.rotated, drawn.samples[0], atol=0.1)
    path = field_figure({"div-free": (model, problem)}, tmp_path / "f.png", num=3, steps=4)
    assert path.stat().st_size > 1000
    with pytest.raises(ValueError, match="expected models of vector fields"):
        field_figure({}, tmp_path / "f.png")


def test_efficiency_figure(tmp_path):
    part = {"vector-fields/se": POINTS, "vector-fields/se-ndp": POINTS[:1]}
    assert efficiency_figure(part, tmp_path / "e.png").stat().st_size > 1000
    alone = {"vector-fields/curl-free-ndp": POINTS[:1]}
    assert efficiency_figure(alone, tmp_path / "a.png").stat().st_size > 1000
    efficiency_figure(part | alone, tmp_path / "b.png")
    assert (tmp_path / "b.png").read_bytes() == (tmp_path / "e.png").read_bytes()
