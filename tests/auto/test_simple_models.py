"""The simple models of a plan: as good as the exact process on Gaussian data, named, savable."""

import jax
import jax.numpy as jnp
import jax.random as jr
import numpy as np
import pandas as pd
import pytest
import xarray as xr

from geomndp import OutsideTrainingWarning, build, load, simple_models
from geomndp.auto import gaussian_candidates
from geomndp.baselines import CANDIDATES
from geomndp.data import sphere_problem
from geomndp.geometry.geodesy import to_latlon
from geomndp.gp import GP
from geomndp.kernels import DivergenceFree, SquaredExponential

from .helper import TINY

PROCESS = GP(SquaredExponential(1.0, 4.0), mean=lambda x: x, noise=0.1)
X = jnp.linspace(0.0, 4.0, 7)[:, None]


def functions(count: int, seed: int) -> np.ndarray:
    draw = jax.vmap(lambda key: PROCESS.sample(X, key=key))
    return np.asarray(draw(jr.split(jr.key(seed), count)))[..., 0]


def test_simple_models_of_gaussian_data(monkeypatch, tmp_path):
    """New functions: the pooled process is close to the exact one, climatology far from it."""
    monkeypatch.setattr(gaussian_candidates, "CANDIDATES", CANDIDATES[:1])
    seeds, fit_shrunk = set(), gaussian_candidates.fit_shrunk_gaussian

    def recorded(*args, seed, **options):
        seeds.add(seed)
        return fit_shrunk(*args, seed=seed, **options)

    monkeypatch.setattr(gaussian_candidates, "fit_shrunk_gaussian", recorded)
    table = xr.Dataset({"y": (("function", "x"), functions(40, 0))}, {"x": np.asarray(X)[:, 0]})
    plan = build(table, symmetry="none", **TINY)
    models = simple_models(plan, minutes=0.1, key=7)
    assert seeds == {7}  # folds follow the key of the fit
    assert next(iter(models)) == "climatology" and set(models) >= {"GP", "shrunk covariance"}
    rows = jnp.asarray(functions(20, 1)[..., None])

    def nats(process):
        given = [process.condition(X[::3], y[::3]) for y in rows]
        pairs = zip(given, rows, strict=True)
        return np.mean([float(law.log_prob(X[1::3], y[1::3])) / 2 for law, y in pairs])

    exact = nats(PROCESS)
    assert nats(models["GP"]) > exact - 0.1
    assert nats(models["climatology"]) < exact - 0.3
    assert "fitted to 40 functions" in models["GP"].report
    for model in models.values():
        with pytest.warns(OutsideTrainingWarning, match=r"x = 9 \(trained on .* to 4"):
            model.condition(X[::3], rows[0, ::3]).mean(jnp.asarray([[9.0]]))
    models["GP"].save(tmp_path / "gp")
    assert nats(load(tmp_path / "gp")) == pytest.approx(nats(models["GP"]), rel=1e-6)
    with pytest.raises(ValueError, match="minutes"):
        simple_models(plan, minutes=0)


def test_vector_fields_have_a_process_that_turns_with_them(monkeypatch, tmp_path):
    monkeypatch.setattr(gaussian_candidates, "CANDIDATES", CANDIDATES[:1])
    monkeypatch.setattr(gaussian_candidates, "POTENTIALS", ("squared-exponential",))
    process = GP(DivergenceFree(30.0, 4.0), noise=0.1)
    x = 100.0 * jr.uniform(jr.key(1), (40, 16, 2))
    draw = jax.jit(jax.vmap(lambda x, key: process.sample(x, key=key)))
    y = np.asarray(draw(x, jr.split(jr.key(2), len(x))))
    columns = {"function": np.repeat(np.arange(30), 16)}
    rows = np.concatenate([np.asarray(x[:30]).reshape(-1, 2), y[:30].reshape(-1, 2)], axis=1)
    table = pd.DataFrame(columns | dict(zip(("a", "b", "u", "v"), rows.T, strict=True)))
    names = {"function": "function", "inputs": ["a", "b"], "outputs": ["u", "v"]}
    small = {"width": 4, "num_layers": 1}
    models = simple_models(build(table, symmetry="E(2)", **names, **small), minutes=0.1)
    models["Helmholtz GP"].save(tmp_path / "field")

    def nats(process):
        pairs = zip(x[30:], jnp.asarray(y[30:]), strict=True)
        given = [(process.condition(x[::2], y[::2]), x[1::2], y[1::2]) for x, y in pairs]
        return np.mean([float(law.log_prob(x, y)) / 16 for law, x, y in given])

    exact, found = nats(process), nats(load(tmp_path / "field"))
    assert exact - 0.1 < found
    assert nats(models["GP"]) < found - 0.02


@pytest.mark.slow
def test_fields_over_the_earth_have_a_process_on_the_sphere(monkeypatch, tmp_path):
    monkeypatch.setattr(gaussian_candidates, "CANDIDATES", CANDIDATES[:1])
    problem = sphere_problem("hodge", 0.5, points=40)
    x = jnp.asarray(problem.grid)
    y = np.asarray(problem.gp.sample(x, key=jr.key(0), num_samples=34))
    lat, lon = to_latlon(problem.grid)
    dims = ("function", "point")
    data = {name: (dims, y[:30, :, i]) for i, name in enumerate(("u", "v"))}
    table = xr.Dataset(data, {"lat": ("point", lat), "lon": ("point", lon)})
    small = {"channels": 2, "width": 4, "num_layers": 1, "num_radial": 2}
    plan = build(table, "SO(3)", outputs=("u", "v"), representations="vector", **small)
    models = simple_models(plan, minutes=0.1)
    models["GP on the sphere"].save(tmp_path / "sphere")

    def nats(process):
        given = [(process.condition(x[::2], one[::2]), one[1::2]) for one in jnp.asarray(y[30:])]
        return np.mean([float(law.log_prob(x[1::2], one)) / 20 for law, one in given])

    exact, found = nats(problem.gp), nats(load(tmp_path / "sphere"))
    assert exact - 0.1 < found
    assert nats(models["GP"]) < found - 0.1
