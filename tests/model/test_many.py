"""Many tasks at once: the numbers of one after the other, whatever batches, order and scheduler."""

import jax.random as jr
import numpy as np
import pandas as pd
import pytest
import xarray as xr
from numpy.testing import assert_allclose, assert_array_equal

from geomndp import Model, ProcessModel
from geomndp.data import Normaliser
from geomndp.gp import GP
from geomndp.kernels import SquaredExponential, White
from geomndp.model import many_batches
from geomndp.noising import LinearSchedule, OrnsteinUhlenbeck
from geomndp.samplers import Amortised
from geomndp.score import GaussianScore

GAUSSIAN = GP(SquaredExponential(0.5), noise=0.01)
UNITS = Normaliser(x_shift=(1.0,), x_scale=(2.0,), y_shift=(3.0,), y_scale=(0.5,))
SIZES = ((3, 2), (2, 2), (0, 2), (3, 2))  # observations and targets


@pytest.fixture(scope="module")
def process():
    return ProcessModel(GAUSSIAN, normaliser=UNITS)


@pytest.fixture(scope="module")
def learnt():
    noising = OrnsteinUhlenbeck(White(), LinearSchedule(0.0, 10.0))
    return Model(noising, GaussianScore(GAUSSIAN), normaliser=UNITS)


@pytest.fixture(scope="module")
def tasks():
    rng = np.random.default_rng(0)
    return [
        (rng.normal(size=(m, 1)), 3 + rng.normal(size=(m, 1)), rng.normal(size=(n, 1)))
        for m, n in SIZES
    ]


def one_by_one(model, tasks, **options):
    keys = [jr.fold_in(jr.key(5), number) for number in range(len(tasks))]
    return [
        model.condition(x, y).sample(targets, key=key, **options)
        for (x, y, targets), key in zip(tasks, keys, strict=True)
    ]


def all_samples(many, **options):
    return [samples for _, samples in many.sample(key=jr.key(5), **options)]


def test_a_process_answers_as_in_a_loop(process, tasks):
    expected = one_by_one(process, tasks, num_samples=3)
    for options in ({}, {"batch_size": 1, "chunk_size": 3}, {"scheduler": "threads"}):
        samples = all_samples(process.condition_many(tasks), num_samples=3, **options)
        for some, others in zip(samples, expected, strict=True):
            assert some.shape == others.shape
            assert_allclose(some, others, rtol=1e-9)


def test_a_learnt_model_answers_as_in_a_loop(learnt, tasks):
    options = {"num_samples": 2, "sampler": Amortised(2)}
    expected = one_by_one(learnt, tasks[:2], **options)
    for sizes in ({}, {"batch_size": 1}):
        samples = all_samples(learnt.condition_many(tasks[:2]), **options, **sizes)
        for some, others in zip(samples, expected, strict=True):
            assert_allclose(some, others, rtol=1e-8)


def test_numbers_of_points_that_all_tasks_share_are_not_padded(learnt, monkeypatch):
    rng = np.random.default_rng(0)
    tasks = [tuple(rng.normal(size=(k, 1)) for k in (5, 5, 7)) for _ in range(2)]
    laws = [(learnt.condition(x, y), targets) for x, y, targets in tasks]
    draws = {
        i: many_batches.batchable_draw(*law, jr.key(0), 1, Amortised(2))
        for i, law in enumerate(laws)
    }
    for few, expected in ((3, 6 + 8), (2, 5 + 7)):
        monkeypatch.setattr(many_batches, "FEW", few)
        padded = many_batches.with_few_shapes(draws)
        assert {draw.points for draw in padded.values()} == {expected}
    options = {"num_samples": 1, "sampler": Amortised(2)}
    samples = all_samples(learnt.condition_many(tasks), **options)
    for some, others in zip(samples, one_by_one(learnt, tasks, **options), strict=True):
        assert_allclose(some, others, rtol=1e-8)


def test_tables_with_a_task_column_lists_and_datasets_agree(process, tasks):
    named = process.with_variables("x", "y")
    numbers = (0, 1, 3)
    listed = {f"n{i}": tasks[i] for i in numbers}
    frames = [pd.DataFrame({"x": tasks[i][0][:, 0], "y": tasks[i][1][:, 0]}) for i in numbers]
    ends = [pd.DataFrame({"x": tasks[i][2][:, 0]}) for i in numbers]
    table, targets = (
        pd.concat([f.assign(station=name) for f, name in zip(some, listed, strict=True)])
        for some in (frames, ends)
    )
    order = np.random.default_rng(1).permutation(len(targets))
    many = named.condition_many(table, targets.iloc[np.sort(order)], task="station")
    found = dict(many.sample(key=5, num_samples=2))
    for name, samples in named.condition_many(listed).sample(key=5, num_samples=2):
        own = found[name]
        assert_array_equal(own["y"].to_numpy().reshape(samples.shape), samples)
        assert sorted(own["x"].unique()) == sorted(np.unique(listed[name][2]))
    wide = xr.Dataset({"y": (("task", "x"), np.ones((2, 3)))}, coords={"x": [0.0, 0.5, 1.0]})
    at = np.asarray([0.2, 0.3])
    lazy = named.condition_many(wide.chunk(task=1), at)
    plain = named.condition_many([(wide.isel(task=i), at) for i in range(2)])
    for (_, some), (_, others) in zip(
        *(m.sample(key=5, num_samples=2) for m in (lazy, plain)), strict=True
    ):
        assert_array_equal(some, others)


