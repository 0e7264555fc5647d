"""A Gaussian process on the tasks of a table: every number against the dense formulas."""

import json
import os
from pathlib import Path

import equinox as eqx
import jax
import jax.numpy as jnp
import jax.random as jr
import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_allclose
from scipy.stats import multivariate_normal, norm

import geomndp as gn
from geomndp.evaluate import compare, on_tasks, random_tasks
from geomndp.evaluate.table_tasks import read_function_rows
from geomndp.predictive import AbstractPredictive, AbstractProcess
from geomndp.tables import name_variables

GP = gn.gp.GP(gn.kernels.Matern32(0.5), noise=0.1)
NAMES = {"inputs": "t", "outputs": "level"}
DATA = os.environ.get("GEOMNDP_DATA")


class Sampled(AbstractPredictive):
    """A law that is known by its samples alone."""

    law: AbstractPredictive

    def sample(self, x, *, key, num_samples):
        return self.law.sample(x, key=key, num_samples=num_samples)

    def log_prob_info(self, x, y, *, key=None, mask=None):
        return self.law.log_prob_info(x, y, key=key, mask=mask)


class SampledProcess(AbstractProcess):
    process: AbstractProcess

    def condition(self, x, y, noise=0.0, mask=None):
        return Sampled(self.process.condition(x, y, noise, mask))


@pytest.fixture(scope="module")
def table():
    """Functions of 6 to 9 points; one value of the first is missing."""
    frames = []
    for number, n in enumerate((6, 7, 9)):
        x = jnp.linspace(0.0, 2.0, n)[:, None]
        y = jax.jit(GP.sample)(x, key=jr.key(number))
        frames.append(pd.DataFrame({"function": f"f{number}", "t": x[:, 0], "level": y[:, 0]}))
    frame = pd.concat(frames, ignore_index=True)
    frame.loc[4, "level"] = np.nan
    return frame


TASKS = [
    {"kind": "few", "function": "f0", "context": [0, 3], "target": [1, 2, 4, 5]},
    {"kind": "few", "function": "f1", "context": [0, 3, 5], "target": [1, 2, 4]},
    {"kind": "none", "function": "f2", "context": [], "target": [0, 8]},
    {"kind": "few", "function": "f1", "context": [6, 2], "target": [0, 1]},
]


def by_hand(table, task):
    """Nats and moments of the targets by dense matrices."""
    rows = table[table.function == task["function"]].reset_index(drop=True)
    target = [row for row in task["target"] if np.isfinite(rows.level[row])]
    points = [*task["context"], *target]
    x, y, c = rows.t.to_numpy()[points, None], rows.level.to_numpy()[points], len(task["context"])
    k = np.asarray(jax.jit(lambda x: GP.kernel.gram(x).dense())(x)) + 0.1 * np.eye(len(points))
    gain = np.linalg.solve(k[:c, :c], k[:c, c:])
    mean, cov = gain.T @ y[:c], k[c:, c:] - k[c:, :c] @ gain
    return y[c:], mean, cov


def test_every_metric_of_a_gaussian_process_by_hand(table):
    found = on_tasks(GP, table, TASKS, **NAMES, scale=2.0)
    assert found.kinds() == ("few", "none") and found.function == ("f0", "f1", "f2", "f1")
    for number, task in enumerate(TASKS):
        y, mean, cov = by_hand(table, task)
        std, values = np.sqrt(np.diag(cov)), {k: v[number] for k, v in found.values.items()}
        joint = multivariate_normal.logpdf(y, mean, cov) / len(y)
        assert_allclose(values["joint"], joint, rtol=1e-6)
        assert_allclose(values["marginal"], np.mean(norm.logpdf(y, mean, std)), rtol=1e-6)
        assert_allclose(values["squared_error"], np.mean((y - mean) ** 2) / 4, rtol=1e-6)
        assert_allclose(values["coverage"], np.mean(np.abs(y - mean) < 1.6448536 * std))
        levels = (np.arange(4000) + 0.5) / 4000
        q = mean + std * np.asarray(norm.ppf(levels))[:, None]
        loss = np.maximum(levels[:, None] * (y - q), (levels[:, None] - 1) * (y - q))
        assert_allclose(values["crps"], np.mean(2 * loss) / 2.0, rtol=1e-3)
        pit = found.pit[number][np.isfinite(found.pit[number])]
        assert_allclose(pit, norm.cdf((y - mean) / std), rtol=1e-6)


