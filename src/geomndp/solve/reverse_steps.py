r"""One step of the reversed noising, from time t to an earlier time s.

Every step takes its noise xi, a draw from the centred limiting law N(0, K), as an argument: it is a
deterministic map of (state, xi), the root of K is computed once outside the loop, and the law of
a sampler can be propagated exactly. Below, $\Delta B = B(t) - B(s)$ and $\hat y_0$ is Tweedie's
mean. Formulae are those of flat space; every step is a vector at y and ends with
the manifold's `exp`, so that on a manifold it is a geodesic random walk (De Bortoli et al. 2022).
"""

import abc
from typing import TYPE_CHECKING, NamedTuple

import equinox as eqx
import jax.numpy as jnp

from geomndp._deprecated import renamed_attribute
from geomndp._types import Array, Outputs, Scalar
from geomndp.noising import AbstractNoising
from geomndp.solve.dynamics import AbstractDynamics
from geomndp.solve.integrators import RK4, AbstractFixedStepSolver, on_manifold

if TYPE_CHECKING:  # to pyright an AbstractVar is a field, the first of every subclass
    from typing import ClassVar as AbstractVar
else:
    from equinox import AbstractVar


class ReverseState(NamedTuple):
    """State of a reverse process.

    Attributes:
        y: Values (n, p).
        clean: Estimate (n, p) of the clean values at the step before, for multistep methods, or
            several (k, n, p), the latest first.
    """

    y: Outputs
    clean: Array


class AbstractReverseStep(eqx.Module):
    """A reverse step, at a cost of `evaluations` of the score."""

    evaluations: AbstractVar[int]

    step = renamed_attribute("__call__")

    @property
    def num_before(self) -> int | None:
        """How many steps before are remembered; None for one that needs no axis of its own."""
        return None

    def check(self, noising: AbstractNoising) -> None:
        """Refuse a noising process for which the step is not made."""

    def memory(self, y: Outputs) -> Array:
        """Estimates of the clean values before the first step, of which none is used.

        Args:
            y: First values (n, p).

        Returns:
            An array of the shape of `ReverseState.clean`.
        """
        return y

    @abc.abstractmethod
    def __call__(
        self,
        dynamics: AbstractDynamics,
        before: Array,
        t: Scalar,
        s: Scalar,
        state: ReverseState,
        xi: Outputs,
    ) -> ReverseState:
        """Move from time t to s < t.

        Args:
            dynamics: Free points and their score.
            before: Time at which the step before set out, or times (k,) of several steps, the
                latest first; where there was none the start of the first step.
            t: Time of the state.
            s: Time of the result.
            state: Values (n, p), with the memory of multistep methods.
            xi: Draw (n, p) from N(0, K), which deterministic steps leave alone.

        Returns:
            State at time s.
        """


class EulerMaruyama(AbstractReverseStep):
    r"""$y - \delta (\frac12 (m - y) - u / \sigma) + \sqrt\delta \xi$ with
    $\delta = 2 \sqrt{B_t} (\sqrt{B_t} - \sqrt{B_s})$.

    The time of these steps is $\sqrt B$, about the noise's standard deviation: for $\beta = c t$
    it is t itself and $\delta = \beta_t (t - s)$; for other schedules the steps are no worse.
    """

    evaluations = 1

    def __call__(self, dynamics, before, t, s, state, xi):
        y, u = state.y, dynamics.u(t, state.y)
        root_t, root_s = (jnp.sqrt(dynamics.noising.schedule.integral(w)) for w in (t, s))
        delta = 2 * root_t * (root_t - root_s)
        drift = 0.5 * dynamics.mean_reversion(y) - u / dynamics.noising.sigma(t)
        return ReverseState(
            geodesic_step(dynamics, y, jnp.sqrt(delta) * xi - delta * drift), state.clean
        )


class Exponential(AbstractReverseStep):
    r"""Exact in the linear part (Song et al. 2021, DDIM, in the terms of u).

    $m + a_s (\hat y_0 - m) - \sqrt{\sigma_s^2 - v} u + \sqrt v \xi$ with
    $v = \eta^2 \sigma_s^2 (1 - a_t^2 / a_s^2) / \sigma_t^2$: the flow at `eta` 0, the reverse SDE
    at 1.

    Attributes:
        eta: Share of noise, 0 <= eta <= 1.
    """

    eta: float = 1.0
    evaluations = 1

    def __check_init__(self):
        if not 0 <= self.eta <= 1:
            raise ValueError(f"expected 0 <= eta <= 1, got {self.eta}")

    def __call__(self, dynamics, before, t, s, state, xi):
        u = dynamics.u(t, state.y)
        a_s, kept, fresh = ancestral(dynamics.noising, t, s, self.eta)
        growth = a_s / dynamics.noising.alpha(t)
        v = (1 - growth) * dynamics.mean_reversion(state.y) + (
            growth * dynamics.noising.sigma(t) - kept
        ) * u
        if self.eta > 0:
            v = v + fresh * xi
        return ReverseState(geodesic_step(dynamics, state.y, v), dynamics.clean(t, state.y, u))


