"""Sampling by one reverse pass given the context, whose points stay at their own times.

With no observations this draws from the model itself, whatever its score.
"""

import equinox as eqx
import jax.numpy as jnp

from geomndp import _validation
from geomndp._deprecated import renamed_arguments
from geomndp._types import Outputs
from geomndp.linalg import AbstractGram
from geomndp.samplers.base import AbstractProgramSampler
from geomndp.samplers.problem import Problem, check_amortised, conditional_dynamics
from geomndp.samplers.program import Phase, Program
from geomndp.solve import (
    AbstractDynamics,
    AbstractFixedStepSolver,
    AbstractReverseStep,
    AbstractTimeGrid,
    Multistep,
    Ode,
    PowerTimeGrid,
    ReverseState,
)


@renamed_arguments(rule="step", grid="time_grid")
class Amortised(AbstractProgramSampler):
    """Reverse SDE, or probability flow, of the conditional law: the default sampler.

    Needs a score trained with contexts, which gives the conditional score directly; exact for any
    data as the steps grow. Few of them lose variance: 30 a twentieth of a smooth field's, 8 half of
    it (docs/choosing_a_sampler.md), where `flow(5)` is better in 20 evaluations.

    Attributes:
        steps: Reverse steps.
        step: Reverse step.
        time_grid: Where the diffusion times lie.

    Example:
        >>> posterior.sample(x, key=key, sampler=Amortised(100))  # doctest: +SKIP
    """

    steps: int = eqx.field(default=50, static=True)
    step: AbstractReverseStep = Multistep()
    time_grid: AbstractTimeGrid = PowerTimeGrid(7.0)
    pads = True
    outputs_apart = True

    def __check_init__(self):
        _validation.at_least(1, steps=self.steps)

    def check(self, problem):
        check_amortised(problem)

    def program(self, problem):
        dynamics = conditional_dynamics(problem)
        return reverse_pass(problem, dynamics, self.step, self.time_grid, self.steps)


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


def start(dynamics: AbstractDynamics, root: AbstractGram, z: Outputs) -> Outputs:
    r"""Draw from about the law at time one, N(m + sigma u(m), K).

    The limiting law lacks the mean $a (E[y_0] - m)$ that is left at time one. Tweedie's formula at
    y = m restores it, for one evaluation; a flow never forgets the lack.
    On a manifold the limiting law, which is uniform, is reached far better.

    Args:
        dynamics: Free points and their score.
        root: Root of the limiting covariance there.
        z: White noise (n, p).

    Returns:
        Values (n, p).
    """
    if not dynamics.noising.flat:
        return dynamics.noising.limit_from_noise(dynamics.x, root.mv(z))
    m = dynamics.mean()
    one = jnp.ones((), dtype=m.dtype)
    return m + dynamics.noising.sigma(one) * dynamics.u(one, m) + root.mv(z)


def start_evaluations(dynamics: AbstractDynamics) -> int:
    """Score evaluations of `start`."""
    return int(dynamics.noising.flat)


def reverse_pass(
    problem: Problem,
    dynamics: AbstractDynamics,
    reverse_step: AbstractReverseStep,
    time_grid: AbstractTimeGrid,
    steps: int,
    cost: int = 1,
) -> Program:
    """Program of reverse steps from time one to t_min.

    Args:
        problem: Targets and observations.
        dynamics: Points that move: the targets, or all points, context first.
        reverse_step: Reverse step.
        time_grid: Where the diffusion times lie.
        steps: Number of steps.
        cost: Score evaluations of one score of the dynamics.

    Returns:
        The program, whose result is the values (n, p) of the targets.
    """
    root = dynamics.gram().root()
    first = len(dynamics.x) - len(problem.x)
    rows = problem.joint_noise() if first else problem.target_noise()

    def init(noise):
        y = start(dynamics, root, noise[0])
        return ReverseState(y, y)

    def step(state, times, noise):
        before, t, s = times
        return reverse_step(dynamics, before, t, s, state, root.mv(noise[0]))

    return Program(
        init=init,
        init_noise=(rows,),
        phases=(Phase(step, (rows,)),),
        inputs=problem.times(time_grid, steps),
        finish=lambda state: state.y[first:],
        evaluations=(start_evaluations(dynamics) + steps * reverse_step.evaluations) * cost,
        mask=problem.mask,
    )
