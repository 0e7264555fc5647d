r"""Langevin predictor-correctors: the paper's conditional sampler, corrected, and a faster one.

A reverse step of all points, then Langevin steps of the targets with the context values fixed,
under the force $f = g_* - K_{*c} K_{cc}^{-1} g_c$, $g = K \nabla \log p_t$. The block form
matters for limiting kernels that are not white; the paper's printed update drops beta and
multiplies by the full K. Observations with noise are moved too, under a
`TiltedScore`.
"""

from collections.abc import Callable
from typing import Any, NamedTuple

import equinox as eqx
import jax.numpy as jnp

from geomndp import _validation
from geomndp._deprecated import renamed_arguments
from geomndp._types import Outputs
from geomndp.samplers.base import AbstractProgramSampler, Problem, require_flat
from geomndp.samplers.conditional_langevin import (
    ContextTargetState,
    conditional_force,
    latent,
    replacement,
)
from geomndp.samplers.context_noising import SCHEMES, context_noising
from geomndp.samplers.program import Phase, Program
from geomndp.solve import AbstractReverseStep, AbstractTimeGrid, Exponential, PowerTimeGrid


@renamed_arguments(
    inner="num_corrector_steps",
    psi="step_scale",
    final="num_final_steps",
    rule="step",
    grid="time_grid",
)
class Langevin(AbstractProgramSampler):
    r"""The paper's rule, $y_* += \frac{\delta}{2 \tau} f + \sqrt\delta k$, $k \sim N(0, K_{**|c})$.

    $\delta = \psi (B(t) - B(s))$ after a step from t to s, at most $3 \tau \sigma_s^2$: from 4 on
    such steps are unstable. A `temperature` $\tau$ below 1 sharpens and is not exact. At the end
    come `num_final_steps` more steps at the last time.
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
        _check(self)
        _validation.positive(step_scale=self.step_scale, temperature=self.temperature)
        _validation.at_least(0, num_final_steps=self.num_final_steps)

    def check(self, problem):
        pass

    def program(self, problem):
        noising, pace = problem.noising, _pace(problem)

        def move(times, drift, y, velocity, kick):
            _, t, s = times
            gap = noising.schedule.integral(t) - noising.schedule.integral(s)
            largest = 3 * self.temperature * noising.sigma(s) ** 2
            delta = pace * jnp.minimum(self.step_scale * gap, largest)
            v = delta / (2 * self.temperature) * drift(y) + jnp.sqrt(delta) * kick
            return noising.manifold.exp(y, noising.manifold.project(y, v)), velocity

        return predictor_corrector(self, problem, move, inert=True, final=self.num_final_steps)


@renamed_arguments(inner="num_corrector_steps", rule="step", grid="time_grid")
class KineticLangevin(AbstractProgramSampler):
    r"""Langevin steps with a velocity v, which wander far less: $dy = v dh$,
    $dv = (f - \gamma v) dh + \sqrt{2 \gamma} dk$.

    Split as half a drift, half a push, friction, half a push, half a drift (ABOBA; Leimkuhler and
    Matthews 2013), with steps of `stride` $\sigma_s$ (stable below 2) and a `friction` $\gamma$
    that forgets the velocity at least twice in `num_corrector_steps`. Velocities carry over from
    one diffusion time to the next.
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
        _check(self)
        _validation.at_least(1, num_corrector_steps=self.num_corrector_steps)
        _validation.positive(stride=self.stride, friction=self.friction)
        if self.stride >= 2:
            raise ValueError(f"expected stride < 2, where steps are stable, got {self.stride}")

    def check(self, problem):
        require_flat(self, problem)

    def program(self, problem):
        stride = self.stride * _pace(problem) ** 0.5

        def move(times, drift, y, velocity, kick):
            h = stride * problem.noising.sigma(times[2])
            loss = jnp.maximum(self.friction * h, 2 / self.num_corrector_steps)
            y = y + h / 2 * velocity
            push = h / 2 * drift(y)
            velocity = jnp.exp(-loss) * (velocity + push)
            velocity = velocity + jnp.sqrt(-jnp.expm1(-2 * loss)) * kick + push
            return y + h / 2 * velocity, velocity

        return predictor_corrector(self, problem, move, inert=False)


def _check(sampler: Langevin | KineticLangevin) -> None:
    _validation.at_least(1, steps=sampler.steps)
    _validation.at_least(0, num_corrector_steps=sampler.num_corrector_steps)
    _validation.one_of("context", sampler.context, SCHEMES)


def _pace(problem: Problem) -> float:
    """Noisy observations pull as hard as the score does: half the squared step stays stable."""
    return 0.5 if problem.observations.noisy else 1.0


class LangevinState(NamedTuple):
    """Values, and the targets' velocity, or () where there is none."""

    values: ContextTargetState
    velocity: Any


LangevinMove = Callable[
    [Any, Callable[[Outputs], Outputs], Outputs, Any, Outputs], tuple[Outputs, Any]
]
"""(times, drift, y, velocity, kick) -> (y, velocity)."""


def predictor_corrector(
    sampler: Langevin | KineticLangevin,
    problem: Problem,
    move: LangevinMove,
    *,
    inert: bool,
    final: int = 0,
) -> Program:
    """Reverse steps, `sampler.num_corrector_steps` moves after each, `final` moves after all.

    Without velocities if `inert`.
    """
    targets, mask, problem = len(problem.x), problem.mask, latent(problem)
    context, force = context_noising(problem, sampler.context), conditional_force(problem)
    start, (predict, predict_noise, _) = replacement(
        problem, sampler.context, sampler.step, coupled=sampler.context == "path"
    )
    moving = problem.target_noise()

    def init(noise):
        return LangevinState(start(noise), () if inert else force.noise(noise[1]))

    def predicted(state, times, noise):
        return LangevinState(predict(state.values, times, noise), state.velocity)

    def corrected(state, times, noise):
        s = times[2]
        observed = context.again(s, state.values.observed, context.xi(noise[0]))
        kick = force.noise(noise[1])
        y, velocity = move(
            times, lambda y: force.drift(s, observed, y), state.values.y, state.velocity, kick
        )
        return LangevinState(ContextTargetState(observed, y), velocity)

    moves = Phase(corrected, (problem.context_noise(), moving), sampler.num_corrector_steps)
    phases = (Phase(predicted, predict_noise), moves)
    per_step = sampler.step.evaluations + sampler.num_corrector_steps
    return Program(
        init=init,
        init_noise=(problem.joint_noise(), moving)[: 1 if inert else 2],
        phases=phases if sampler.num_corrector_steps else phases[:1],
        inputs=problem.times(sampler.time_grid, sampler.steps),
        finish=lambda state: state.values.y[len(problem.x) - targets :],
        evaluations=sampler.steps * per_step + final,
        last=(moves._replace(repeats=final),) if final else (),
        mask=mask,
    )
