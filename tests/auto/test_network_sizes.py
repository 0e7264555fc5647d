"""Networks of a size that can be trained in the time there is."""

import jax.random as jr
import numpy as np
import xarray as xr

from geomndp import build
from geomndp.auto.network_sizes import GRAPH_BATCH, PLANE_SIZE, resized


def winds() -> xr.Dataset:
    """A few fields of vectors at scattered locations of the plane."""
    rng, dims = np.random.default_rng(0), ("function", "place")
    data = {name: (dims, rng.normal(size=(20, 6))) for name in ("u", "v")}
    return xr.Dataset(data, {name: (dims, rng.uniform(size=(20, 6))) for name in ("x", "y")})


def test_networks_of_the_plane_are_small():
    plan = build(winds(), "E(2)", inputs=("x", "y"), outputs=("u", "v"), key=0)
    small = resized(plan, 60.0, key=jr.key(0))
    config, before = (p.model.score.net.config.to_dict() for p in (small, plan))
    assert {name: config[name] for name in PLANE_SIZE} == PLANE_SIZE
    assert before["channels"] > config["channels"]
    kept = set(before) - set(PLANE_SIZE)
    assert {name: config[name] for name in kept} == {name: before[name] for name in kept}
    assert small.data.batch_size == GRAPH_BATCH < plan.data.batch_size
