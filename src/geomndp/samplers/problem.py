"""What samplers are asked for: values at target points given observations, padded to few sizes."""

import dataclasses
from typing import Any

import equinox as eqx
import jax.numpy as jnp

from geomndp._arrays import pad_mask, pad_rows
from geomndp._deprecated import renamed_arguments, renamed_attribute
from geomndp._types import Array, Inputs, Mask, Outputs, PerPoint, Scalar
from geomndp.linalg import columns, join_masks
from geomndp.noising import AbstractNoising
from geomndp.samplers.program import Labels, PointNoise
from geomndp.score import AbstractScore, flow_map_grid
from geomndp.solve import AbstractTimeGrid, ConditionalDynamics, Context


class Observations(eqx.Module):
    """Context points of a problem.

    Attributes:
        x: Inputs (m, d).
        y: Observed values (m, p).
        noise: Variance of the noise per point, shape (m,), or (m, g) per group of outputs.
        noisy: Whether any of it is not zero.
        mask: 1 for an observed value, 0 for others, shape (m,) or (m, g); None if all are observed.
    """

    x: Inputs
    y: Outputs
    noise: PerPoint
    noisy: bool = eqx.field(static=True)
    mask: Mask | None = None

    def as_context(self, noising: AbstractNoising, noisy: bool = True) -> Context:
        r"""The observations as context points at their own diffusion times.

        Noise of variance r on top of white limiting variance v is what noising does up to the time
        with $\sigma^2 / a^2 = r / v$, where the value is $m + a (y - m)$. On a manifold it is the
        heat kernel's own time, and the value stays.

        Args:
            noising: Forward process, with a white limiting kernel where there is noise.
            noisy: Whether noise counts; without any all points are at time zero.

        Returns:
            Context points.
        """
        if not (self.noisy and noisy):
            return Context(self.x, self.y, jnp.zeros(len(self.x), self.x.dtype), self.mask)
        t = noising.schedule.inverse(noising.integrated_time_of_noise(self.x, self.noise))
        v = (1 - columns(noising.alpha(t), noising.dim)) * noising.mean_reversion(self.x, self.y)
        return Context(self.x, noising.manifold.exp(self.y, v), t, self.mask)


def no_observations(input_dim: int, output_dim: int, dtype: Any) -> Observations:
    """The context of a prior."""
    x, y = (jnp.zeros((0, dim), dtype) for dim in (input_dim, output_dim))
    return Observations(x, y, jnp.zeros(0, dtype), False)


def pad_observations(observations: Observations, size: int) -> Observations:
    """Pad observations.

    Args:
        observations: m context points.
        size: Number of rows, at least m; none stay none.

    Returns:
        Observations with a mask.
    """
    m = len(observations.x)
    if size == 0:
        return observations
    return Observations(
        pad_rows(observations.x, size),
        pad_rows(observations.y, size),
        pad_rows(observations.noise, size),
        observations.noisy,
        pad_mask(observations.mask, m, size, observations.x.dtype),
    )


