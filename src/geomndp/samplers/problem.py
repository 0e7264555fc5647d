"""What samplers are asked for: values at target points given observations.

Problems are padded to one of few sizes; one reverse pass, or one solve, serves those that pass
`check_amortised`.
"""

import dataclasses

import equinox as eqx
import jax
import jax.numpy as jnp

from geomndp import _validation
from geomndp._arrays import bucket, pad_mask, pad_rows
from geomndp._deprecated import renamed_arguments, renamed_attribute
from geomndp._types import Array, Inputs, Mask
from geomndp.linalg import join_masks
from geomndp.noising import AbstractNoising
from geomndp.samplers.observations import Observations, pad_observations
from geomndp.samplers.program import Labels, PointNoise
from geomndp.score import AbstractScore
from geomndp.solve import AbstractTimeGrid, ConditionalDynamics


def context_labels(m: int) -> Labels:
    """Labels of m context points."""
    return 2 * jnp.arange(m, dtype=jnp.int32)


def target_labels(n: int) -> Labels:
    """Labels of n target points."""
    return 2 * jnp.arange(n, dtype=jnp.int32) + 1


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
    """

    noising: AbstractNoising
    score: AbstractScore
    x: Inputs
    observations: Observations
    t_min: float = eqx.field(static=True)
    mask: Mask | None = None
    labels: Labels | None = None
    partial: Observations | None = None

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
        return ConditionalDynamics(
            self.noising, self.score, jnp.concatenate([observed.x, self.x]), mask, None
        )

    def context_noise(self) -> PointNoise:
        """White noise of the context points."""
        return PointNoise(context_labels(self.num_observed), self.noising.dim)

    def target_noise(self) -> PointNoise:
        """White noise of the targets."""
        labels = target_labels(len(self.x)) if self.labels is None else self.labels
        return PointNoise(labels, self.noising.dim)

    def joint_noise(self) -> PointNoise:
        """White noise of all points, context first."""
        labels = self.context_noise().labels, self.target_noise().labels
        return PointNoise(jnp.concatenate(labels), self.noising.dim)

    def times(self, time_grid: AbstractTimeGrid, steps: int) -> tuple[Array, Array, Array]:
        """Diffusion times of every step, decreasing.

        Args:
            time_grid: Where the times lie.
            steps: Number of steps.

        Returns:
            Start of the step before (at the first step its own), start, and end; shape (steps,).
        """
        t = time_grid(self.noising.schedule, steps, self.t_min, self.x.dtype)[::-1]
        before = jnp.concatenate([t[:1], t[:-2]]) if steps > 1 else t[:1]
        return before, t[:-1], t[1:]


def pad_problem(problem: Problem, contexts: int, targets: int) -> Problem:
    """Pad a problem.

    Args:
        problem: Model, targets and observations.
        contexts: Number of context points of the result.
        targets: Number of target points of the result.

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
    """Dynamics of the targets given the observations.

    Args:
        problem: Model, targets (n, d) and observations.

    Returns:
        Dynamics of the n targets, with the observations as context at their own diffusion times.
    """
    context = partial = None
    if problem.num_observed:
        context = problem.observations.as_context(problem.noising)
    if problem.partial is not None:
        partial = problem.partial.as_context(problem.noising)
    parts = (problem.noising, problem.score, problem.x, problem.mask)
    return ConditionalDynamics(*parts, context, partial)


def amortises(problem: Problem) -> bool:
    """Whether one reverse pass, or one solve, with observations at time zero will do."""
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
            _check_noise(problem.noising, observations)


def _check_noise(noising: AbstractNoising, observations: Observations) -> None:
    """Refuse noise of observations that has no diffusion time."""
    if not noising.kernel.white:
        raise ValueError(
            "expected a white limiting kernel for observation noise in amortised conditioning, "
            f"got {type(noising.kernel).__name__}; use Langevin or MomentMatching"
        )
    if all(map(_validation.concrete, jax.tree.leaves(observations))):
        observations = pad_observations(observations, bucket(len(observations.x)))
        total = noising.schedule.integral(jnp.ones((), dtype=observations.noise.dtype))
        level = jnp.max(noising.integrated_time_of_noise(observations.x, observations.noise))
        # Inside jit even what is concrete is staged.
        if _validation.concrete(level) and level > total:
            most, got = (
                (noising.transition_std(b) / jnp.exp(noising.log_mean_coefficient(b))) ** 2
                for b in (total, level)
            )
            raise ValueError(
                f"expected noise at most {float(most):.3g} times the limiting "
                f"variance, got {float(got):.3g} times"
            )
