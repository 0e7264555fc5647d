"""One reverse pass over a field, as a program."""

import jax.numpy as jnp

from geomndp._linalg import AbstractGram
from geomndp._types import Outputs
from geomndp.samplers.base import Problem
from geomndp.samplers.program import Phase, Program
from geomndp.solve import AbstractField, AbstractGrid, AbstractReverse, ReverseState


def start(field: AbstractField, root: AbstractGram, z: Outputs) -> Outputs:
    r"""Draw from about the law at time one, N(m + sigma u(m), K).

    The limiting law lacks the mean $a (E[y_0] - m)$ that is left at time one. Tweedie's formula at
    y = m restores it, for one evaluation that all samples share; a flow never forgets the lack.
    On a manifold the limiting law, which is uniform, is reached far better.
    """
    if not field.noising.manifold.flat:
        return field.noising.limit(field.x, root.mv(z))
    m = field.mean()
    one = jnp.ones((), dtype=m.dtype)
    return m + field.noising.sigma(one) * field.u(one, m) + root.mv(z)


def reverse_pass(
    problem: Problem,
    field: AbstractField,
    rule: AbstractReverse,
    grid: AbstractGrid,
    steps: int,
    cost: int = 1,
) -> Program:
    """Program from time one to eps; `cost` is that of one score of the field.

    The result is the last rows of the field, those of the problem's targets.
    """
    root = field.gram().root()
    first = len(field.x) - len(problem.x)
    rows = problem.joint_noise() if first else problem.target_noise()

    def init(noise):
        y = start(field, root, noise[0])
        return ReverseState(y, y)

    def step(state, times, noise):
        before, t, s = times
        return rule.step(field, before, t, s, state, root.mv(noise[0]))

    return Program(
        init=init,
        init_noise=(rows,),
        phases=(Phase(step, (rows,)),),
        inputs=problem.times(grid, steps),
        finish=lambda state: state.y[first:],
        evaluations=(1 + steps * rule.evaluations) * cost,
        mask=problem.mask,
    )
