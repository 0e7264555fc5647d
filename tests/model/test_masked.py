"""Masked arrays of NumPy and masks: what is not known never counts; columns and seeds in short."""

import importlib

import jax.numpy as jnp
import jax.random as jr
import numpy as np
import pytest
from numpy.testing import assert_allclose

from geomndp import _validation, fit, summaries
from geomndp._types import Batch
from geomndp.data import Normaliser
from geomndp.samplers import Amortised
from geomndp.train import History

GARBAGE = 1e20  # what NumPy's readers leave in masked entries
UNITS = Normaliser(x_shift=1.0, x_scale=2.0, y_shift=-1.0, y_scale=3.0)


def masked(values, *rows):
    values = np.array(values)
    values[list(rows)] = GARBAGE
    return np.ma.masked_where(values == GARBAGE, values)


@pytest.mark.parametrize("where", ["x", "y", "noise"])
def test_masked_observations_are_left_out(exact, function, where):
    x, y = map(np.asarray, function)
    given = {"x": x, "y": y, "noise": np.full(len(x), 0.1)}
    kept = {name: np.delete(values, [1, 4], axis=0) for name, values in given.items()}
    given[where] = masked(given[where], 1, 4)
    seen, expected = (exact.condition(**part).observations for part in (given, kept))
    for name in ("x", "y", "noise"):
        assert_allclose(getattr(seen, name), getattr(expected, name), rtol=0)


def test_masked_rows_of_several_arrays_add_up(exact, function):
    x, y = map(np.asarray, function)
    seen = exact.condition(
        masked(x, 0), masked(y, 5), noise=masked(np.full(6, 0.1), 2)
    ).observations
    assert_allclose(seen.x, x[[1, 3, 4]])
    listed = exact.condition(x, masked(y, 0), noise=[0.1, 0.2, 0.3, 0.4, 0.5, 0.6])
    assert_allclose(listed.observations.noise, [0.2, 0.3, 0.4, 0.5, 0.6])
    everything = exact.condition(np.ma.masked_all((6, 1)), y)
    assert len(everything.observations.x) == 0


@pytest.mark.parametrize("units", [None, UNITS], ids=["plain", "scaled"])
@pytest.mark.parametrize("where", ["x", "y", "both", "mask"])
def test_masked_targets_do_not_count(exact, function, where, units):
    x, y = map(np.asarray, function)
    model = type(exact)(exact.noising, exact.score, normaliser=units)
    posterior = model.condition(x[:1], y[:1])
    mask = np.array([True, True, False, True, True, True])
    there = [0, 1, 3, 5] if where != "both" else [0, 1, 3]
    given = {"x": (masked(x, 4), y), "y": (x, masked(y, 4)), "both": (masked(x, 4), masked(y, 5))}
    mask = masked(mask.astype(float), 4) if where == "mask" else mask
    found = posterior.log_prob_info(*given.get(where, (x, y)), mask=mask).value
    assert_allclose(found, posterior.log_prob(x[there], y[there]), rtol=1e-9)


def test_nothing_is_sampled_at_a_masked_input(exact, function):
    x, _ = map(np.asarray, function)
    with pytest.raises(
        ValueError, match="expected x without masked entries, got them in rows 1, 3"
    ):
        exact.sample(masked(x, 1, 3), key=0)
    with pytest.raises(ValueError, match="expected noise without masked entries, got them"):
        exact.condition(x, x, noise=np.ma.masked)
    unmasked = np.ma.masked_array(x)  # nothing is masked in it
    same = exact.sample(x, key=0, num_samples=2)
    assert_allclose(exact.sample(unmasked, key=0, num_samples=2), same, rtol=0)


def test_other_layers_refuse_masked_entries(function):
    x, y = map(np.asarray, function)
    with pytest.raises(ValueError, match="expected y without masked entries, got them in rows 2"):
        _validation.shapes(x, masked(y, 2), dim=1)
    with pytest.raises(ValueError, match="expected samples without masked entries"):
        summaries.mean(masked(np.zeros((4, 3)), 2))


