"""Sampling by one reverse pass, observations held at their own times.

With no observations this draws from the model itself, whatever its score.
"""

import equinox as eqx
import jax
import jax.numpy as jnp

from geomndp import _validation
from geomndp._arrays import bucket
from geomndp._deprecated import renamed_arguments
from geomndp.samplers.base import AbstractProgramSampler, Problem
from geomndp.samplers.padding import pad_observations
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
    """Reverse SDE or flow of the conditional law, whose score the model gives directly."""

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
    """Deterministic sampling by the probability flow (RK4 unless another solver is given)."""
    step = Ode() if solver is None else Ode(solver)
    return Amortised(steps, step, PowerTimeGrid(7.0) if time_grid is None else time_grid)


def conditional_dynamics(problem: Problem) -> ConditionalDynamics:
    """Field of the targets given the observations at their own times."""
    context = None
    if problem.num_observed:
        context = problem.observations.as_context(problem.noising)
    return ConditionalDynamics(problem.noising, problem.score, problem.x, problem.mask, context)


def check_amortised(problem: Problem) -> None:
    """Refuse what one conditional pass cannot treat."""
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
    """Probability flow by an adaptive solver; its steps are chosen on the way."""

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