@renamed_arguments(eps="t_min")
class Problem(eqx.Module):
    """What is to be sampled: the values at target points given observations, or none.

    Attributes:
        noising: Forward process.
        score: Score of the model.
        x: Target inputs (n, d).
        observations: Context points; there may be none.
        t_min: Diffusion time at which sampling ends.
        mask: 1 for a target value, 0 for padding, shape (n,) or (n, g); None where all are real.
        labels: Numbers (n,) by which the noise of a target is drawn; its index by default.
        partial: Observed outputs in the rows of the targets, whose other outputs are targets; its
            mask (n, g) says which, and its inputs are those of the targets.
        prepared: What all evaluations of the score share, if it is known (`prepare_score`).
        begin: Diffusion time of values whose density is wanted, an array; None for `t_min`.
    """

    noising: AbstractNoising
    score: AbstractScore
    x: Inputs
    observations: Observations
    t_min: float = eqx.field(static=True)
    mask: Mask | None = None
    labels: Labels | None = None
    partial: Observations | None = None
    prepared: Any = None
    begin: Scalar | None = None

    eps = renamed_attribute("t_min")

    @property
    def num_observed(self) -> int:
        """Number of observed points."""
        return len(self.observations.x)

    @property
    def conditioned(self) -> bool:
        """Whether anything is observed."""
        return self.num_observed > 0 or self.partial is not None

    @property
    def observed_apart(self) -> bool:
        """Whether some outputs of a point are observed or asked for without the others."""
        masks = (self.mask, self.observations.mask)
        return self.partial is not None or any(m is not None and m.ndim == 2 for m in masks)

    def joint(self) -> ConditionalDynamics:
        """Dynamics of all points, context first, at one diffusion time: that of the joint score."""
        observed = self.observations
        sizes = len(observed.x), len(self.x), self.x.dtype
        mask = join_masks(observed.mask, self.mask, *sizes)
        x = jnp.concatenate([observed.x, self.x])
        return ConditionalDynamics(self.noising, self.score, x, mask).with_prepared(self.prepared)

    def context_noise(self) -> PointNoise:
        """White noise of the context points."""
        return PointNoise(2 * jnp.arange(self.num_observed, dtype=jnp.int32), self.noising.dim)

    def target_noise(self) -> PointNoise:
        """White noise of the targets."""
        labels = 2 * jnp.arange(len(self.x), dtype=jnp.int32) + 1
        return PointNoise(labels if self.labels is None else self.labels, self.noising.dim)

    def joint_noise(self) -> PointNoise:
        """White noise of all points, context first."""
        labels = self.context_noise().labels, self.target_noise().labels
        return PointNoise(jnp.concatenate(labels), self.noising.dim)

    def times(
        self, time_grid: AbstractTimeGrid | None, steps: int, num_before: int | None = None
    ) -> tuple[Array, Array, Array]:
        """Diffusion times of every step, decreasing.

        Args:
            time_grid: Where the times lie; None for the grid of flow maps.
            steps: Number of steps.
            num_before: Number of steps before; None for one, without an axis.

        Returns:
            Starts of the steps before, latest first (at the first step its own); start; and end.
        """
        grid = flow_map_grid(self.noising) if time_grid is None else time_grid
        t = grid(self.noising.schedule, steps, self.t_min, self.x.dtype)[::-1]
        lags = jnp.arange(1, 2 if num_before is None else num_before + 1)
        before = t[jnp.maximum(jnp.arange(steps)[:, None] - lags[None, :], 0)]
        return before[:, 0] if num_before is None else before, t[:-1], t[1:]


def pad_problem(problem: Problem, contexts: int, targets: int) -> Problem:
    """Pad a problem.

    Args:
        problem: Model, targets and observations.
        contexts: Context points of the result.
        targets: Target points of the result.

    Returns:
        Problem with masks, its own points first.
    """
    n = len(problem.x)
    return dataclasses.replace(
        problem,
        x=pad_rows(problem.x, targets),
        observations=pad_observations(problem.observations, contexts),
        mask=pad_mask(problem.mask, n, targets, problem.x.dtype),
        partial=None if problem.partial is None else pad_observations(problem.partial, targets),
    )


def conditional_dynamics(problem: Problem) -> ConditionalDynamics:
    """Dynamics of the targets, with the observations as context at their own diffusion times.

    Args:
        problem: Model, targets and observations.
    """
    return _dynamics(problem).with_prepared(problem.prepared)


def prepare_score(problem: Problem) -> Any:
    """What evaluations of the score share, for `Problem.prepared`: of locations and masks alone."""
    return _dynamics(problem, noisy=False).prepare()


def _dynamics(problem: Problem, noisy: bool = True) -> ConditionalDynamics:
    context = partial = None
    if problem.num_observed:
        context = problem.observations.as_context(problem.noising, noisy)
    if problem.partial is not None:
        partial = problem.partial.as_context(problem.noising, noisy)
    parts = (problem.noising, problem.score, problem.x, problem.mask)
    return ConditionalDynamics(*parts, context, partial)


def amortises(problem: Problem) -> bool:
    """Whether one reverse pass, or one solve, will do."""
    try:
        check_amortised(problem)
    except ValueError:
        return False
    return True


def check_amortised(problem: Problem) -> None:
    """Check that a score can be conditioned by one pass.

    Args:
        problem: Model, targets and observations.

    Raises:
        ValueError: If the score was not trained with contexts; if observations are noisy and the
            limiting kernel is not white, or there is more noise than the noising process has.
    """
    if not problem.conditioned:
        return
    if not problem.score.conditional:
        raise ValueError(
            "expected a score trained with contexts (score.conditional), got one that knows "
            "equal times only; use Langevin or MomentMatching"
        )
    for observations in (problem.observations, problem.partial):
        if observations is not None and observations.noisy:
            problem.noising.check_noise(observations.x, observations.noise)
