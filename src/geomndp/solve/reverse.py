r"""One step of the reversed noising, from time t to an earlier time s.

Every rule takes its noise xi, a draw from the centred limiting law N(0, K), as an argument: a step
is a deterministic map of (state, xi), the root of K is found once outside the loop, and the law of
a sampler can be propagated exactly. Below, $\Delta B = B(t) - B(s)$ and $\hat y_0$ is Tweedie's
mean.
"""

import abc
from typing import TYPE_CHECKING, NamedTuple

import equinox as eqx
import jax.numpy as jnp

from geomndp._types import Outputs, Scalar
from geomndp.solve.field import AbstractField
from geomndp.solve.integrators import RK4, AbstractFixed

if TYPE_CHECKING:  # to pyright an AbstractVar is a field, the first of every subclass
    from typing import ClassVar as AbstractVar
else:
    from equinox import AbstractVar


class ReverseState(NamedTuple):
    """Values, and the previous estimate of the clean values, for methods with a memory."""

    y: Outputs
    clean: Outputs


class AbstractReverse(eqx.Module):
    """A rule for one reverse step; costs `evaluations` of the score."""

    evaluations: AbstractVar[int]

    @abc.abstractmethod
    def step(
        self,
        field: AbstractField,
        before: Scalar,
        t: Scalar,
        s: Scalar,
        state: ReverseState,
        xi: Outputs,
    ) -> ReverseState:
        """Move from t to s < t; `before` is the time of the step before (t itself at the start)."""


class EulerMaruyama(AbstractReverse):
    r"""$y - \delta (\frac12 (m - y) - u / \sigma) + \sqrt\delta \xi$ with
    $\delta = 2 \sqrt{B_t} (\sqrt{B_t} - \sqrt{B_s})$.

    The time of these steps is $\sqrt B$, about the noise's standard deviation: for $\beta = c t$
    it is t itself and $\delta = \beta_t (t - s)$; for other schedules the steps are no worse.
    """

    evaluations = 1

    def step(self, field, before, t, s, state, xi):
        y, u = state.y, field.u(t, state.y)
        root_t, root_s = (jnp.sqrt(field.noising.schedule.integral(w)) for w in (t, s))
        delta = 2 * root_t * (root_t - root_s)
        drift = 0.5 * (field.mean() - y) - u / field.noising.sigma(t)
        y = y - delta * drift + jnp.sqrt(delta) * xi
        return ReverseState(y, state.clean)


class Exponential(AbstractReverse):
    r"""Exact in the linear part (Song et al. 2021, DDIM, in the terms of u).

    $m + a_s (\hat y_0 - m) - \sqrt{\sigma_s^2 - v} u + \sqrt v \xi$ with
    $v = \eta^2 \sigma_s^2 (1 - a_t^2 / a_s^2) / \sigma_t^2$: the flow at `eta` 0, the reverse SDE
    at 1.
    """

    eta: float = 1.0
    evaluations = 1

    def __check_init__(self):
        if not 0 <= self.eta <= 1:
            raise ValueError(f"expected 0 <= eta <= 1, got {self.eta}")

    def step(self, field, before, t, s, state, xi):
        u = field.u(t, state.y)
        clean = field.clean(t, state.y, u)
        m, (a_s, kept, fresh) = field.mean(), ancestral(field.noising, t, s, self.eta)
        y = m + a_s * (clean - m) - kept * u
        if self.eta > 0:
            y = y + fresh * xi
        return ReverseState(y, clean)


class Multistep(AbstractReverse):
    r"""DPM-Solver++(2M) and its SDE form (Lu et al. 2022): second order, one evaluation a step.

    The estimate of the clean values is extrapolated linearly in $\lambda = \log(a / \sigma)$ from
    the last two times (the first step has no memory, and a last one to time zero uses none); the
    SDE form (`stochastic`) is exact in the linear part.
    """

    stochastic: bool = eqx.field(default=True, static=True)
    evaluations = 1

    def step(self, field, before, t, s, state, xi):
        noising, m = field.noising, field.mean()
        a_s, sigma_s, sigma_t = noising.alpha(s), noising.sigma(s), noising.sigma(t)
        b_before, b_t, b_s = (noising.schedule.integral(w) for w in (before, t, s))
        h = 0.5 * (b_t - b_s) + jnp.log(sigma_t) - jnp.log(sigma_s)
        h_before = 0.5 * (b_before - b_t) + jnp.log(noising.sigma(before)) - jnp.log(sigma_t)
        clean = field.clean(t, state.y, field.u(t, state.y))
        remember = (h_before > 0) & jnp.isfinite(h)
        ratio = jnp.where(remember, h / jnp.where(remember, 2 * h_before, 1.0), 0.0)
        ahead = clean + ratio * (clean - state.clean)
        if not self.stochastic:
            y = m + sigma_s / sigma_t * (state.y - m) - a_s * jnp.expm1(-h) * (ahead - m)
            return ReverseState(y, clean)
        fresh = -jnp.expm1(-2 * h)
        y = m + sigma_s / sigma_t * jnp.exp(-h) * (state.y - m) + a_s * fresh * (ahead - m)
        return ReverseState(y + sigma_s * jnp.sqrt(fresh) * xi, clean)


class Ode(AbstractReverse):
    """Probability flow by a fixed-step solver."""

    solver: AbstractFixed = RK4()

    @property
    def evaluations(self) -> int:
        return self.solver.evaluations

    def step(self, field, before, t, s, state, xi):
        return ReverseState(self.solver.step(field.flow, t, s, state.y), state.clean)


def ancestral(noising, t, s, eta=1.0):
    r"""Coefficients of $y_s$ given $y_t$ and clean values.

    $(a_s, \sqrt{\sigma_s^2 - v}, \sqrt v)$, where the difference is written without cancellation:
    $\sigma_s^2 - v = \sigma_s^2 (1 - \eta^2 + \eta^2 q^2)$ with
    $q = \sigma_s a_t / (\sigma_t a_s)$.
    """
    a_s, sigma_s, sigma_t = noising.alpha(s), noising.sigma(s), noising.sigma(t)
    gap = noising.schedule.integral(t) - noising.schedule.integral(s)
    q = sigma_s / sigma_t * jnp.exp(-0.5 * gap)
    kept = sigma_s * jnp.sqrt(1 - eta**2 + eta**2 * q**2)
    return a_s, kept, eta * sigma_s / sigma_t * jnp.sqrt(-jnp.expm1(-gap))
