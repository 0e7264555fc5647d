"""Probability flow by an adaptive solver."""

import equinox as eqx
import jax.numpy as jnp

from geomndp._deprecated import renamed_arguments
from geomndp.samplers.base import AbstractProgramSampler
from geomndp.samplers.problem import check_amortised, conditional_dynamics
from geomndp.samplers.program import Phase, Program
from geomndp.samplers.start import start, start_evaluations
from geomndp.solve import AbstractTimeGrid, Adaptive, PowerTimeGrid


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
    outputs_apart = True

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
