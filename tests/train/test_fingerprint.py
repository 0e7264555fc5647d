"""What a run is made of: the same in words if, and only if, it is the same."""

import functools
import os
import subprocess
import sys
from pathlib import Path

import jax
import jax.numpy as jnp
import jax.random as jr
import numpy as np
import optax
import pytest

import geomndp
from geomndp import data, train
from geomndp._types import Batch
from geomndp.train.fingerprint import differences, fingerprint

from .helper import TinyGenerator, tiny_score


def functions(value=0.0, dtype=float):
    x = jnp.arange(12, dtype=dtype).reshape(2, 6, 1)
    y = jnp.zeros_like(x).at[1, 2, 0].set(value)
    return Batch(x, y, jnp.ones((2, 6), dtype), jnp.zeros((2, 6), dtype))


def scale(factor):
    return lambda x: factor * x


def steps_of(rate):
    return optax.MultiSteps(optax.sgd(rate), 2).gradient_transformation()


DIFFERENT = {
    "one value of an array": (
        data.ResampledGenerator(functions()),
        data.ResampledGenerator(functions(1e-12)),
        "functions.y",
    ),
    "dtype of an array": (functions(), functions(dtype=jnp.float32), "x"),
    "shape of an array": (jnp.zeros(6), jnp.zeros((2, 3)), "kind"),
    "static field": (TinyGenerator(batch_size=8), TinyGenerator(batch_size=4), "batch_size"),
    "nested field": (
        TinyGenerator(contexts=data.ContextSampler(few=3)),
        TinyGenerator(contexts=data.ContextSampler(few=4)),
        "contexts.few",
    ),
    "class": (data.ContextSampler(), train.ContextNoiseLevels(), "kind"),
    "named function": (jax.nn.silu, jax.nn.gelu, "kind"),
    "lambda": (lambda x: 2 * x, lambda x: 3 * x, "kind"),
    "what a lambda encloses": (scale(2.0), scale(3.0), "factor"),
    "partial": (functools.partial(scale, 2), functools.partial(scale, 3), "args.0"),
    "peak rate": (train.adam(40), train.adam(40, peak=2e-3), "schedules.0.end_value"),
    "clip": (train.adam(40), train.adam(40, clip=2.0), "max_norm"),
    "steps of a schedule": (train.adam(400), train.adam(401), "decay_steps"),
    "optax": (optax.adamw(1e-3), optax.adamw(1e-3, weight_decay=0.1), "weight_decay"),
    "another optax": (optax.adam(1e-3), optax.sgd(1e-3), "scale_by_adam"),
    "jitted": (optax.adam(jax.jit(scale(2.0))), optax.adam(jax.jit(scale(3.0))), "factor"),
    "object": (steps_of(0.1), steps_of(0.2), "step_size"),
    "weights": (tiny_score(jr.key(0)), tiny_score(jr.key(1)), "layers.0.weight"),
    "key": (jr.key(0), jr.key(1), "kind"),
}


@pytest.mark.parametrize("case", DIFFERENT)
def test_what_differs_is_named(case):
    first, second, name = DIFFERENT[case]
    assert fingerprint(first) == fingerprint(first)
    (said,) = differences({"part": fingerprint(first)}, {"part": fingerprint(second)})
    assert said.startswith("part (") and name in said and "there " in said


def test_the_same_made_twice_is_the_same():
    for make in (functions, steps_of.__get__(0.1), lambda: optax.adamw(scale(1.0))):
        assert fingerprint(make()) == fingerprint(make())
    assert fingerprint(np.arange(9.0)) == fingerprint(jnp.arange(9.0))


def test_use_changes_nothing():
    """Optax rewrites the closures of some schedules when they are first called."""
    train.adam.cache_clear()
    optimiser = train.adam(41)
    before = fingerprint(optimiser)
    with jax.numpy_dtype_promotion("standard"):
        optimiser.update(jnp.ones(3), optimiser.init(jnp.ones(3)), jnp.ones(3))
    assert fingerprint(optimiser) == before


def test_what_encloses_itself_ends():
    held = []
    held.append(held)

    def again():
        return again

    assert fingerprint(held) and fingerprint(again)


@pytest.mark.slow
def test_another_process_says_the_same():
    """Order of sets, addresses and the like are no part of it."""
    code = (
        "from tests.train.test_fingerprint import *\n"
        "import hashlib\n"
        "parts = [fingerprint(v) for case in DIFFERENT.values() for v in case[:2]]\n"
        "parts += [fingerprint({'a', 'b', 'c'}), fingerprint(lambda x: x in {'a', 'b', 'c'})]\n"
        "print(hashlib.sha256(repr(parts).encode()).hexdigest())"
    )
    root = Path(__file__).parents[2]
    paths = os.pathsep.join([str(Path(geomndp.__file__).parents[1]), str(root)])
    said = [
        subprocess.run(
            [sys.executable, "-c", code],
            env={**os.environ, "PYTHONHASHSEED": seed, "PYTHONPATH": paths},
            check=True,
            capture_output=True,
            text=True,
        ).stdout
        for seed in ("1", "2")
    ]
    assert said[0] == said[1] != ""
