"""Replacement and RePaint: joint reverse steps, after each of which context values are replaced."""

import equinox as eqx
import jax.numpy as jnp

from geomndp import _validation
from geomndp._deprecated import renamed_arguments
from geomndp.samplers.base import AbstractProgramSampler, require_noiseless
from geomndp.samplers.conditional_langevin import ContextTargetState, replacement
from geomndp.samplers.program import Phase, Program
from geomndp.solve import AbstractReverseStep, AbstractTimeGrid, Exponential, PowerTimeGrid


@renamed_arguments(inner="num_resamplings", rule="step", grid="time_grid")
class RePaint(AbstractProgramSampler):
    """RePaint (Lugmayr et al. 2022): replacement with resampling; biased.

    Attributes:
        steps: Reverse steps.
        num_resamplings: How often each of them is made, noised again in between.
        step: Reverse step.
        time_grid: Where the diffusion times lie.
    """

    steps: int = eqx.field(default=100, static=True)
    num_resamplings: int = eqx.field(default=5, static=True)
    step: AbstractReverseStep = Exponential()
    time_grid: AbstractTimeGrid = PowerTimeGrid(7.0)
    pads = True

    def __check_init__(self):
        _validation.at_least(1, steps=self.steps, num_resamplings=self.num_resamplings)

    def check(self, problem):
        require_noiseless(self, problem)

    def program(self, problem):
        dynamics, noising, m = problem.joint(), problem.noising, problem.num_observed
        init, (reverse, reverse_noise, _) = replacement(problem, "outer", self.step, coupled=True)
        rows, root = problem.joint_noise(), dynamics.gram().root()

        def again(state, times, noise):
            _, t, s = times
            y = jnp.concatenate(reverse(state, times, noise[:2]))
            integrated_time = noising.schedule.integral(t) - noising.schedule.integral(s)
            y = noising.transition(integrated_time, dynamics.x, y, root.mv(noise[2]))
            return ContextTargetState(y[:m], y[m:])

        repeats = Phase(again, (*reverse_noise, rows), self.num_resamplings - 1)
        return Program(
            init=init,
            init_noise=(rows,),
            phases=(repeats, Phase(reverse, reverse_noise))[0 if self.num_resamplings > 1 else 1 :],
            inputs=problem.times(self.time_grid, self.steps),
            finish=lambda state: state.y,
            evaluations=self.steps * self.num_resamplings * self.step.evaluations,
            mask=problem.mask,
        )


@renamed_arguments(rule="step", grid="time_grid")
class Replacement(AbstractProgramSampler):
    """Replacement (Song et al. 2021): no correction at all; biased, for comparison.

    Attributes:
        steps: Reverse steps.
        step: Reverse step.
        time_grid: Where the diffusion times lie.
    """

    steps: int = eqx.field(default=500, static=True)
    step: AbstractReverseStep = Exponential()
    time_grid: AbstractTimeGrid = PowerTimeGrid(7.0)
    pads = True

    def __check_init__(self):
        _validation.at_least(1, steps=self.steps)

    def check(self, problem):
        require_noiseless(self, problem)

    def program(self, problem):
        return RePaint(self.steps, 1, self.step, self.time_grid).program(problem)
