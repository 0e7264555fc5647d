"""Sampling by one reverse pass given the context, whose points stay at their own times.

With no observations this draws from the model itself, whatever its score.
"""

import equinox as eqx
import jax
import jax.numpy as jnp

from geomndp import _validation
from geomndp._arrays import bucket
from geomndp._deprecated import renamed_arguments
from geomndp.samplers.base import AbstractProgramSampler
from geomndp.samplers.padding import pad_observations
from geomndp.samplers.problem import Problem
from geomndp.samplers.program import Phase, Program
from geomndp.samplers.reverse_pass import reverse_pass, start, start_evaluations
from geomndp.solve import (
    AbstractFixedStepSolver,
    AbstractReverseStep,
    AbstractTimeGrid,
    Adaptive,
    ConditionalDynamics,
    Multistep,
    Ode,
    PowerTimeGrid,
)


@renamed_arguments(rule="step", grid="time_grid")
class Amortised(AbstractProgramSampler):
    """Reverse SDE, or probability flow, of the conditional law: the default sampler.

    Needs a score trained with contexts, which gives the conditional score directly; exact for any
    data as the steps grow.

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


def conditional_dynamics(problem: Problem) -> ConditionalDynamics:
    """Dynamics of the targets given the observations.

    Args:
        problem: Model, targets (n, d) and observations.

    Returns:
        Dynamics of the n targets, with the observations as context at their own diffusion times.
    """
    context = None
    if problem.num_observed:
        context = problem.observations.as_context(problem.noising)
    return ConditionalDynamics(problem.noising, problem.score, problem.x, problem.mask, context)


def check_amortised(problem: Problem) -> None:
    """Check that a score can be conditioned by one pass.

    Args:
        problem: Model, targets and observations.

    Raises:
        ValueError: If the score was not trained with contexts; if observations are noisy and the
            limiting kernel is not white, or there is more noise than the noising process has.
    """
    if not problem.num_observed:
        return
    if not problem.score.conditional:
        raise ValueError(
            "expected a score trained with contexts (score.conditional), got one that knows "
            "equal times only; use Langevin or MomentMatching"
        )
    observations, noising = problem.observations, problem.noising
    if not observations.noisy:
        return
    if not noising.kernel.white:
        raise ValueError(
            "expected a white limiting kernel for observation noise in amortised conditioning, "
            f"got {type(noising.kernel).__name__}; use Langevin or MomentMatching"
        )
    if all(map(_validation.concrete, jax.tree.leaves(observations))):
        observations = pad_observations(observations, bucket(problem.num_observed))
        total = noising.schedule.integral(jnp.ones((), dtype=observations.noise.dtype))
        level = jnp.max(noising.integrated_time_of_noise(observations.x, observations.noise))
        # Inside jit even what is concrete is staged.
        if _validation.concrete(level) and level > total:
            most, got = (
                (noising.transition_std(b) / jnp.exp(noising.log_mean_coefficient(b))) ** 2
                for b in (total, level)
            )
            raise ValueError(
                f"expected noise at most {float(most):.3g} times the limiting "
                f"variance, got {float(got):.3g} times"
            )


@renamed_arguments(grid="time_grid")
class AdaptiveFlow(AbstractProgramSampler):
    """Probability flow by an adaptive solver, which chooses its steps by their error.

    Attributes:
        solver: Adaptive method and its tolerances.
        steps: Intervals of diffusion time that are solved one after another.
        time_grid: Where their ends lie.
    """

    solver: Adaptive = Adaptive()
    steps: int = eqx.field(default=1, static=True)
    time_grid: AbstractTimeGrid = PowerTimeGrid(7.0)
    pads = True

    def check(self, problem):
        check_amortised(problem)

    def program(self, problem):
        dynamics = conditional_dynamics(problem)
        root = dynamics.gram().root()

        def init(noise):
            y = start(dynamics, root, noise[0])
            return y, jnp.asarray(start_evaluations(dynamics), jnp.int32)

        def step(state, times, noise):
            (y, evaluations), (_, t, s) = state, times
            retract, norm = dynamics.noising.manifold.retract, dynamics.norm()
            times = jnp.stack([t, s])
            y, more = self.solver.integrate(dynamics.flow, times, y, retract, norm)
            return y, evaluations + more.astype(jnp.int32)

        return Program(
            init=init,
            init_noise=(problem.target_noise(),),
            phases=(Phase(step, ()),),
            inputs=problem.times(self.time_grid, self.steps),
            finish=lambda state: state[0],
            evaluations=lambda state: state[1],
            mask=problem.mask,
            affine=False,  # its steps depend on the values
        )
