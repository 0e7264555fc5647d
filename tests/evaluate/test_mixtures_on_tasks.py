"""Mixtures and networks on the tasks of a table, against exact laws of the same functions."""

import warnings

import jax.numpy as jnp
import jax.random as jr
import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_allclose

import geomndp as gn
from geomndp._warnings import ApproximationWarning
from geomndp.data import LocalFrame, LogTransform, Normaliser
from geomndp.evaluate import on_tasks, task_runs
from geomndp.evaluate.padded_tasks import MAX_SHAPES, similar_sizes
from geomndp.evaluate.table_tasks import FunctionRows, TableTask
from geomndp.geometry.geodesy import EARTH_RADIUS_KM, to_unit
from geomndp.noising import LinearSchedule, OrnsteinUhlenbeck
from geomndp.score import GaussianScore

ROUGH = gn.gp.GP(gn.kernels.Matern32(0.5), noise=0.1)
SMOOTH = gn.gp.GP(gn.kernels.SquaredExponential(1.5), noise=0.2)
NAMES = {"inputs": "t", "outputs": "level", "scale": 1.0}
TASKS = [
    {"kind": "few", "function": "0", "context": [0, 3], "target": [1, 2, 4, 5]},
    {"kind": "few", "function": "1", "context": [0, 5], "target": [1, 2, 4]},
    {"kind": "few", "function": "2", "context": [1, 4], "target": [0, 3, 5]},
]
X = np.linspace(0.0, 2.0, 6)


def table(shift=0.0):
    draws = ROUGH.sample(jnp.asarray(X)[:, None], key=jr.key(1), num_samples=3)
    y = np.asarray(draws)[..., 0] + shift
    columns = {"function": np.repeat(["0", "1", "2"], 6), "t": np.tile(X, 3), "level": y.ravel()}
    return pd.DataFrame(columns)


def test_a_mixture_is_that_of_its_posterior():
    members = gn.ProcessModel(ROUGH), gn.ProcessModel(SMOOTH, Normaliser(y_scale=2.0))
    mixture, frame = gn.MixtureProcess(members, np.log([0.3, 0.7])), table()
    found = on_tasks(mixture, frame, TASKS, **NAMES)
    levels = (np.arange(2000) + 0.5) / 2000
    for number, task in list(enumerate(TASKS))[1:]:  # those that are padded
        y = frame.level.to_numpy().reshape(3, 6)[number]
        context, target = task["context"], task["target"]
        law = mixture.condition(X[context], y[context])
        marginals = law.marginals(X[target])
        values, y = {k: v[number] for k, v in found.values.items()}, y[target][:, None]
        joint = float(law.log_prob(X[target], y)) / len(y)
        assert_allclose(values["joint"], joint, rtol=1e-5)
        assert_allclose(values["marginal"], np.mean(marginals.log_prob(jnp.asarray(y))), rtol=1e-5)
        ranks = found.pit[number]
        assert_allclose(
            ranks[np.isfinite(ranks)], np.asarray(marginals.cdf(jnp.asarray(y)))[:, 0], rtol=1e-5
        )
        assert_allclose(
            values["squared_error"], np.mean((np.asarray(marginals.mean()) - y) ** 2), rtol=1e-4
        )
        q = np.asarray(marginals.quantile(levels))[..., 0]
        d, a = y[None, :, 0] - q, levels[:, None]
        assert_allclose(values["crps"], 2 * np.mean(np.maximum(a * d, (a - 1) * d)), rtol=5e-3)


@pytest.mark.slow
def test_a_network_that_is_exact_gives_the_numbers_of_its_process(tmp_path, monkeypatch):
    """In a mixture with the process itself, which is then either; blocks of two tasks are kept."""
    monkeypatch.setattr(task_runs, "BLOCK", 2)
    noising = OrnsteinUhlenbeck(gn.kernels.White(), LinearSchedule(0.0, 10.0))
    network = gn.Model(noising, GaussianScore(ROUGH), t_min=1e-4)
    exact = on_tasks(gn.ProcessModel(ROUGH), table(), TASKS, **NAMES)
    mixture = gn.MixtureProcess((network, gn.ProcessModel(ROUGH)))
    options = {"num_samples": 400, "exact": True, "directory": tmp_path}
    found = on_tasks(mixture, table(), TASKS, **NAMES, **options)
    assert_allclose(found.values["joint"], exact.values["joint"], atol=1e-3)
    assert_allclose(found.values["marginal"], exact.values["marginal"], atol=1e-3)
    assert_allclose(found.values["crps"], exact.values["crps"], atol=0.03)
    assert_allclose(found.pit, exact.pit, atol=0.05)
    blocks = sorted(path.parent.name for path in tmp_path.rglob("*.npz"))
    assert blocks == ["tasks-00000", "tasks-00002"]  # of the network; exact members are not kept