@pytest.mark.parametrize(
    "kind", [bool, int, np.float32, jnp.asarray], ids=["bool", "int", "float32", "jax"]
)
def test_masks_of_zeros_and_ones_of_any_type(exact, function, kind):
    x, y = function
    ones = [1, 1, 0, 1, 1, 0]
    mask = kind(ones) if kind is jnp.asarray else np.asarray(ones, kind)
    keep = np.flatnonzero(ones)
    assert_allclose(exact.log_prob(x, y, mask=mask), exact.log_prob(x[keep], y[keep]), rtol=1e-9)


@pytest.mark.parametrize("wrong", [2.0, 0.5, -1.0, np.nan])
def test_other_masks_are_refused(exact, function, wrong):
    """Inside, other numbers tell functions apart that share a row."""
    x, y = function
    mask = np.array([1, 1, wrong, 1, 0, 0])
    with pytest.raises(ValueError, match=f"expected mask of 0 and 1, got {wrong}"):
        exact.log_prob(x, y, mask=mask)
    with pytest.raises(ValueError, match="expected mask of 0 and 1, got <U1"):
        exact.log_prob(x, y, mask=["a"] * 6)


def trained_on(monkeypatch, learnt, batch):
    """Functions that training would see."""
    seen = []

    def train(score, noising, data, **_):
        seen.append(data.functions)
        return score, History(*[np.zeros(1)] * len(History._fields))

    monkeypatch.setattr(importlib.import_module("geomndp.auto.fit"), "fit_score", train)
    fit(learnt, batch, steps=1, key=3)
    return seen[0]


def test_training_batches_honour_masks(learnt, monkeypatch):
    x = np.random.default_rng(0).normal(size=(2, 4, 1))
    ones, zeros = np.full((2, 4), True), np.zeros((2, 4))
    gone = np.ma.masked_array(x, mask=np.zeros_like(x, bool))
    gone[1, 2] = np.ma.masked
    functions = trained_on(monkeypatch, learnt, Batch(x, gone, ones, zeros))
    assert functions.mask.tolist() == [[1, 1, 1, 1], [1, 1, 0, 1]]
    for name in ("mask", "context"):
        with pytest.raises(ValueError, match=f"expected {name} of 0 and 1, got 2.0"):
            trained_on(monkeypatch, learnt, Batch(x, x, ones, zeros)._replace(**{name: zeros + 2}))


def test_vectors_and_seeds_will_do_in_one_dimension(exact, function):
    x, y = function
    plain = exact.condition(x[:3], y[:3]).sample(x, key=jr.key(7), num_samples=2)
    for kind in (np.asarray, jnp.asarray, list):
        flat = exact.condition(kind(x[:3, 0]), kind(y[:3, 0]))
        assert_allclose(flat.sample(kind(x[:, 0]), key=7, num_samples=2), plain, atol=1e-12)
    probed = exact.log_prob(x, y, key=jr.key(1))
    assert_allclose(exact.log_prob(x[:, 0], y[:, 0], key=np.int64(1)), probed)
    with pytest.raises(ValueError, match="or a seed, got True"):
        exact.sample(x, key=True)
    with pytest.raises(ValueError, match="got 4294967296"):
        exact.sample(x, key=2**32)


def test_repeated_rows_count_as_often_as_they_come(exact, gp, function):
    """In the context and among the targets, as in the process itself."""
    x, y = function
    context = jnp.repeat(x[2:4], 2, axis=0), jnp.repeat(y[2:4], 2, axis=0)
    targets = x[jnp.array([5, 5, 4])], y[jnp.array([5, 5, 4])]
    found = exact.condition(*context, noise=0.2).log_prob(*targets)
    assert_allclose(found, gp.condition(*context, noise=0.2).log_prob(*targets), atol=0.05)
    once = exact.condition(x[2:4], y[2:4], noise=0.2).log_prob(*targets)
    assert abs(float(found - once)) > 0.2


def test_padded_targets_do_not_change_samples(learnt, function):
    """Real targets have the samples that they have without padding."""
    x, y = function
    posterior = learnt.condition(x[:2], y[:2])
    padded = jnp.concatenate([x[2:4], jnp.full((3, 1), 0.9)])
    mask = jnp.asarray([1.0, 1.0, 0.0, 0.0, 0.0])
    options = {"key": 0, "num_samples": 3, "sampler": Amortised(4)}
    found = posterior.sample(padded, mask=mask, **options)[:, :2]
    assert_allclose(found, posterior.sample(x[2:4], **options), rtol=1e-6)
