"""Sampling by one reverse pass, observations held at their own times.

With no observations this draws from the model itself, whatever its score.
"""

import equinox as eqx
import jax.numpy as jnp

from geomndp import _checks
from geomndp._buckets import bucket
from geomndp.samplers.base import AbstractSampler, Problem
from geomndp.samplers.padding import pad_observations
from geomndp.samplers.program import Phase, Program
from geomndp.samplers.reverse import reverse_pass, start
from geomndp.solve import (
    AbstractFixed,
    AbstractGrid,
    AbstractReverse,
    Adaptive,
    Field,
    Multistep,
    Ode,
    Power,
)


class Amortised(AbstractSampler):
    """Reverse SDE or flow of the conditional law, whose score the model gives directly."""

    steps: int = eqx.field(default=50, static=True)
    rule: AbstractReverse = Multistep()
    grid: AbstractGrid = Power(7.0)
    pads = True

    def __check_init__(self):
        _checks.at_least(1, steps=self.steps)

    def check(self, problem):
        check_amortised(problem)

    def program(self, problem):
        field = conditional_field(problem)
        return reverse_pass(problem, field, self.rule, self.grid, self.steps)


def flow(
    steps: int = 10, solver: AbstractFixed | None = None, grid: AbstractGrid | None = None
) -> Amortised:
    """Deterministic sampling by the probability flow (RK4 unless another solver is given)."""
    rule = Ode() if solver is None else Ode(solver)
    return Amortised(steps, rule, Power(7.0) if grid is None else grid)


def conditional_field(problem: Problem) -> Field:
    """Field of the targets given the observations at their own times."""
    context = None
    if problem.num_observed:
        context = problem.observations.as_context(problem.noising)
    return Field(problem.noising, problem.score, problem.x, problem.mask, context)


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
    if _checks.concrete(observations.noise) and _checks.concrete(observations.x):
        observations = pad_observations(observations, bucket(problem.num_observed))
        total = noising.schedule.integral(jnp.ones((), dtype=observations.noise.dtype))
        level = jnp.max(noising.time_of(observations.x, observations.noise))
        # Inside jit even what is concrete is staged.
        if _checks.concrete(level) and level > total:
            most, got = (
                (noising.spread(b) / jnp.exp(noising.log_decay(b))) ** 2 for b in (total, level)
            )
            raise ValueError(
                f"expected noise at most {float(most):.3g} times the limiting "
                f"variance, got {float(got):.3g} times"
            )


class AdaptiveFlow(AbstractSampler):
    """Probability flow by an adaptive solver; its steps are chosen on the way."""

    solver: Adaptive = Adaptive()
    steps: int = eqx.field(default=1, static=True)
    grid: AbstractGrid = Power(7.0)
    pads = True

    def check(self, problem):
        check_amortised(problem)

    def program(self, problem):
        field = conditional_field(problem)
        root = field.gram().root()

        def step(y, times, noise):
            _, t, s = times
            onto, norm = field.noising.manifold.onto, field.norm()
            return self.solver.integrate(field.flow, jnp.stack([t, s]), y, onto, norm)[0]

        return Program(
            init=lambda noise: start(field, root, noise[0]),
            init_noise=(problem.target_noise(),),
            phases=(Phase(step, ()),),
            inputs=problem.times(self.grid, self.steps),
            finish=lambda y: y,
            evaluations=0,
            mask=problem.mask,
        )
