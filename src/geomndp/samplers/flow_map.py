"""Sampling by a student's flow map: whole steps of the probability flow, one evaluation each."""

import equinox as eqx

from geomndp import _validation
from geomndp.samplers.base import AbstractProgramSampler
from geomndp.samplers.problem import Problem, check_amortised, conditional_dynamics
from geomndp.samplers.program import Phase, Program
from geomndp.samplers.start import start, start_evaluations
from geomndp.solve import AbstractTimeGrid


class FlowMap(AbstractProgramSampler):
    r"""Whole steps of the probability flow, for students of `gn.distil` alone.

    Noise is mapped from time one to t_min by `calls` steps $y \leftarrow X(t \to s; y)$. One more
    evaluation, shared by all samples, gives the mean of the law at time one. With `noise` every
    step but the last leads further, to $r = s - noise\,(s - t_{min})$, and fresh noise leads back
    to s: errors of the map then do not add up, but single samples vary.

    Attributes:
        calls: Evaluations of the flow map per sample, without the one at the start.
        noise: Share of the way back to noise between two calls: 0 maps deterministically, 1 maps
            to t_min in every call.
        time_grid: Where the times between the calls lie, by default `score.flow_map_grid`, which
            students are trained on.

    Raises:
        ValueError: If there is no call, or the share is not in [0, 1].

    Example:
        >>> student.condition(xc, yc).sample(x, key=0, sampler=FlowMap(4))  # doctest: +SKIP
    """

    calls: int = eqx.field(default=4, static=True)
    noise: float = eqx.field(default=0.0, static=True)
    time_grid: AbstractTimeGrid | None = None
    pads = True
    outputs_apart = True

    def __check_init__(self):
        _validation.at_least(1, calls=self.calls)
        _validation.share(noise=self.noise)

    @property
    def steps(self) -> int:
        """Number of outer steps."""
        return self.calls

    def check(self, problem):
        check_flow_map(problem)

    def program(self, problem):
        dynamics = conditional_dynamics(problem)
        noising, root = dynamics.noising, dynamics.gram().root()
        rows = problem.target_noise()

        def step(y, times, noise):
            _, t, s = times
            if not noise:
                return dynamics.flow_map(t, s, y)
            r = s - self.noise * (s - problem.t_min)
            integrated_time = noising.schedule.integral(s) - noising.schedule.integral(r)
            y = dynamics.flow_map(t, r, y)
            return noising.transition(integrated_time, dynamics.x, y, root.mv(noise[0]))

        return Program(
            init=lambda noise: start(dynamics, root, noise[0], terms=0),
            init_noise=(rows,),
            phases=(Phase(step, (rows,) if self.noise else ()),),
            inputs=problem.times(self.time_grid, self.calls),
            finish=lambda y: y,
            evaluations=start_evaluations(dynamics, terms=0) + self.calls,
            mask=problem.mask,
        )


def check_flow_map(problem: Problem) -> None:
    """Check that the score of a problem knows flow maps, given its observations.

    Args:
        problem: Model, targets and observations.

    Raises:
        ValueError: If it does not.
    """
    if not problem.score.has_flow_map:
        raise ValueError(
            "expected a student with flow maps (gn.distil makes one of a trained model), got a "
            f"{type(problem.score).__name__} without; use Amortised"
        )
    check_amortised(problem)
