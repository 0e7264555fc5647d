"""Sampling by one reverse pass given the context, whose points stay at their own times.

With no observations this draws from the model itself, whatever its score.
"""

import equinox as eqx

from geomndp import _validation
from geomndp._deprecated import renamed_arguments
from geomndp.samplers.base import AbstractProgramSampler
from geomndp.samplers.problem import Problem, check_amortised, conditional_dynamics
from geomndp.samplers.program import Phase, Program
from geomndp.samplers.start import COEFFICIENTS, TERMS, start, start_evaluations
from geomndp.solve import (
    AbstractDynamics,
    AbstractFixedStepSolver,
    AbstractReverseStep,
    AbstractTimeGrid,
    ExponentialAdams,
    LogSnrTimeGrid,
    Multistep,
    Ode,
    PowerTimeGrid,
    ReverseState,
)


@renamed_arguments(rule="step", grid="time_grid")
class Amortised(AbstractProgramSampler):
    """Reverse SDE, or probability flow, of the conditional law: the default on manifolds.

    Needs a score trained with contexts, which gives the conditional score directly; exact for any
    data as the steps grow. Few steps of the SDE lose variance: 30 a twentieth of a smooth field's,
    8 half of it (docs/choosing_a_sampler.md); `adams(24)`, the default for flat outputs, does not.

    Attributes:
        steps: Reverse steps.
        step: Reverse step.
        time_grid: Where the diffusion times lie.
        start_terms: Evaluations, 0 to 3, for the covariance that is left at time one
            (`samplers.start`): without, many points per lengthscale lose variance.

    Example:
        >>> posterior.sample(x, key=key, sampler=Amortised(100))  # doctest: +SKIP
    """

    steps: int = eqx.field(default=50, static=True)
    step: AbstractReverseStep = Multistep()
    time_grid: AbstractTimeGrid = PowerTimeGrid(7.0)
    start_terms: int = eqx.field(default=TERMS, static=True)
    pads = True
    outputs_apart = True

    def __check_init__(self):
        _validation.at_least(1, steps=self.steps)
        _validation.at_least(0, start_terms=self.start_terms)
        if self.start_terms >= len(COEFFICIENTS):
            raise ValueError(f"expected start_terms <= 3, got {self.start_terms}")

    def check(self, problem):
        check_amortised(problem)
        self.step.check(problem.noising)

    def program(self, problem):
        dynamics = conditional_dynamics(problem)
        settings = self.step, self.time_grid, self.steps
        return reverse_pass(problem, dynamics, *settings, start_terms=self.start_terms)


@renamed_arguments(grid="time_grid")
def flow(
    steps: int = 10,
    solver: AbstractFixedStepSolver | None = None,
    time_grid: AbstractTimeGrid | None = None,
) -> Amortised:
    """Sampler that maps noise to functions by the probability flow, deterministically.

    Args:
        steps: Steps of the solver.
        solver: Fixed-step method, by default RK4.
        time_grid: Where the diffusion times lie, by default `PowerTimeGrid(7.0)`.

    Returns:
        The sampler.
    """
    step = Ode() if solver is None else Ode(solver)
    return Amortised(steps, step, PowerTimeGrid(7.0) if time_grid is None else time_grid)


def adams(
    steps: int = 24,
    floor: float = 1e-5,
    order: int | None = None,
    stochastic_above: float = 0.05,
    start_terms: int = TERMS,
) -> Amortised:
    """Sampler by exponential Adams-Bashforth steps: the default for flat outputs.

    Times are uniform in the logarithm of the noise-to-signal ratio. With an exact Gaussian score 24
    of these steps are more accurate than 50 of `Amortised` (docs/choosing_a_sampler.md).

    Args:
        steps: Steps, one evaluation each.
        floor: Smallest variance in the data, over the limiting one. With a larger one, such as half
            the variance of known noise, fewer steps are needed.
        order: Order, 1 to 4; by default 4, below 20 steps 3, below 8 steps 2.
        stochastic_above: Noise-to-signal ratio, over the one at time one, above which the steps are
            those of the reverse SDE: 1 for a deterministic sampler.
        start_terms: As of `Amortised`.

    Returns:
        The sampler.

    Example:
        >>> posterior.sample(x, key=key, sampler=adams(12, floor=1e-2))  # doctest: +SKIP
    """
    if order is None:
        order = 4 if steps >= 20 else 3 if steps >= 8 else 2
    step = ExponentialAdams(order, floor, stochastic_above)
    return Amortised(steps, step, LogSnrTimeGrid(floor), start_terms)


def reverse_pass(
    problem: Problem,
    dynamics: AbstractDynamics,
    reverse_step: AbstractReverseStep,
    time_grid: AbstractTimeGrid,
    steps: int,
    cost: int = 1,
    start_terms: int = TERMS,
) -> Program:
    """Program of reverse steps from time one to t_min.

    Args:
        problem: Targets and observations.
        dynamics: Points that move: the targets, or all points, context first.
        reverse_step: Reverse step.
        time_grid: Where the diffusion times lie.
        steps: Number of steps.
        cost: Score evaluations of one score of the dynamics.
        start_terms: Terms of the series of the start.

    Returns:
        The program, whose result is the values (n, p) of the targets.
    """
    root = dynamics.gram().root()
    first = len(dynamics.x) - len(problem.x)
    rows = problem.joint_noise() if first else problem.target_noise()
    first_cost = start_evaluations(dynamics, start_terms)

    def init(noise):
        y = start(dynamics, root, noise[0], start_terms)
        return ReverseState(y, reverse_step.memory(y))

    def step(state, times, noise):
        before, t, s = times
        return reverse_step(dynamics, before, t, s, state, root.mv(noise[0]))

    return Program(
        init=init,
        init_noise=(rows,),
        phases=(Phase(step, (rows,)),),
        inputs=problem.times(time_grid, steps, reverse_step.num_before),
        finish=lambda state: state.y[first:],
        evaluations=(first_cost + steps * reverse_step.evaluations) * cost,
        mask=problem.mask,
    )
