"""Tables in which outputs are missing apart: plans, training, conditioning."""

import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_allclose

from geomndp import build, fit, load
from geomndp.cli.needed_columns import drop_missing
from geomndp.tables import read_functions

TINY = {"width": 8, "num_layers": 1, "num_heads": 2}
NAMES = {"inputs": "hour", "outputs": ("temp", "hum")}


@pytest.fixture(scope="module")
def stations():
    """Thirty days of two related outputs, of which half and a quarter are missing."""
    rng, (b, n) = np.random.default_rng(0), (30, 10)
    hour = np.tile(np.arange(n) * 2.0, b)
    day = np.repeat(np.arange(b), n)
    temp = 15 + 5 * np.sin(hour / 4 + np.repeat(rng.normal(size=b), n)) + rng.normal(size=b * n)
    hum = 80 - 2 * (temp - 15) + rng.normal(size=b * n)
    frame = pd.DataFrame({"function": day, "hour": hour, "temp": temp, "hum": hum})
    frame.loc[rng.uniform(size=b * n) < 0.5, "hum"] = np.nan
    frame.loc[rng.uniform(size=b * n) < 0.25, "temp"] = np.nan
    return frame


def test_every_output_is_a_group_where_they_are_missing_apart(stations):
    plan = build(stations, symmetry="none", **NAMES, **TINY)
    assert plan.model.score.num_groups == 2
    batch = plan.data.functions
    known = stations[["temp", "hum"]].notna().to_numpy().reshape(30, 10, 2)
    by_day = np.asarray(batch.mask)[np.argsort(plan.order)]
    for there, wanted in zip(by_day, known, strict=True):
        assert_allclose(there[: wanted.any(axis=1).sum()], wanted[wanted.any(axis=1)])
    units = plan.model.normaliser
    assert_allclose(units.y_shift, stations[["temp", "hum"]].mean(), rtol=1e-12)
    assert_allclose(units.y_scale, stations[["temp", "hum"]].std(ddof=0), rtol=1e-12)
    text = " ".join(str(plan).split())
    share = 1 - known.sum(axis=(0, 1)) / known.any(axis=2).sum()
    assert f"{share[0]:.0%} of temp, {share[1]:.0%} of hum" in text


def test_points_that_lack_an_output_may_be_dropped(stations):
    plan = build(stations, **NAMES, drop_missing=True, **TINY)
    complete = build(stations.dropna(), **NAMES, **TINY)
    assert plan.model.score.num_groups == complete.model.score.num_groups == 1
    assert plan.model.normaliser == complete.model.normaliser
    kept = read_functions(stations, **NAMES, drop_missing=True)
    assert kept.mask.sum() == len(stations.dropna())


def test_a_complete_table_knows_no_groups(stations):
    assert build(stations.dropna(), **NAMES, **TINY).model.score.num_groups == 1
    one = build(stations, inputs="hour", outputs="hum", **TINY)
    assert one.model.score.num_groups == 1 and one.data.functions.mask.ndim == 2


@pytest.mark.parametrize("symmetry", ["none", pytest.param("translation", marks=pytest.mark.slow)])
def test_from_a_table_with_gaps_to_a_posterior(stations, symmetry, tmp_path):
    plan = build(stations, symmetry=symmetry, **NAMES, **TINY)
    model, _ = fit(plan, steps=3, key=0, quiet=True)
    model.save(tmp_path / "mine")
    model = load(tmp_path / "mine")
    day = stations[stations.function == 1]
    known = day[["temp", "hum"]].notna().to_numpy()
    observed = model.condition(day).observations
    rows = known.any(axis=1)
    assert_allclose(observed.mask, known[rows])
    few = day.head(5)
    samples = model.condition(day).sample(few, key=0, num_samples=2)
    assert samples.notna().all().all() and len(samples) == 2 * len(few)
    rest = stations[stations.function == 2].head(5)
    nats = model.condition(day).log_prob(rest)
    # The same in arrays, where NaN is an error and a mask says what is missing.
    arrays = [(t[["hour"]].to_numpy(), t[["temp", "hum"]].to_numpy()) for t in (day, rest)]
    masks = [~np.isnan(y) for _, y in arrays]
    posterior = model.condition(*arrays[0], mask=masks[0])
    assert_allclose(posterior.log_prob(*arrays[1], mask=masks[1]), nats, rtol=1e-6)
    with pytest.raises(ValueError, match="expected finite y of the context, got NaN"):
        model.condition(*arrays[0])


def test_a_model_of_whole_rows_refuses_parts_of_them(stations):
    model = build(stations.dropna(), **NAMES, **TINY).model
    day = stations[stations.function == 1]
    with pytest.raises(ValueError, match="all outputs of a row or none, got a part of them in row"):
        model.condition(day)
    dropped = model.condition(drop_missing(day, ("temp", "hum"))).observations
    assert len(dropped.x) == len(day.dropna())
    grid = drop_missing(day.set_index("hour")[["temp", "hum"]].to_xarray(), ("temp", "hum"))
    assert len(model.condition(grid).observations.x) == len(day.dropna())


def test_refusals(stations):
    plane = stations.assign(x=stations.hour, y=1.0)
    with pytest.raises(ValueError, match=r"none for E\(2\), got a part of them at some"):
        names = {"inputs": ("x", "y"), "outputs": ("temp", "hum")}
        build(plane, "E(2)", **names, representations=("scalar", "scalar"))
    with pytest.raises(ValueError, match="expected values of 'hum' somewhere, got none"):
        build(stations.assign(hum=np.nan), **NAMES)
    empty = stations.copy()
    empty.loc[empty.function == 4, ["temp", "hum"]] = np.nan
    with pytest.raises(ValueError, match=r"expected points in every function, got none in .*4"):
        build(empty, **NAMES)