def test_samples_agree_with_closed_forms(table):
    exact = on_tasks(GP, table, TASKS[:2], **NAMES, scale=1.0)
    sampled = on_tasks(SampledProcess(GP), table, TASKS[:2], **NAMES, scale=1.0, num_samples=4000)
    for name in ("joint", "marginal"):
        assert_allclose(exact.values[name], sampled.values[name], rtol=1e-6)
    assert_allclose(exact.values["crps"], sampled.values["crps"], atol=0.03)
    assert_allclose(exact.pit, sampled.pit, atol=0.05)


def test_resumes_and_refuses_the_blocks_of_another_process(table, tmp_path):
    first = on_tasks(GP, table, TASKS[:1], **NAMES, directory=tmp_path)
    blocks = sorted(tmp_path.rglob("*.npz"))
    before = [path.stat().st_mtime_ns for path in blocks]
    again = on_tasks(GP, table, TASKS[:1], **NAMES, directory=tmp_path)
    assert blocks and before == [path.stat().st_mtime_ns for path in blocks]
    assert_allclose(first.values["joint"], again.values["joint"], rtol=0)
    other = gn.gp.GP(gn.kernels.Matern32(0.4), noise=0.1)
    with pytest.raises(ValueError, match="got those of others"):
        on_tasks(other, table, TASKS[:1], **NAMES, directory=tmp_path)


def test_the_scale_is_that_of_functions_without_tasks(table):
    free = table[table.function != "f0"].level.std(ddof=0)
    found = on_tasks(GP, table, TASKS[:1], **NAMES)
    given = on_tasks(GP, table, TASKS[:1], **NAMES, scale=free)
    assert_allclose(found.values["crps"], given.values["crps"], rtol=1e-12)


@pytest.mark.parametrize("value", [0.0, 3.0, 0.1])
def test_an_output_that_is_constant_elsewhere_is_scored_in_its_own_units(table, value):
    """Also where the mean of the constant is rounded, so that it has a deviation."""
    constant = table.assign(level=np.where(table.function == "f0", table.level, value)).iloc[:-1]
    assert (constant[constant.function != "f0"].level.to_numpy().std() > 0) == (value == 0.1)
    found = on_tasks(GP, constant, TASKS[:1], **NAMES)
    given = on_tasks(GP, constant, TASKS[:1], **NAMES, scale=1.0)
    assert_allclose(found.values["crps"], given.values["crps"], rtol=1e-12)


def test_the_right_law_wins_and_is_calibrated():
    """60 functions of the process itself: coverage within its error, ahead of a wrong one."""
    x = jnp.linspace(0.0, 2.0, 8)[:, None]
    y = np.asarray(GP.sample(x, key=jr.key(3), num_samples=60))
    frame = pd.DataFrame(
        {"function": np.repeat(np.arange(60), 8), "t": np.tile(x[:, 0], 60), "level": y.ravel()}
    )
    functions = read_function_rows(frame, name_variables("t", "level", "real"), "function")
    tasks = random_tasks(functions, contexts=(2,), forecast=True, seed=1)
    right = on_tasks(GP, frame, tasks, **NAMES)
    wrong = on_tasks(gn.gp.GP(gn.kernels.White(1.1)), frame, tasks, **NAMES)
    rows = compare({"right": right, "wrong": wrong})
    assert list(rows.process) == ["right", "wrong", "right", "wrong"]
    behind = rows[rows.process == "wrong"]
    assert np.all(behind.joint_gain > 2 * behind.joint_gain_se)
    for kind in right.summary().values():
        mean, error = kind["coverage"]
        assert abs(mean - 0.9) < 3 * error


class MonthMean(eqx.Module):
    """A mean by month, on the circle."""

    x: jnp.ndarray
    y: jnp.ndarray

    def __call__(self, x):
        away = jnp.sum((x[:, None] - self.x[None]) ** 2, axis=-1)
        return self.y[jnp.argmin(away, axis=1)][:, None]


