"""Fields over the Earth, from a data set to samples and densities in its own units."""

import jax.random as jr
import numpy as np
import pytest
import xarray as xr
from numpy.testing import assert_allclose

from geomndp import build, fit
from geomndp.nets import SteerableSphere
from geomndp.samplers import Amortised

SMALL = {"channels": 2, "width": 4, "num_layers": 1, "num_radial": 2}
NAMES = {"outputs": ("u", "v"), "covariates": ("elevation",)}


def stations(turn: float = 0.0) -> xr.Dataset:
    """Winds at stations, one of them at a pole and one at 180 degrees."""
    rng, (b, n) = np.random.default_rng(0), (8, 6)
    lat, lon = np.degrees(np.arcsin(rng.uniform(-1, 1, (b, n)))), rng.uniform(-180, 180, (b, n))
    lat[:, 0], lon[:, 1] = 90.0, 180.0
    dims = ("day", "station")
    data = {name: (dims, 5 * rng.normal(size=(b, n)) + 2) for name in ("u", "v")}
    data["elevation"] = (dims, 800 * rng.uniform(size=(b, n)))
    return xr.Dataset(data, {"lat": (dims, lat), "lon": (dims, (lon + turn) % 360)})


def planned(symmetry, data=None, **options):
    data = stations() if data is None else data
    return build(data, symmetry, function="day", batch_size=4, **NAMES | SMALL | options)


def test_a_plan_for_the_globe():
    plan = planned("axial")
    net, units = plan.model.score.net, plan.model.normaliser
    assert isinstance(net, SteerableSphere) and net.config.axial
    assert net.input_dim == 4 and net.config.num_invariant_inputs == 1
    assert units.x_shift[:3] == (0, 0, 0) and units.x_scale[:3] == (1, 1, 1)
    assert units.x_scale[3] > 100 and units.y_shift == (0.0,) * len(units.y_shift)
    text = str(plan)
    assert "vector, along east, north" in text and "needs steps" in text
    assert not planned("SO(3)").model.score.net.config.axial
    periodic = planned("SO(3)", periodic={"elevation": 1e3})
    assert periodic.model.score.net.config.periods[:3] == (0, 0, 0)


def test_what_is_refused_on_the_globe():
    with pytest.raises(ValueError, match="east, north"):
        build(stations().drop_vars("elevation"), "SO(3)", function="day")
    with pytest.raises(ValueError, match="steps"):
        fit(planned("SO(3)"), key=0)
    with pytest.raises(ValueError, match="codomain"):
        planned("axial", codomain="sphere")
    with pytest.raises(ValueError, match="method"):
        planned("axial", method="convcnp")
    with pytest.raises(ValueError, match="representations"):
        build(stations(), "none", function="day", **NAMES, representations="vector")


@pytest.mark.slow
@pytest.mark.parametrize("symmetry", ["SO(3)", "axial"])
def test_longitudes_may_be_shifted(symmetry):
    """From a table to samples and densities, which a shift of longitudes leaves as they are."""
    model, history = fit(planned(symmetry), steps=4, key=jr.key(1), quiet=True)
    assert np.all(np.isfinite(history.loss))
    nats, samples = [], []
    for turn in (0.0, 200.0):
        day = stations(turn).isel(day=0)
        seen, rest = day.isel(station=[0, 2]), day.isel(station=[1, 3, 4])
        posterior = model.condition(seen)
        nats.append(float(posterior.log_prob(rest)))
        options = {"num_samples": 2, "sampler": Amortised(4)}
        draws = posterior.sample(rest.drop_vars(["u", "v"]), key=jr.key(2), **options)
        assert draws.u.dims == ("sample", "station")
        samples.append(draws[["u", "v"]].to_array().values)
    assert_allclose(*nats, atol=1e-3)
    # Components stay as they are, so that the same key is noise that is turned along.
    assert np.std(samples[0]) > 1
    assert_allclose(*samples, atol=1e-3 * np.std(samples[0]))