def test_impossible_context_values_count_as_missing():
    frame, possible = table(shift=3.0), table(shift=3.0)
    frame.loc[3, "level"], possible.loc[3, "level"] = -0.2, np.nan
    plain = gn.ProcessModel(ROUGH, Normaliser(y_shift=3.0))
    logarithm = gn.ProcessModel(ROUGH, Normaliser(transform=(LogTransform(),)))
    with pytest.warns(ApproximationWarning, match="missing in the context of 1 tasks"):
        alone = on_tasks(logarithm, frame, TASKS, **NAMES)
    expected = on_tasks(logarithm, possible, TASKS, **NAMES)
    assert np.all(np.isfinite(alone.values["joint"]))
    assert_allclose(alone.values["joint"], expected.values["joint"], rtol=1e-9)
    with warnings.catch_warnings():
        warnings.simplefilter("error", ApproximationWarning)
        mixed = on_tasks(gn.MixtureProcess((plain, logarithm)), frame, TASKS, **NAMES)
    only = on_tasks(plain, frame, TASKS, **NAMES)
    assert_allclose(mixed.values["joint"][0], only.values["joint"][0], rtol=1e-9)
    assert mixed.values["joint"][1] != only.values["joint"][1]


def test_few_shapes_for_tasks_of_all_sizes():
    rng = np.random.default_rng(0)

    def rows(n):
        return FunctionRows(np.zeros((n, 1)), np.zeros((n, 1)))

    sizes = rng.integers(1, 300, (60, 2))
    tasks = [TableTask("k", str(n), rows(a), rows(b)) for n, (a, b) in enumerate(sizes)]
    tasks.append(TableTask("k", "free", rows(0), rows(5)))
    groups = similar_sizes(tasks)
    assert len(groups) <= MAX_SHAPES + 1
    assert sorted(np.concatenate(groups)) == list(range(61))
    assert any(list(group) == [60] for group in groups)  # no context: a program of its own


def flat_law(length):
    """A law of (east, north) in km by hours and latitude."""
    kernel = gn.kernels.Coregionalised(gn.kernels.Matern32(length), ((1.0, 0.3), (0.3, 2.0)))
    units = Normaliser((2.0, 0.0), (6.0, 20.0), (10.0, 0.0), 1500.0)
    return gn.ProcessModel(gn.gp.GP(kernel, noise=(0.05, 0.05)), units)


@pytest.mark.slow
def test_tracks_of_a_mixture_in_local_maps():
    """Members are measured apart and weighed in the map: the density is that of the whole law."""
    mixture = gn.MixtureProcess((flat_law(4.0), flat_law(1.0)), np.log([0.4, 0.6]))
    track = {"hours": [0.0, 6, 12, 18, 24], "lat": [-10.0, -11, -13, -16, -17]}
    track["lon"] = [178.0, 179, -179, -178, -176]
    units = {"lat": "degrees_north", "lon": "degrees_east"}
    model = gn.ChartModel(mixture, LocalFrame()).with_variables("hours", ("lat", "lon"), units)
    task = {"kind": "k", "function": "storm", "context": [0, 1], "target": [2, 3, 4]}
    found = on_tasks(model, pd.DataFrame({"function": "storm", **track}), [task])
    x, y = np.asarray(track["hours"])[:, None], to_unit(track["lat"], track["lon"])
    law, area = model.condition(x[:2], y[:2]), 2 * np.log(EARTH_RADIUS_KM)
    joint = float(law.log_prob(x[2:], y[2:])) / 3 - area
    single = [float(law.log_prob(x[k : k + 1], y[k : k + 1])) - area for k in (2, 3, 4)]
    assert_allclose(found.values["joint"], joint, rtol=1e-6)
    assert_allclose(found.values["marginal"], np.mean(single), rtol=1e-6)
    assert 100 < found.values["energy_km"][0] < 5000
