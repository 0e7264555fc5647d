r"""Langevin predictor-correctors: the paper's conditional sampler, corrected, and a faster one.

A reverse step of all points, then Langevin steps of the targets with the context values fixed,
under the force $f = g_* - K_{*c} K_{cc}^{-1} g_c$, $g = K \nabla \log p_t$. The block form
matters for limiting kernels that are not white; the paper's printed update drops beta and
multiplies by the full K. Noisy context values are latent and move too, under a `TiltedScore`.
"""

import equinox as eqx
import jax.numpy as jnp

from geomndp import _validation
from geomndp._deprecated import renamed_arguments
from geomndp.samplers.base import require_flat
from geomndp.samplers.predictor_corrector import AbstractPredictorCorrector, predictor_corrector
from geomndp.samplers.problem import Problem
from geomndp.solve import AbstractReverseStep, AbstractTimeGrid, Exponential, PowerTimeGrid


@renamed_arguments(
    inner="num_corrector_steps",
    psi="step_scale",
    final="num_final_steps",
    rule="step",
    grid="time_grid",
)
class Langevin(AbstractPredictorCorrector):
    r"""Langevin predictor-corrector of the paper.

    A corrector step is $y_* += \frac{\delta}{2 \tau} f + \sqrt\delta \xi$ with
    $\xi \sim N(0, K_{**|c})$ and $\delta = \psi (B(t) - B(s))$ after a reverse step from t to s, at
    most $3 \tau \sigma_s^2$: from 4 on such steps are unstable.

    Attributes:
        steps: Reverse steps.
        num_corrector_steps: Langevin steps after each of them.
        context: Noising of the context values: "inner", "outer", "path" or "none".
        step_scale: Scale $\psi$ of the Langevin steps.
        temperature: $\tau$; below 1 samples are sharper than the posterior's.
        step: Reverse step.
        time_grid: Where the diffusion times lie.
        num_final_steps: Further Langevin steps at the last time.

    Example:
        >>> posterior.sample(x, key=key, sampler=Langevin(40, 25))  # doctest: +SKIP
    """

    steps: int = eqx.field(default=20, static=True)
    num_corrector_steps: int = eqx.field(default=25, static=True)
    context: str = eqx.field(default="inner", static=True)
    step_scale: float = 3.0
    temperature: float = 1.0
    step: AbstractReverseStep = Exponential()
    time_grid: AbstractTimeGrid = PowerTimeGrid(7.0)
    num_final_steps: int = eqx.field(default=0, static=True)
    pads = True

    def __check_init__(self):
        _validation.positive(step_scale=self.step_scale, temperature=self.temperature)
        _validation.at_least(0, num_final_steps=self.num_final_steps)

    def check(self, problem):
        pass

    def program(self, problem):
        noising, stability = problem.noising, _stability_factor(problem)

        def move(times, drift, y, velocity, xi):
            _, t, s = times
            integrated_time = noising.schedule.integral(t) - noising.schedule.integral(s)
            largest = 3 * self.temperature * noising.sigma(s) ** 2
            delta = stability * jnp.minimum(self.step_scale * integrated_time, largest)
            v = delta / (2 * self.temperature) * drift(y) + jnp.sqrt(delta) * xi
            return noising.manifold.exp(y, noising.manifold.project(y, v)), velocity

        return predictor_corrector(self, problem, move, overdamped=True, final=self.num_final_steps)


@renamed_arguments(inner="num_corrector_steps", rule="step", grid="time_grid")
class KineticLangevin(AbstractPredictorCorrector):
    r"""Predictor-corrector by underdamped Langevin dynamics, which mix far faster.

    $dy = v dh$, $dv = (f - \gamma v) dh + \sqrt{2 \gamma} d\xi$, split as half a drift, half a
    kick, friction, half a kick, half a drift (ABOBA; Leimkuhler and Matthews 2013). Velocities
    carry over from one diffusion time to the next. Flat space only.

    Attributes:
        steps: Reverse steps.
        num_corrector_steps: Langevin steps after each of them, at least 1.
        context: Noising of the context values: "inner", "outer", "path" or "none".
        stride: Step size in units of $\sigma_s$, stable below 2.
        friction: $\gamma$, raised where it would not forget the velocity at least twice in
            `num_corrector_steps`.
        step: Reverse step.
        time_grid: Where the diffusion times lie.
    """

    steps: int = eqx.field(default=20, static=True)
    num_corrector_steps: int = eqx.field(default=12, static=True)
    context: str = eqx.field(default="inner", static=True)
    stride: float = 1.5
    friction: float = 2.0
    step: AbstractReverseStep = Exponential()
    time_grid: AbstractTimeGrid = PowerTimeGrid(7.0)
    pads = True

    def __check_init__(self):
        _validation.at_least(1, num_corrector_steps=self.num_corrector_steps)
        _validation.positive(stride=self.stride, friction=self.friction)
        if self.stride >= 2:
            raise ValueError(f"expected stride < 2, where steps are stable, got {self.stride}")

    def check(self, problem):
        require_flat(self, problem)

    def program(self, problem):
        stride = self.stride * _stability_factor(problem) ** 0.5

        def move(times, drift, y, velocity, xi):
            h = stride * problem.noising.sigma(times[2])
            decay = jnp.maximum(self.friction * h, 2 / self.num_corrector_steps)
            y = y + h / 2 * velocity
            kick = h / 2 * drift(y)
            velocity = jnp.exp(-decay) * (velocity + kick)
            velocity = velocity + jnp.sqrt(-jnp.expm1(-2 * decay)) * xi + kick
            return y + h / 2 * velocity, velocity

        return predictor_corrector(self, problem, move, overdamped=False)


def _stability_factor(problem: Problem) -> float:
    """Factor of the squared step: noisy observations double the curvature."""
    return 0.5 if problem.observations.noisy else 1.0
