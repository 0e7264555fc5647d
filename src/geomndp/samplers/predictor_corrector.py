"""Programs of reverse steps with Langevin corrector steps of the targets after each."""

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, NamedTuple

from geomndp import _validation
from geomndp._types import Outputs
from geomndp.samplers.base import AbstractProgramSampler
from geomndp.samplers.conditional_langevin import (
    ContextTargetState,
    LangevinForce,
    conditional_force,
    replacement,
    with_latent_context,
)
from geomndp.samplers.context_noising import SCHEMES, ContextNoising, context_noising
from geomndp.samplers.problem import Problem
from geomndp.samplers.program import Phase, Program
from geomndp.solve import AbstractReverseStep

if TYPE_CHECKING:  # to pyright an AbstractVar is a field, the first of every subclass
    from typing import ClassVar as AbstractVar
else:
    from equinox import AbstractVar


class AbstractPredictorCorrector(AbstractProgramSampler):
    """Settings that predictor-correctors share.

    Attributes:
        num_corrector_steps: Langevin steps after each reverse step.
        context: Noising of the context values: "inner", "outer", "path" or "none".
        step: Reverse step.
    """

    num_corrector_steps: AbstractVar[int]
    context: AbstractVar[str]
    step: AbstractVar[AbstractReverseStep]

    def __check_init__(self):
        _validation.at_least(1, steps=self.steps)
        _validation.at_least(0, num_corrector_steps=self.num_corrector_steps)
        _validation.one_of("context", self.context, SCHEMES)


class LangevinState(NamedTuple):
    """State of a Langevin sampler.

    Attributes:
        values: Of all points.
        velocity: Of the targets (n, p), or () for overdamped dynamics.
    """

    values: ContextTargetState
    velocity: Any


LangevinMove = Callable[
    [Any, Callable[[Outputs], Outputs], Outputs, Any, Outputs], tuple[Outputs, Any]
]
"""One corrector step, (times, drift, y, velocity, xi) -> (y, velocity)."""


def predictor_corrector(
    sampler: AbstractPredictorCorrector,
    problem: Problem,
    move: LangevinMove,
    *,
    overdamped: bool,
    final: int = 0,
) -> Program:
    """Program of reverse steps with Langevin corrector steps after each.

    Args:
        sampler: The settings.
        problem: Model, targets and observations.
        move: One corrector step.
        overdamped: Whether there are no velocities.
        final: Number of corrector steps after all others.

    Returns:
        The program.
    """
    targets, mask, problem = len(problem.x), problem.mask, with_latent_context(problem)
    context, force = context_noising(problem, sampler.context), conditional_force(problem)
    start, (predict, predict_noise, _) = replacement(
        problem, sampler.context, sampler.step, coupled=sampler.context == "path"
    )
    target_noise = problem.target_noise()

    def init(noise):
        return LangevinState(start(noise), () if overdamped else force.noise(noise[1]))

    def predicted(state, times, noise):
        return LangevinState(predict(state.values, times, noise), state.velocity)

    corrected = _corrector_step(move, context, force)
    moves = Phase(corrected, (problem.context_noise(), target_noise), sampler.num_corrector_steps)
    phases = (Phase(predicted, predict_noise), moves)
    per_step = sampler.step.evaluations + sampler.num_corrector_steps
    return Program(
        init=init,
        init_noise=(problem.joint_noise(), target_noise)[: 1 if overdamped else 2],
        phases=phases if sampler.num_corrector_steps else phases[:1],
        inputs=problem.times(sampler.time_grid, sampler.steps),
        finish=lambda state: state.values.y[len(problem.x) - targets :],
        evaluations=sampler.steps * per_step + final,
        last=(moves._replace(repeats=final),) if final else (),
        mask=mask,
    )


def _corrector_step(move: LangevinMove, context: ContextNoising, force: LangevinForce):
    """One corrector step of a program, on a context that is noised anew."""

    def corrected(state, times, noise):
        s = times[2]
        observed = context.again(s, state.values.observed, context.xi(noise[0]))
        xi = force.noise(noise[1])
        y, velocity = move(
            times, lambda y: force.drift(s, observed, y), state.values.y, state.velocity, xi
        )
        return LangevinState(ContextTargetState(observed, y), velocity)

    return corrected