def test_moments_are_those_of_the_samples(process, tasks):
    many = process.condition_many(tasks[:1])
    ((_, samples),) = many.sample(key=5, num_samples=8)
    ((name, mean, std),) = many.mean_and_std(key=5, num_samples=8)
    assert name == 0 and len(many) == 1
    assert_allclose(mean, samples.mean(axis=0))
    assert_allclose(std, samples.std(axis=0, ddof=1))


def test_finished_chunks_are_kept_and_others_refused(process, tasks, tmp_path, monkeypatch):
    many, options = process.condition_many(tasks[:3]), {"key": 5, "num_samples": 2, "chunk_size": 1}
    expected = [samples for _, samples in many.sample(**options)]
    run = many.sample(**options, directory=tmp_path)
    next(run)
    run.close()  # a stop after the first task
    assert len(list(tmp_path.glob("chunk-*.npz"))) == 1
    computed = []
    original = many_batches.run_batches
    monkeypatch.setattr(
        "geomndp.model.many_chunks.run_batches",
        lambda draws, *rest: computed.append(len(draws)) or original(draws, *rest),
    )
    resumed = [samples for _, samples in many.sample(**options, directory=tmp_path)]
    assert computed == [1, 1]
    for some, others in zip(resumed, expected, strict=True):
        assert_array_equal(some, others)
    with pytest.raises(ValueError, match="num_samples: there 2, here 3"):
        next(many.sample(**{**options, "num_samples": 3}, directory=tmp_path))
    moved = process.condition_many([(x + 1, y, t) for x, y, t in tasks[:3]])
    with pytest.raises(ValueError, match=r"tasks of .*chunk-000000\.npz as they were"):
        next(moved.sample(**options, directory=tmp_path))
    (tmp_path / "chunk-000001.npz").write_bytes(b"PK broken")
    with pytest.raises(ValueError, match="damaged"):
        list(many.sample(**options, directory=tmp_path))


def test_errors_name_the_task(process, tasks):
    x, y, targets = tasks[0]
    bad = {"good": tasks[0], "bad": (x, y * np.nan, targets)}
    with pytest.raises(ValueError, match=r"^task 'bad': expected finite"):
        list(process.condition_many(bad).sample(key=0, num_samples=1))
    with pytest.raises(ValueError, match=r"^task 1: expected \(observations, targets\) or"):
        list(process.condition_many([tasks[0], (x,)]).sample(key=0, num_samples=1))
    named = process.with_variables("x", "y")
    table = pd.DataFrame({"x": [0.0, 1.0], "y": [0.0, 1.0], "task": ["a", "b"]})
    with pytest.raises(ValueError, match="targets of every task, got none of task 'b'"):
        named.condition_many(table, table[:1])
    with pytest.raises(ValueError, match="column 'storm' of the observations"):
        named.condition_many(table, table, task="storm")
    with pytest.raises(ValueError, match="a task in every row of the observations, got none in"):
        named.condition_many(table.assign(task=["a", None]), table)
    with pytest.raises(ValueError, match="targets beside a table"):
        named.condition_many(table)
    with pytest.raises(ValueError, match="expected a list of tasks"):
        named.condition_many(3)
    for name, options in {"batch_size": {"key": 0, "batch_size": 0}}.items():
        with pytest.raises(ValueError, match=name):
            next(process.condition_many(tasks).sample(**options))
    with pytest.raises(ValueError, match="scheduler None, 'threads'"):
        next(process.condition_many(tasks).sample(key=0, scheduler="slurm"))
    with pytest.raises(ValueError, match=r"^task 0: expected no sampler for the law of a"):
        next(process.condition_many(tasks).sample(key=0, sampler=Amortised(2)))


def test_laws_without_batches_are_asked_one_after_the_other(process, tasks):
    from geomndp import MixtureProcess

    mixture = MixtureProcess((process,))
    (expected,) = one_by_one(mixture, tasks[:1], num_samples=2)
    many = mixture.condition_many(tasks[:1])
    with pytest.warns(UserWarning, match="MixturePosterior are asked one after the other"):
        ((_, samples),) = many.sample(key=jr.key(5), num_samples=2)
    assert_array_equal(samples, expected)