@pytest.mark.slow  # the same numbers are made by hand above
@pytest.mark.skipif(DATA is None, reason="needs the functional data sets: set GEOMNDP_DATA")
def test_the_published_numbers_of_a_gaussian_law():
    """The law of `results.json` gives its numbers: all metrics, all kinds, and standard errors."""
    folder = Path(str(DATA)) / "functions" / "elnino"
    if not folder.exists():
        pytest.skip(f"no functional data sets in {DATA}")
    frame = pd.read_csv(folder / "data.csv", dtype={"function": str})
    train = json.loads((folder / "split.json").read_text())["train"]
    wanted = json.loads((folder / "results.json").read_text())["models"]["gp"]
    known = frame[frame.function.isin(train)]
    scale, radius = known.sst_C.std(ddof=0), 12 / (2 * np.pi)
    circle = {
        "c": radius * np.cos(frame.month / radius),
        "s": radius * np.sin(frame.month / radius),
    }
    means = known.assign(**circle).groupby("month")[["c", "s", "sst_C"]].mean().to_numpy()
    theta, kernels = np.array(wanted["theta"]), gn.kernels
    lengths, variances = np.exp(theta[:2]), np.exp(2 * theta[2:5]) * scale**2
    kernel = (
        kernels.SquaredExponential(lengths[0], variances[0])
        + kernels.Matern32(lengths[1], variances[1])
        + kernels.SquaredExponential(1e5, variances[2])
    )
    noise = (np.exp(2 * theta[5]) + 1e-6) * scale**2
    gp = gn.gp.GP(kernel, MonthMean(jnp.asarray(means[:, :2]), jnp.asarray(means[:, 2])), noise)
    found = on_tasks(
        gp,
        frame.assign(**circle),
        folder / "tasks.json",
        inputs=("c", "s"),
        outputs="sst_C",
        scale=scale,
    ).summary()
    for kind, numbers in wanted["kinds"].items():
        assert found[kind]["tasks"] == numbers["tasks"]
        names = {"joint": "logp_joint", "marginal": "logp_marginal", "crps": "crps_sd"}
        names |= {"coverage": "cover90", "rmse": "rmse_sd"}
        for ours, theirs in names.items():
            assert_allclose(found[kind][ours][0], numbers[theirs], rtol=1e-6)
        assert_allclose(found[kind]["joint"][1], numbers["logp_joint_se"], rtol=1e-6)


def test_a_mean_over_padded_tasks_is_that_of_single_tasks(table):
    """Tasks of one bucket are padded to the largest; each alone is not."""
    together = on_tasks(GP, table, TASKS, **NAMES, scale=1.0)
    for number in (0, 3):
        alone = on_tasks(GP, table, TASKS[number : number + 1], **NAMES, scale=1.0)
        for name, values in alone.values.items():
            assert_allclose(values[0], together.values[name][number], rtol=1e-6)


def test_inputs_far_from_zero_keep_their_digits(table):
    """Also in 32 bits, whose numbers near 1e6 are 0.06 apart."""
    with jax.enable_x64(False):
        near, far = (
            on_tasks(GP, table.assign(t=table.t + shift), TASKS, **NAMES, scale=1.0).values
            for shift in (0.0, 1e6)
        )
    for name, values in near.items():
        assert_allclose(far[name], values, rtol=1e-4, atol=1e-5)


@pytest.mark.slow
def test_values_far_from_zero_have_the_metrics_of_those_near_it(table):
    """Also in 32 bits: the metrics are about differences."""

    def metrics(shift):
        units = gn.data.Normaliser(y_shift=shift)
        member = gn.ProcessModel(GP, units).with_variables("t", "level")
        moved = table.assign(level=table.level + shift)
        noising = gn.noising.OrnsteinUhlenbeck(
            gn.kernels.White(), gn.noising.LinearSchedule(0.0, 10.0)
        )
        flow = gn.Model(noising, gn.score.GaussianScore(GP), normaliser=units)
        laws = (member, TASKS), (gn.MixtureProcess((member, member)), TASKS[:2])
        laws += ((flow.with_variables("t", "level"), TASKS[1:2]),)
        return [on_tasks(law, moved, tasks, scale=1.0, exact=True).values for law, tasks in laws]

    with jax.enable_x64(False):
        (*far, far_flow), (*near, near_flow) = metrics(1e8), metrics(0.0)
    for found, expected in zip(far, near, strict=True):
        for name, values in expected.items():
            assert_allclose(found[name], values, rtol=1e-4, atol=1e-5)
    for name in ("joint", "marginal"):  # the flow draws other numbers in 64 bits
        assert_allclose(far_flow[name], near_flow[name], atol=0.1)
