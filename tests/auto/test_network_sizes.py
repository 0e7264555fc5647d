"""Networks of a size that can be trained in the time there is."""

import jax.random as jr
import numpy as np
import xarray as xr

from geomndp import build
from geomndp.auto.network_sizes import (
    FLOPS,
    GRAPH_BATCH,
    MANY_POINTS,
    MAX_POINTS,
    MIN_STEPS,
    PLANE_SIZE,
    num_points,
    pair_operations,
    resized,
)


def winds() -> xr.Dataset:
    """A few fields of vectors at scattered locations of the plane."""
    rng, dims = np.random.default_rng(0), ("function", "point")
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


def curves() -> xr.Dataset:
    """Functions of 100 points."""
    rng, dims = np.random.default_rng(0), ("function", "point")
    times = np.sort(rng.uniform(size=(8, 100)), axis=1)
    return xr.Dataset({"y": (dims, rng.normal(size=(8, 100)))}, {"t": (dims, times)})


def test_many_functions_have_fewer_points_where_time_is_short():
    """As few as leave enough steps for the biases of all pairs, and 48 at the least."""
    plan = build(curves(), "translation", inputs="t", outputs="y", key=0)

    def points(seconds, **options):
        found = resized(plan, seconds, key=jr.key(0), **options)
        score, data = found.model.score, found.data
        if not options and num_points(data) > MANY_POINTS[-1]:
            assert pair_operations(score.net, data) * MIN_STEPS <= seconds * FLOPS
        return num_points(data)

    found = [points(seconds) for seconds in (10.0, 300.0, 600.0, 1e5)]
    assert found == sorted(found) and found[0] == MANY_POINTS[-1] and found[-1] == MAX_POINTS
    assert points(10.0, small=True) == MAX_POINTS  # of few functions all points teach
