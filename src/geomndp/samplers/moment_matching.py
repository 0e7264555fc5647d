"""Reverse pass of all points under moment-matching guidance: needs the joint score only."""

import equinox as eqx

from geomndp import _validation
from geomndp._deprecated import renamed_arguments
from geomndp.samplers.amortised import reverse_pass
from geomndp.samplers.base import AbstractProgramSampler
from geomndp.samplers.guidance import guided_dynamics
from geomndp.solve import AbstractReverseStep, AbstractTimeGrid, Multistep, PowerTimeGrid


@renamed_arguments(rule="step", grid="time_grid", most_dense="max_dense")
class MomentMatching(AbstractProgramSampler):
    """Reverse pass of all points under moment-matching guidance (Rozet et al. 2024).

    Needs the joint score and its derivatives. Exact for Gaussian data as the steps grow, an
    approximation for other data.

    Attributes:
        steps: Reverse steps.
        step: Reverse step.
        time_grid: Where the diffusion times lie.
        max_dense: Number of context coordinates above which linear systems are solved by conjugate
            gradients.
        iterations: Largest number of their iterations.
    """

    steps: int = eqx.field(default=50, static=True)
    step: AbstractReverseStep = Multistep()
    time_grid: AbstractTimeGrid = PowerTimeGrid(7.0)
    max_dense: int = eqx.field(default=64, static=True)
    iterations: int = eqx.field(default=30, static=True)
    pads = True

    def __check_init__(self):
        _validation.at_least(1, steps=self.steps, iterations=self.iterations)
        _validation.at_least(0, max_dense=self.max_dense)

    def check(self, problem):
        pass

    def program(self, problem):
        dynamics, cost = problem.joint(), 1
        if problem.num_observed:
            dynamics = guided_dynamics(problem, self.max_dense, self.iterations)
            cost = dynamics.evaluations
        return reverse_pass(problem, dynamics, self.step, self.time_grid, self.steps, cost)
