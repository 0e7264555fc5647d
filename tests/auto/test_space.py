"""Vector fields in space, from a data set to samples and densities in its own units."""

import dataclasses

import equinox as eqx
import jax.random as jr
import numpy as np
import pytest
import xarray as xr
from numpy.testing import assert_allclose

from geomndp import build, fit
from geomndp.nets import Steerable3
from geomndp.samplers import Amortised

pytest.importorskip("e3nn_jax")

SMALL = {"hidden": "2x0e+2x1o", "width": 4, "num_layers": 1, "num_radial": 2}
AXES, COMPONENTS = ("x", "y", "z"), ("u", "v", "w")
STEPS = 4
KNOTS = 1.94384  # in a metre a second


def flows(speed: float = 1.0, length: float = 1.0) -> xr.Dataset:
    """Swirls about random axes at scattered locations in space, in units of speed and length."""
    rng, (b, n) = np.random.default_rng(0), (12, 5)
    x, axis = rng.uniform(-1, 1, (b, n, 3)), rng.normal(size=(b, 1, 3))
    y = 10 * np.cross(axis, x) + 0.5 * rng.normal(size=x.shape)
    dims = ("function", "place")
    data = {name: (dims, speed * y[..., i]) for i, name in enumerate(COMPONENTS)}
    return xr.Dataset(data, {name: (dims, length * x[..., i]) for i, name in enumerate(AXES)})


def planned(data: xr.Dataset):
    return build(data, "E(3)", inputs=AXES, outputs=COMPONENTS, batch_size=4, **SMALL)


def fitted(data: xr.Dataset):
    plan = planned(data)
    model, history = fit(plan, steps=STEPS, key=jr.key(1), quiet=True)
    assert history.steps[-1] == STEPS and np.all(np.isfinite(history.loss))
    return plan, model


@pytest.mark.slow
def test_fields_in_space_from_data_to_densities():
    """Other units of speed change a log-density by their Jacobian, those of length not at all."""
    plain, scaled = flows(), flows(speed=KNOTS, length=1e-3)
    plan, model = fitted(plain)
    assert isinstance(model.score.net, Steerable3) and "space" in str(plan)
    assert len(model.normaliser.y_scale) == 1 and not any(model.normaliser.y_shift)
    assert not eqx.tree_equal(model.score, plan.model.score)
    one, other = plain.isel(function=0), scaled.isel(function=0)
    seen, rest = one.isel(place=[0]), one.isel(place=slice(1, 3))
    draws = model.condition(seen, noise=0.25).sample(
        rest, key=jr.key(2), num_samples=3, sampler=Amortised(3)
    )
    assert draws.u.dims == ("sample", "place") and bool(np.isfinite(draws.to_array()).all())
    spread = float(draws.to_array().std())
    assert 1 < spread < 100  # the data's is 9
    other_plan = planned(scaled)
    assert_allclose(other_plan.data.functions.y, plan.data.functions.y, rtol=1e-5)
    again = dataclasses.replace(model, normaliser=other_plan.model.normaliser)
    density = model.log_prob(rest) - 6 * np.log(KNOTS)
    assert_allclose(again.log_prob(other.isel(place=slice(1, 3))), density, rtol=1e-5)
