"""Replacement and RePaint: joint reverse steps, the observed values put back after each."""

import equinox as eqx
import jax.numpy as jnp

from geomndp import _checks
from geomndp.samplers.base import AbstractSampler, refuse_noise
from geomndp.samplers.held import Split, replacement
from geomndp.samplers.program import Phase, Program
from geomndp.solve import AbstractGrid, AbstractReverse, Exponential, Power


class RePaint(AbstractSampler):
    """Lugmayr et al. 2022: every reverse step is made `inner` times, noised forward in between."""

    steps: int = eqx.field(default=100, static=True)
    inner: int = eqx.field(default=5, static=True)
    rule: AbstractReverse = Exponential()
    grid: AbstractGrid = Power(7.0)
    pads = True

    def __check_init__(self):
        _checks.at_least(1, steps=self.steps, inner=self.inner)

    def check(self, problem):
        refuse_noise(self, problem)

    def program(self, problem):
        field, noising, m = problem.joint(), problem.noising, problem.num_observed
        init, (reverse, reverse_noise, _) = replacement(problem, "outer", self.rule, coupled=True)
        rows, root = problem.joint_noise(), field.gram().root()

        def again(state, times, noise):
            _, t, s = times
            y = jnp.concatenate(reverse(state, times, noise[:2]))
            gap = noising.schedule.integral(t) - noising.schedule.integral(s)
            y = noising.noised(gap, field.x, y, root.mv(noise[2]))
            return Split(y[:m], y[m:])

        repeats = Phase(again, (*reverse_noise, rows), self.inner - 1)
        return Program(
            init=init,
            init_noise=(rows,),
            phases=(repeats, Phase(reverse, reverse_noise))[0 if self.inner > 1 else 1 :],
            inputs=problem.times(self.grid, self.steps),
            finish=lambda state: state.y,
            evaluations=self.steps * self.inner * self.rule.evaluations,
            mask=problem.mask,
        )


class Replacement(AbstractSampler):
    """Song et al. 2021: no correction at all; biased, and here for comparison."""

    steps: int = eqx.field(default=500, static=True)
    rule: AbstractReverse = Exponential()
    grid: AbstractGrid = Power(7.0)
    pads = True

    def __check_init__(self):
        _checks.at_least(1, steps=self.steps)

    def check(self, problem):
        refuse_noise(self, problem)

    def program(self, problem):
        return RePaint(self.steps, 1, self.rule, self.grid).program(problem)
