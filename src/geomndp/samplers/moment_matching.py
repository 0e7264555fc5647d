"""Reverse pass of all points under moment-matching guidance: needs the joint score only."""

import equinox as eqx

from geomndp import _checks
from geomndp.samplers.base import AbstractSampler
from geomndp.samplers.guidance import evaluations, guided
from geomndp.samplers.program import Phase, Program
from geomndp.solve import AbstractGrid, AbstractReverse, Multistep, Power, ReverseState


class MomentMatching(AbstractSampler):
    """Exact for Gaussian data as the steps grow; an approximation for other data."""

    steps: int = eqx.field(default=50, static=True)
    rule: AbstractReverse = Multistep()
    grid: AbstractGrid = Power(3.0)
    most_dense: int = eqx.field(default=64, static=True)
    iterations: int = eqx.field(default=30, static=True)

    def __check_init__(self):
        _checks.at_least(1, steps=self.steps, iterations=self.iterations)

    def check(self, problem):
        """Every problem is welcome."""

    def program(self, problem):
        field = problem.joint()
        cost = 1
        if problem.num_observed:
            field = guided(problem, self.most_dense, self.iterations)
            cost = evaluations(field)
        mean, root = field.mean(), field.gram().root()

        def init(noise):
            y = mean + root.mv(noise[0])
            return ReverseState(y, y)

        def step(state, times, noise):
            before, t, s = times
            return self.rule.step(field, before, t, s, state, root.mv(noise[0]))

        return Program(
            init=init,
            init_noise=(mean.shape,),
            phases=(Phase(step, (mean.shape,)),),
            inputs=problem.times(self.grid, self.steps),
            finish=lambda state: state.y[problem.num_observed :],
            evaluations=self.steps * self.rule.evaluations * cost,
        )
