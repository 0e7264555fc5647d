r"""Langevin dynamics of the targets while the context values stay fixed.

All in block form, as limiting kernels that are not white need it: a change of the context values
moves the targets by $K_{*c} K_{cc}^{-1}$ times it, and noise of the targets has the covariance
$K_{**} - K_{*c} K_{cc}^{-1} K_{c*}$.
"""

import dataclasses
from collections.abc import Callable
from typing import NamedTuple

import jax
import jax.numpy as jnp

from geomndp._types import Outputs, Scalar
from geomndp.geometry import heat_kernel
from geomndp.gp import GP
from geomndp.linalg import zero_masked
from geomndp.samplers.context_noising import context_noising
from geomndp.samplers.problem import Observations, Problem
from geomndp.samplers.program import Phase
from geomndp.score import AbstractScore
from geomndp.solve import AbstractReverseStep, ReverseState


class ContextTargetState(NamedTuple):
    """Values of all points at one diffusion time.

    Attributes:
        observed: Context values (m, p).
        y: Target values (n, p).
    """

    observed: Outputs
    y: Outputs


class LangevinForce(NamedTuple):
    """Drift and noise of a Langevin step of the targets.

    Attributes:
        drift: (t, observed, y) -> drift (n, p).
        noise: White noise (n, p) -> noise of the targets given the context values.
    """

    drift: Callable[[Scalar, Outputs, Outputs], Outputs]
    noise: Callable[[Outputs], Outputs]


def kriging_map(problem: Problem) -> Callable[[Outputs], Outputs]:
    r"""Simple kriging under the limiting kernel, factorised once.

    Args:
        problem: Targets and observations.

    Returns:
        The linear map $K_{*c} K_{cc}^{-1}$ from values (m, p) at context points to targets (n, p).
    """
    observed, limit = problem.observations, GP(problem.noising.kernel)

    def krige(v):
        return limit.condition(observed.x, v, mask=observed.mask).mean_at(problem.x)

    return jax.linearize(krige, jnp.zeros_like(observed.y))[1]


def conditional_force(problem: Problem) -> LangevinForce:
    r"""Force on the targets: drift $g_* - K_{*c} K_{cc}^{-1} g_c$, noise $N(0, K_{**|c})$."""
    dynamics, krige, m = problem.joint(), kriging_map(problem), problem.num_observed
    observed, limit = problem.observations, GP(problem.noising.kernel)
    conditioned = limit.condition(observed.x, jnp.zeros_like(observed.y), mask=observed.mask)
    root = conditioned.gram(problem.x, problem.mask).root()

    def drift(t, observed, y):
        g = dynamics.u(t, jnp.concatenate([observed, y])) / problem.noising.sigma(t)
        return g[m:] - krige(g[:m])

    return LangevinForce(drift, root.mv)


def replacement(problem: Problem, scheme: str, step: AbstractReverseStep, *, coupled: bool):
    """Joint reverse steps after which the context values are replaced by noised observations.

    Args:
        problem: Model, targets and observations.
        scheme: How the context values are noised, one of `SCHEMES`.
        step: Reverse step of all points.
        coupled: Whether the targets follow the replacement, by Matheron's rule, which makes them a
            draw of the reverse step given it. White noise has nothing to follow; other kernels need
            it, unless the values replaced are unrelated to those before and Langevin steps follow.

    Returns:
        Initial state from noise, and the phase of one step.
    """
    dynamics, krige, m = problem.joint(), kriging_map(problem), problem.num_observed
    context, root = context_noising(problem, scheme), dynamics.gram().root()

    def init(noise):
        one = jnp.ones((), dtype=problem.x.dtype)
        xi = root.mv(noise[0])
        return ContextTargetState(
            context.fresh(one, xi[:m]), problem.noising.limit_from_noise(problem.x, xi[m:])
        )

    def predict(state, times, noise):
        _, t, s = times
        y = jnp.concatenate([state.observed, state.y])
        # Correctors come between two steps: none remembers the one before.
        before = t if step.num_before is None else jnp.broadcast_to(t, (step.num_before,))
        y = step(dynamics, before, t, s, ReverseState(y, step.memory(y)), root.mv(noise[0])).y
        observed = context.back(t, s, state.observed, context.xi(noise[1]))
        return ContextTargetState(observed, y[m:] + krige(observed - y[:m]) if coupled else y[m:])

    return init, Phase(predict, (problem.joint_noise(), problem.context_noise()))


class TiltedScore(AbstractScore):
    r"""Score of all points, tilted by noisy observations of the first of them.

    The likelihood of the observations given noised values at their points is taken as
    $N(y; m + (y_c - m) / a, R + (\sigma / a)^2 K_{cc})$, which becomes exact as t goes to zero; on
    a manifold as the heat kernel at the time $R + \sigma^2$ around the observation.

    Attributes:
        score: Joint score of all points.
        observations: Noisy observations of the first points.
    """

    score: AbstractScore
    observations: Observations
    conditional = False

    def prepare(self, x, mask=None):
        return self.score.prepare(x, mask)

    def with_prepared(self, prepared):
        return dataclasses.replace(self, score=self.score.with_prepared(prepared))

    def __call__(self, noising, t, x, y, mask=None):
        observed = self.observations
        if not noising.flat:
            sigma = noising.sigma(t)
            heat = heat_kernel(noising.manifold).score(
                observed.noise + sigma**2, observed.y, y[: len(observed.y)]
            )
            heat = zero_masked(heat, observed.mask)
            return self.score(noising, t, x, y, mask).at[: len(observed.y)].add(sigma * heat)
        a, sigma, m = noising.alpha(t), noising.sigma(t), noising.mean_at(observed.x)
        covariance = ((sigma / a) ** 2 * noising.gram(observed.x)).add_diagonal(observed.noise)
        covariance = covariance.masked(observed.mask)
        residual = zero_masked(observed.y - m - (y[: len(m)] - m) / a, observed.mask)
        tilt = jnp.zeros_like(y).at[: len(m)].set(covariance.solve(residual) / a)
        return self.score(noising, t, x, y, mask) + sigma * noising.gram(x, mask).mv(tilt)


def with_latent_context(problem: Problem) -> Problem:
    """Problem in which noisy context values are latent: further targets, under a tilted score.

    Args:
        problem: Model, targets and observations.

    Returns:
        A problem without observations, context points first; the same one if there is no noise.
    """
    observed = problem.observations
    if not observed.noisy:
        return problem
    none = Observations(observed.x[:0], observed.y[:0], observed.noise[:0], False)
    tilted, joint = TiltedScore(problem.score, observed), problem.joint()
    labels = problem.joint_noise().labels
    parts = (problem.noising, tilted, joint.x, none, problem.t_min, joint.mask, labels)
    return Problem(*parts, prepared=problem.prepared)  # of the same points, in the same order
