"""Posterior samples against the targets that they should foretell, task by task."""

from __future__ import annotations

import equinox as eqx
import jax
import jax.numpy as jnp
import jax.random as jr

from geomndp._types import Array
from geomndp.evaluate.ensemble import crps, pit
from geomndp.evaluate.log_likelihood import split
from geomndp.evaluate.resumable import AbstractMeasurement
from geomndp.samplers import AbstractSampler, Amortised, Problem


class SampleScores(AbstractMeasurement):
    """PIT of every target and mean CRPS of every task, from a model's posterior samples."""

    contexts: int = eqx.field(static=True)
    num_samples: int = eqx.field(default=128, static=True)
    sampler: AbstractSampler = Amortised()
    batch_size: int = eqx.field(default=16, static=True)

    def __call__(self, model, items):
        """Items are tasks and one key a task."""

        def draw(observed, x, key):
            problem = Problem(model.noising, model.score, x, observed, model.t_min)
            self.sampler.check(problem)
            return self.sampler.draw(problem, key=key, num_samples=self.num_samples).y

        return scores(draw, items, self.contexts, self.batch_size)


class ExactSampleScores(AbstractMeasurement):
    """The same of a Gaussian process's own posterior samples: the `model` is the process."""

    contexts: int = eqx.field(static=True)
    num_samples: int = eqx.field(default=128, static=True)

    def __call__(self, model, items):
        """Items are tasks and one key a task."""

        def draw(observed, x, key):
            posterior = model.condition(observed.x, observed.y, mask=observed.mask)
            return posterior.sample(x, key=key, num_samples=self.num_samples)

        return scores(draw, items, self.contexts, len(items[1]))


def scores(draw, items, contexts: int, batch_size: int) -> dict[str, Array]:
    """Scores of the samples that `draw(observations, x, key)` gives for every task."""

    def one(item):
        task, key = item
        sample_key, rank_key = jr.split(key)
        observed, x, y = split(task, contexts)
        samples = draw(observed, x, sample_key)
        found = pit(samples, y, key=rank_key)
        return {"pit": found.reshape(-1), "crps": jnp.mean(crps(samples, y))}

    return jax.lax.map(one, items, batch_size=min(batch_size, len(items[1])))


def interval_coverage(pit: Array, level: float) -> Array:
    """1 where a target lies in the central interval of probability `level`, by its PIT.

    The rank is randomised, so that the right law covers `level` exactly, whatever the number of
    samples.
    """
    return (jnp.abs(pit - 0.5) <= level / 2).astype(pit.dtype)