class Multistep(AbstractReverseStep):
    r"""DPM-Solver++(2M) and its SDE form (Lu et al. 2022): second order, one evaluation per step.

    The estimate of the clean values is extrapolated linearly in $\lambda = \log(a / \sigma)$ from
    the last two times (the first step has no memory, and a last one to time zero uses none); the
    SDE form is exact in the linear part.

    Attributes:
        stochastic: The reverse SDE if true, else the probability flow.
    """

    stochastic: bool = eqx.field(default=True, static=True)
    evaluations = 1

    def __call__(self, dynamics, before, t, s, state, xi):
        noising, manifold, y = dynamics.noising, dynamics.noising.manifold, state.y
        sigma_s, sigma_t, u = noising.sigma(s), noising.sigma(t), dynamics.u(t, y)
        b_before, b_t, b_s = (noising.schedule.integral(w) for w in (before, t, s))
        growth = jnp.exp(-noising.log_mean_coefficient(b_t - b_s))
        h = jnp.log(sigma_t) - jnp.log(sigma_s) - noising.log_mean_coefficient(b_t - b_s)
        h_before = jnp.log(noising.sigma(before)) - jnp.log(sigma_t)
        h_before = h_before - noising.log_mean_coefficient(b_before - b_t)
        clean = dynamics.clean(t, y, u)
        remember = (h_before > 0) & jnp.isfinite(h)
        ratio = jnp.where(remember, h / jnp.where(remember, 2 * h_before, 1.0), 0.0)
        change = manifold.log(y, clean) - manifold.log(y, state.clean)
        share = -jnp.expm1(-(2 * h if self.stochastic else h))
        v = (1 - growth) * dynamics.mean_reversion(y) + growth * share * sigma_t * u
        v = v + noising.alpha(s) * share * ratio * change
        if self.stochastic:
            v = v + sigma_s * jnp.sqrt(share) * xi
        return ReverseState(geodesic_step(dynamics, y, v), clean)


class Ode(AbstractReverseStep):
    """Step of the probability flow.

    Attributes:
        solver: Fixed-step method.
    """

    solver: AbstractFixedStepSolver = RK4()

    @property
    def evaluations(self) -> int:
        return self.solver.evaluations

    def __call__(self, dynamics, before, t, s, state, xi):
        step = on_manifold(self.solver.step, dynamics.noising.manifold.retract)
        return ReverseState(step(dynamics.flow, t, s, state.y), state.clean)


def geodesic_step(dynamics: AbstractDynamics, y: Outputs, v: Outputs) -> Outputs:
    """End of the geodesic that leaves y along the tangent part of v: y + v in flat space.

    Args:
        dynamics: Free points, whose noising knows the manifold.
        y: Values (n, p).
        v: Step (n, p), in the coordinates of the ambient space.

    Returns:
        Values (n, p).
    """
    manifold = dynamics.noising.manifold
    return manifold.exp(y, manifold.project(y, v))


def ancestral(noising, t, s, eta=1.0):
    r"""Coefficients of $y_s$ given $y_t$ and clean values.

    $(a_s, \sqrt{\sigma_s^2 - v}, \sqrt v)$, where the difference is written without cancellation:
    $\sigma_s^2 - v = \sigma_s^2 (1 - \eta^2 + \eta^2 q^2)$ with
    $q = \sigma_s a_t / (\sigma_t a_s)$.

    Args:
        noising: Forward process.
        t: Time of the given values.
        s: Earlier time.
        eta: Share of noise; 1 is the law of the noising.

    Returns:
        Coefficients of the clean values, of the noise in $y_t$, and of fresh noise.
    """
    sigma_s, sigma_t = noising.sigma(s), noising.sigma(t)
    gap = noising.schedule.integral(t) - noising.schedule.integral(s)
    q = sigma_s / sigma_t * jnp.exp(noising.log_mean_coefficient(gap))
    kept = sigma_s * jnp.sqrt(1 - eta**2 + eta**2 * q**2)
    return noising.alpha(s), kept, eta * sigma_s / sigma_t * noising.transition_std(gap)
