r"""Langevin predictor-corrector: the paper's conditional sampler, corrected.

A reverse step of all points, then `inner` Langevin steps of the targets with the observed values
held: with $g = K \nabla \log p_t = u / \sigma$ and $\delta = \psi \Delta B$,
$y_* += \frac{\delta}{2 \tau} [g_* - K_{*c} K_{cc}^{-1} g_c] +
\sqrt\delta [K_{**} - K_{*c} K_{cc}^{-1} K_{c*}]^{1/2} z$.
The block form matters for limiting kernels that are not white; the paper's printed rule drops
beta and multiplies by the full K. $\tau$ (`temperature`) below 1 sharpens and is not exact.

Observations with noise are latent: the observed points move with the targets, under the extra
force of $N(y; (y_c - (1 - a) m) / a, r + \sigma^2 v / a^2)$, which is exact as t goes to zero.
"""

from typing import NamedTuple

import equinox as eqx
import jax.numpy as jnp

from geomndp import _checks
from geomndp._types import Outputs
from geomndp.gp import GP
from geomndp.samplers.base import AbstractSampler, Problem
from geomndp.samplers.context import SCHEMES, context_rule
from geomndp.samplers.program import Phase, Program
from geomndp.solve import AbstractGrid, AbstractReverse, Exponential, Power, ReverseState


class Split(NamedTuple):
    """Observed values at the present noise level, and targets."""

    observed: Outputs
    y: Outputs


class Langevin(AbstractSampler):
    """Predictor-corrector with `steps` outer and `inner` Langevin steps."""

    steps: int = eqx.field(default=20, static=True)
    inner: int = eqx.field(default=25, static=True)
    context: str = eqx.field(default="inner", static=True)
    psi: float = 1.0
    temperature: float = 1.0
    rule: AbstractReverse = Exponential()
    grid: AbstractGrid = Power(3.0)

    def __check_init__(self):
        _checks.at_least(1, steps=self.steps)
        _checks.at_least(0, inner=self.inner)
        _checks.one_of("context", self.context, SCHEMES)
        _checks.positive(psi=self.psi, temperature=self.temperature)

    def check(self, problem):
        """Every problem is welcome."""

    def program(self, problem):
        if problem.observations.noisy:
            return self._latent_program(problem)
        init, predict = replacement(problem, self.context, self.rule)
        rule, force = context_rule(problem, self.context), held_force(problem)
        n, p = problem.x.shape[0], problem.noising.dim

        def correct(state, times, noise):
            _, t, s = times
            observed = rule.again(s, state.observed, noise[0])
            delta = self._step_size(problem, t, s)
            drift, kick = force(s, observed, state.y, noise[1])
            y = state.y + delta / (2 * self.temperature) * drift + jnp.sqrt(delta) * kick
            return Split(observed, y)

        phases = (predict, Phase(correct, (rule.shape, (n, p)), self.inner))
        return Program(
            init=init,
            init_noise=(rule.shape, (n, p)),
            phases=phases if self.inner else phases[:1],
            inputs=problem.times(self.grid, self.steps),
            finish=lambda state: state.y,
            evaluations=self.steps * (self.rule.evaluations + self.inner),
        )

    def _step_size(self, problem, t, s):
        schedule = problem.noising.schedule
        return self.psi * (schedule.integral(t) - schedule.integral(s))

    def _latent_program(self, problem):
        field, m = problem.joint(), problem.num_observed
        mean, gram = field.mean(), field.gram()
        root, shape = gram.root(), mean.shape

        def predict(y, times, noise):
            before, t, s = times
            return self.rule.step(field, before, t, s, ReverseState(y, y), root.mv(noise[0])).y

        def correct(y, times, noise):
            _, t, s = times
            delta = self._step_size(problem, t, s)
            pull = jnp.zeros_like(y).at[:m].set(observation_force(problem, s, y[:m]))
            drift = field.u(s, y) / problem.noising.sigma(s) + gram.mv(pull)
            return y + delta / (2 * self.temperature) * drift + jnp.sqrt(delta) * root.mv(noise[0])

        phases = (Phase(predict, (shape,)), Phase(correct, (shape,), self.inner))
        return Program(
            init=lambda noise: mean + root.mv(noise[0]),
            init_noise=(shape,),
            phases=phases if self.inner else phases[:1],
            inputs=problem.times(self.grid, self.steps),
            finish=lambda y: y[m:],
            evaluations=self.steps * (self.rule.evaluations + self.inner),
        )


def observation_force(problem: Problem, t, y: Outputs) -> Outputs:
    """Gradient of the log-likelihood of noisy observations given their noised latent values."""
    observations, noising = problem.observations, problem.noising
    a, sigma, m = noising.alpha(t), noising.sigma(t), noising.mean_at(observations.x)
    spread = noising.gram(observations.x).diagonal() * (sigma / a) ** 2
    variance = observations.noise[:, None] + spread
    return (observations.y - m - (y - m) / a) / (a * variance)


def held_force(problem: Problem):
    """Drift and noise of a Langevin step of the targets, observed values held (block form)."""
    field, m = problem.joint(), problem.num_observed
    limit, x = GP(problem.noising.kernel), problem.x
    observed_x = problem.observations.x
    held = limit.condition(observed_x, jnp.zeros((m, field.noising.dim), dtype=x.dtype))
    root = held.gram(x).root()

    def force(t, observed, y, z):
        g = field.u(t, jnp.concatenate([observed, y])) / problem.noising.sigma(t)
        carried = limit.condition(observed_x, g[:m]).mean_at(x)
        return g[m:] - carried, root.mv(z)

    return force


def replacement(problem: Problem, scheme: str, rule: AbstractReverse):
    """Start, and the phase of a joint reverse step after which the observed values are put back."""
    field, m = problem.joint(), problem.num_observed
    context, mean, root = context_rule(problem, scheme), field.mean(), field.gram().root()
    shape = (len(problem.x), problem.noising.dim)

    def init(noise):
        start = jnp.ones((), dtype=problem.x.dtype)
        y = mean + root.mv(jnp.concatenate(noise))
        return Split(context.fresh(start, noise[0]), y[m:])

    def predict(state, times, noise):
        before, t, s = times
        y = jnp.concatenate([state.observed, state.y])
        moved = rule.step(field, before, t, s, ReverseState(y, y), root.mv(noise[0])).y
        return Split(context.back(t, s, state.observed, noise[1]), moved[m:])

    return init, Phase(predict, ((m + shape[0], shape[1]), context.shape))
