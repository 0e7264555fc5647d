r"""A student's samples against data: the energy score, beside a loss of flow maps.

The energy score $E|S - y| - \frac12 E|S - S'|$ of samples S given a context is least, on average,
where they follow the law of the data (Gneiting and Raftery 2007), whatever the teacher's errors
and those that steps accumulate. In flat space distances are those of whole functions, so that
correlations count; on a manifold they are geodesic, point by point.
"""

from __future__ import annotations

import itertools

import equinox as eqx
import jax
import jax.numpy as jnp
import jax.random as jr

from geomndp import _validation
from geomndp._deprecated import renamed_arguments, renamed_attribute
from geomndp._types import Array, Batch, Float, Outputs, PRNGKeyArray, Scalar
from geomndp.data import SEPARATE, Batching
from geomndp.distillation.lagrangian import LagrangianLoss
from geomndp.distillation.noised_functions import noised_functions
from geomndp.distillation.trajectory_loss import TrajectoryLoss
from geomndp.linalg import columns, safe_sqrt, zero_masked
from geomndp.noising import AbstractNoising
from geomndp.score import AbstractScore, flow_map_grid
from geomndp.solve import AbstractTimeGrid
from geomndp.train.abstract_loss import AbstractLoss, LossInfo


class Given(eqx.Module):
    """One function: its targets at t_min, and its context at times of its own.

    Attributes:
        noising: Forward process.
        x: Inputs (n, d).
        y: Values (n, p).
        t: Times (n,) or (n, g).
        mask: 1 for a value, of the shape of the times.
        free: 1 for a target.
    """

    noising: AbstractNoising
    x: Float[Array, "n d"]
    y: Float[Array, "n p"]
    t: Float[Array, "n *g"]
    mask: Float[Array, "n *g"]
    free: Float[Array, "n *g"]

    def at(self, t: Scalar) -> Float[Array, "n *g"]:
        """Times with the targets at time t."""
        return jnp.where(self.free > 0, t, self.t)

    def with_free(self, y: Outputs) -> Outputs:
        """Values with those of the targets."""
        return jnp.where(columns(self.free, y.shape[1]) > 0, y, self.y)


@renamed_arguments(lagrangian="base")
class EnergyScoreLoss(AbstractLoss):
    """A loss of flow maps plus the energy score of samples in few calls.

    Attributes:
        base: The loss that keeps the student a flow map.
        energy_weight: Factor of the energy score, in units of the limiting standard deviation.
        calls: Calls per sample; several numbers count alike.
        num_samples: Samples per function, at least 2.
        time_grid: Where the times between the calls lie, by default as in `samplers.FlowMap`.

    Raises:
        ValueError: If there is no call or fewer than two samples.
    """

    base: LagrangianLoss | TrajectoryLoss
    energy_weight: float = eqx.field(default=1.0, static=True)
    calls: tuple[int, ...] = eqx.field(default=(1, 4), static=True)
    num_samples: int = eqx.field(default=4, static=True)
    time_grid: AbstractTimeGrid | None = None

    lagrangian = renamed_attribute("base")

    def __check_init__(self):
        _validation.at_least(1, **{f"calls[{i}]": calls for i, calls in enumerate(self.calls)})
        _validation.at_least(2, num_samples=self.num_samples)
        _validation.not_negative(energy_weight=self.energy_weight)
        if not self.calls:
            raise ValueError("expected at least one number of calls, got none")

    def __call__(
        self,
        score: AbstractScore,
        noising: AbstractNoising,
        batch: Batch,
        *,
        key: PRNGKeyArray,
        batching: Batching = SEPARATE,
    ) -> tuple[Scalar, LossInfo]:
        """Loss of a batch; arguments as those of `TrajectoryLoss`."""
        flow_key, noise_key, sample_key = jr.split(key, 3)
        loss, info = self.base(score, noising, batch, key=flow_key, batching=batching)
        end = jnp.full(len(batch.x), self.base.t_min, batch.y.dtype)
        levels = self.base.context_noise_levels
        truth = noised_functions(noising, batch, end, levels, key=noise_key)

        def one(x, y, t, mask, free, key):
            given = Given(noising, x, y, t, mask, free)
            energies = [
                energy_score(given, self.samples(score, given, calls, key=jr.fold_in(key, calls)))
                for calls in self.calls
            ]
            return jnp.mean(jnp.stack(energies))

        functions = (truth.x, truth.y, truth.t, truth.mask, truth.free)
        energies = jax.vmap(one)(*functions, jr.split(sample_key, len(batch.x)))
        return loss + self.energy_weight * jnp.mean(energies), info

    def samples(
        self, score: AbstractScore, given: Given, calls: int, *, key: PRNGKeyArray
    ) -> Float[Array, "k n p"]:
        """Samples of the free points of one function given its context.

        Args:
            score: The student.
            given: The function.
            calls: Calls per sample.
            key: Random key.
        """
        noising, x, mask, free = given.noising, given.x, given.mask, given.free
        grid = flow_map_grid(noising) if self.time_grid is None else self.time_grid
        times = grid(noising.schedule, calls, self.base.t_min, x.dtype)[::-1]
        one, m = jnp.ones((), x.dtype), noising.mean_at(x)
        u = jnp.zeros_like(m)
        if noising.flat:  # as `samplers.start.start`
            start_u = score(noising, given.at(one), x, given.with_free(m), mask)
            u = jax.lax.stop_gradient(start_u)

        def sample(key):
            y = noising.prior_sample(x, key=key, mask=mask) + noising.sigma(one) * u
            y = given.with_free(y)
            for t, s in itertools.pairwise(times):
                y = score.flow_map(noising, given.at(t), given.at(s), x, y, mask)
            return zero_masked(y, free)

        return jax.vmap(sample)(jr.split(key, self.num_samples))


def energy_score(given: Given, samples: Float[Array, "k n p"]) -> Scalar:
    """Fair energy score of samples of the targets, in units of the limiting standard deviation.

    Args:
        given: The function, whose targets are the truth.
        samples: Samples (k, n, p), zero but for the targets.

    Returns:
        Score: the root of the mean square distance over all target values in flat space, the mean
        geodesic distance of the targets on a manifold.
    """
    truth, count = zero_masked(given.y, given.free), jnp.maximum(jnp.sum(given.free), 1.0)
    manifold = given.noising.manifold

    def distance(y, z):
        if not manifold.flat:
            distances = manifold.distance(given.with_free(y), given.with_free(z))
            return jnp.sum(given.free * distances) / count
        scale = jnp.sqrt(given.noising.gram(given.x, given.mask).diagonal())
        return safe_sqrt(jnp.sum(((y - z) / scale) ** 2) / count)

    to_truth = jax.vmap(lambda y: distance(y, truth))(samples)
    pairs = jax.vmap(lambda y: jax.vmap(lambda z: distance(y, z))(samples))(samples)
    k = len(samples)
    return jnp.mean(to_truth) - jnp.sum(pairs) / (2 * k * (k - 1))
