"""Reverse pass of all points under moment-matching guidance: needs the joint score only."""

import equinox as eqx

from geomndp import _checks
from geomndp.samplers.base import AbstractSampler
from geomndp.samplers.guidance import evaluations, guided
from geomndp.samplers.reverse import reverse_pass
from geomndp.solve import AbstractGrid, AbstractReverse, Multistep, Power


class MomentMatching(AbstractSampler):
    """Exact for Gaussian data as the steps grow; an approximation for other data."""

    steps: int = eqx.field(default=50, static=True)
    rule: AbstractReverse = Multistep()
    grid: AbstractGrid = Power(7.0)
    most_dense: int = eqx.field(default=64, static=True)
    iterations: int = eqx.field(default=30, static=True)
    pads = True

    def __check_init__(self):
        _checks.at_least(1, steps=self.steps, iterations=self.iterations)
        _checks.at_least(0, most_dense=self.most_dense)

    def check(self, problem):
        pass

    def program(self, problem):
        field, cost = problem.joint(), 1
        if problem.num_observed:
            field = guided(problem, self.most_dense, self.iterations)
            cost = evaluations(field)
        return reverse_pass(problem, field, self.rule, self.grid, self.steps, cost)
