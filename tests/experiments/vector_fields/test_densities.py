"""Designs of other densities: what they are, and that the exact score has no regret there."""

import numpy as np
import pytest

from geomndp import Model
from geomndp.data import disc, field_problem
from geomndp.experiments import results
from geomndp.experiments.vector_fields import densities as densities_fields
from geomndp.experiments.vector_fields.densities import DESIGNS, design, design_tasks, regret_at
from geomndp.experiments.vector_fields.training import RADIUS
from geomndp.kernels import Diagonal, White
from geomndp.nets import neighbour_counts
from geomndp.noising import LinearSchedule, OrnsteinUhlenbeck
from geomndp.score import GaussianScore

NOISING = OrnsteinUhlenbeck(Diagonal(White(1.02), 2), LinearSchedule(1e-4, 15.0))
NAME, PROBLEM = "vector-fields/se", field_problem("se")


def test_designs_have_the_densities_of_their_names():
    near = {name: np.median(neighbour_counts(design(name, PROBLEM).x, RADIUS)) for name in DESIGNS}
    for kind in ("uniform", "lattice"):
        for name, factor in (("third", 1 / 3), ("triple", 3), ("tenfold", 10)):
            ratio = near[f"{kind}-{name}"] / near[f"{kind}-same"]
            assert 0.6 * factor < ratio < 1.3 * factor
    lattice = np.linalg.norm(design("lattice-tenfold", PROBLEM).x, axis=1).max()
    assert lattice == pytest.approx(10 * np.sqrt(600 / 6480), rel=0.05)


def test_observed_rows_are_where_they_should_be():
    for name in ("uniform-third", "coincident-context", "coincident"):
        made = design(name, PROBLEM)
        marks = np.asarray(design_tasks(made, PROBLEM, 2).context)
        assert np.all(marks.sum(axis=1) == made.fixed + made.drawn)
        assert np.all(marks[:, : made.fixed] == 1)
        assert not made.fixed or np.ptp(made.x[: made.fixed], axis=0).max() == 0
    # Noise of the process is that of a row: coincident rows differ by it.
    y = np.asarray(design_tasks(design("coincident", PROBLEM), PROBLEM, 20).y)
    assert np.var(y[:, :40], axis=1).mean() == pytest.approx(0.02, rel=0.2)


@pytest.mark.slow  # so at locations off the grid
def test_the_exact_score_has_no_regret(tmp_path, monkeypatch):
    problem = PROBLEM._replace(grid=disc(6, 2.0), contexts=3)
    monkeypatch.setattr(densities_fields, "COINCIDENT", 4)
    model, path = Model(NOISING, GaussianScore(problem.gp)), tmp_path / "results.json"
    options = {"num": 2, "fields": 8, "batch_size": 2, "probes": 64}
    row = regret_at(model, problem, "coincident", **options)
    assert row["points"] == 4 + 10 + 4 + len(problem.grid) // 2 and row["contexts"] == 7
    assert abs(row["regret"][0]) < 4 * row["probe_error"] + 0.01
    assert all(abs(gap[0]) < 1e-5 for gap in row["gaps"].values())
    found = []
    monkeypatch.setattr(densities_fields, "regret_at", lambda *_, **__: found.append(1) or row)
    for _ in range(2):
        densities_fields.measure(
            NAME, model, path, problem=problem, designs=("coincident",), **options
        )
    assert found == [1]
    assert results.read(path)["densities"][NAME]["coincident"]["regret"] == row["regret"]
