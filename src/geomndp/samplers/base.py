"""Interface of the samplers: what they check and draw."""

import abc
from typing import TYPE_CHECKING, ClassVar, NamedTuple

import equinox as eqx
import jax
import jax.numpy as jnp

from geomndp._types import Array, Float, Int, PRNGKeyArray
from geomndp.samplers.problem import Problem
from geomndp.samplers.program import Program, run, sample_keys
from geomndp.solve import AbstractTimeGrid

if TYPE_CHECKING:  # to pyright an AbstractVar is a field, the first of every subclass
    from typing import ClassVar as AbstractVar
else:
    from equinox import AbstractVar


class Info(NamedTuple):
    """Diagnostics of a draw.

    Attributes:
        times: Diffusion time after every outer step.
        rms: Root mean square of the values after every outer step, over all samples.
        evaluations: Score evaluations of every sample; None where a sampler does not count them.
    """

    times: Float[Array, " steps"]
    rms: Float[Array, " steps"]
    evaluations: Int[Array, " s"] | None = None


class Samples(NamedTuple):
    """Samples of a problem.

    Attributes:
        y: Values (s, n, p).
        info: Diagnostics.
    """

    y: Float[Array, "s n p"]
    info: Info


class AbstractSampler(eqx.Module):
    """Draws functions from p(y | observations).

    `pads` says that padding of observations and targets changes nothing: a sampler that passes the
    problem's masks on may set it, and is then compiled for few sizes. Others never see masks.
    `outputs_apart` says that single outputs of a point may be observed or asked for.
    """

    pads: ClassVar[bool] = False
    outputs_apart: ClassVar[bool] = False

    @abc.abstractmethod
    def check(self, problem: Problem) -> None:
        """Check that this sampler supports a problem.

        Args:
            problem: Model, targets and observations.

        Raises:
            ValueError: If it does not; the message says which samplers do.
        """

    @abc.abstractmethod
    def draw(self, problem: Problem, *, key: PRNGKeyArray, num_samples: int) -> Samples:
        """Draw independent samples; the i-th depends on the key and i alone.

        Args:
            problem: Model, targets (n, d) and observations.
            key: Random key.
            num_samples: Number of samples s.

        Returns:
            Values (s, n, p) in the model's units, with diagnostics.
        """


class AbstractProgramSampler(AbstractSampler):
    """A sampler whose steps are a `Program`.

    Such a sampler can be split into blocks of samples and stretches of steps, and with a Gaussian
    score the law of its samples can be computed exactly (`geomndp.law`).

    Attributes:
        steps: Number of outer steps.
        time_grid: Where their diffusion times lie; None for the grid of flow maps.
    """

    steps: AbstractVar[int]
    time_grid: AbstractVar[AbstractTimeGrid | None]

    @abc.abstractmethod
    def program(self, problem: Problem) -> Program:
        """Steps of the sampler.

        Args:
            problem: Model, targets (n, d) and observations, which `check` has accepted.

        Returns:
            A program whose result is the values (n, p) of the targets.
        """

    def draw(self, problem, *, key, num_samples):
        program, dtype = self.program(problem), problem.x.dtype
        keys = sample_keys(key, num_samples)
        y, rms, evaluations = jax.vmap(lambda key: run(program, dtype, key=key))(keys)
        _, _, times = problem.times(self.time_grid, self.steps)
        return Samples(y, Info(times, jnp.sqrt(jnp.mean(rms**2, axis=0)), evaluations))


def require_noiseless(sampler: AbstractSampler, problem: Problem) -> None:
    """Raise ValueError for noisy observations, for samplers that reproduce their values exactly."""
    if problem.observations.noisy:
        raise ValueError(
            f"expected observations without noise for {type(sampler).__name__}, which reproduces "
            "their values exactly; Langevin, MomentMatching and TwistedSMC take noise"
        )


def require_outputs_apart(sampler: AbstractSampler) -> None:
    """Raise ValueError for a sampler that knows whole rows only, not outputs observed apart."""
    if not sampler.outputs_apart:
        raise ValueError(
            f"expected all outputs of an observation for {type(sampler).__name__}, got some that "
            "are missing; use Amortised or AdaptiveFlow"
        )


def require_flat(sampler: AbstractSampler, problem: Problem) -> None:
    """Raise ValueError for values on a manifold, for samplers of flat space."""
    if not problem.noising.flat:
        raise ValueError(
            f"expected values in flat space for {type(sampler).__name__}, got values in "
            f"{problem.noising.manifold}; use Amortised, Langevin, RePaint or MomentMatching"
        )
