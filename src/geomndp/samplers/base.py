"""What every conditional sampler takes and gives."""

import abc
from typing import TYPE_CHECKING, ClassVar, NamedTuple

import equinox as eqx
import jax
import jax.numpy as jnp

from geomndp._deprecated import renamed_arguments, renamed_attribute
from geomndp._types import Array, Float, Inputs, Mask, Outputs, PRNGKeyArray
from geomndp.linalg import join_masks
from geomndp.noising import AbstractNoising
from geomndp.samplers.noise import Labels, Rows, context_labels, each_key, target_labels
from geomndp.samplers.program import Info, Program, run
from geomndp.score import AbstractScore
from geomndp.solve import AbstractTimeGrid, ConditionalDynamics, Context

if TYPE_CHECKING:  # to pyright an AbstractVar is a field, the first of every subclass
    from typing import ClassVar as AbstractVar
else:
    from equinox import AbstractVar


class Observations(eqx.Module):
    """Observed points; `noise` is a variance a point. `noisy` says whether any of it is not zero.

    `mask` is for padding only, None where every row is real.
    """

    x: Inputs
    y: Outputs
    noise: Float[Array, " m"]
    noisy: bool = eqx.field(static=True)
    mask: Mask | None = None

    def as_context(self, noising: AbstractNoising) -> Context:
        r"""The same observations as points at their own diffusion times.

        Noise of variance r on top of white limiting variance v is what noising does up to the time
        with $\sigma^2 / a^2 = r / v$, where the value is $m + a (y - m)$. On a manifold it is the
        heat kernel's own time, and the value stays.
        """
        zeros = jnp.zeros(len(self.x), dtype=self.x.dtype)
        if not self.noisy:
            return Context(self.x, self.y, zeros, self.mask)
        t = noising.schedule.inverse(noising.integrated_time_of_noise(self.x, self.noise))
        pull = (1 - noising.alpha(t)[:, None]) * noising.mean_reversion(self.x, self.y)
        return Context(self.x, noising.manifold.exp(self.y, pull), t, self.mask)


@renamed_arguments(eps="t_min")
class Problem(eqx.Module):
    """Sample the values at x given observations (there may be none), down to time t_min.

    `mask` marks padding of the targets, None where every row is real. The random draws of a target
    go by its label, which its place among the targets gives where there are none.
    """

    noising: AbstractNoising
    score: AbstractScore
    x: Inputs
    observations: Observations
    t_min: float = eqx.field(static=True)
    mask: Mask | None = None
    labels: Labels | None = None

    eps = renamed_attribute("t_min")

    @property
    def num_observed(self) -> int:
        """Number of observed points."""
        return len(self.observations.x)

    def joint(self) -> ConditionalDynamics:
        """All points, the observed ones first, noised alike: what the joint score describes."""
        observed = self.observations
        sizes = len(observed.x), len(self.x), self.x.dtype
        mask = join_masks(observed.mask, self.mask, *sizes)
        return ConditionalDynamics(
            self.noising, self.score, jnp.concatenate([observed.x, self.x]), mask, None
        )

    def context_noise(self) -> Rows:
        """White noise of the observed points."""
        return Rows(context_labels(self.num_observed), self.noising.dim)

    def target_noise(self) -> Rows:
        """White noise of the targets."""
        labels = target_labels(len(self.x)) if self.labels is None else self.labels
        return Rows(labels, self.noising.dim)

    def joint_noise(self) -> Rows:
        """White noise of all points, the observed ones first."""
        parts = self.context_noise().labels, self.target_noise().labels
        return Rows(jnp.concatenate(parts), self.noising.dim)

    def times(self, time_grid: AbstractTimeGrid, steps: int) -> tuple[Array, Array, Array]:
        """Decreasing times of every step: of the step before, at its start and at its end."""
        t = time_grid(self.noising.schedule, steps, self.t_min, self.x.dtype)[::-1]
        before = jnp.concatenate([t[:1], t[:-2]]) if steps > 1 else t[:1]
        return before, t[:-1], t[1:]


class Samples(NamedTuple):
    """Draws (num_samples, n, p) and what happened on the way."""

    y: Float[Array, "s n p"]
    info: Info


def sample_keys(key: PRNGKeyArray, count: int, first=0) -> Array:
    """Keys of the samples `first`, ..., `first` + `count` - 1, each a function of its number."""
    return each_key(key, first + jnp.arange(count, dtype=jnp.int32))


class AbstractSampler(eqx.Module):
    """Draws functions from p(y | observations).

    `pads` says that padding of observations and targets changes nothing: a sampler that passes the
    problem's masks on may set it, and is then compiled for few sizes. Others are never given masks.
    """

    pads: ClassVar[bool] = False

    @abc.abstractmethod
    def check(self, problem: Problem) -> None:
        """Raise ValueError for a problem that this sampler does not support."""

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
    """

    steps: AbstractVar[int]
    time_grid: AbstractVar[AbstractTimeGrid]

    @abc.abstractmethod
    def program(self, problem: Problem) -> Program:
        """The sampler's steps for this problem."""

    def draw(self, problem, *, key, num_samples):
        program, dtype = self.program(problem), problem.x.dtype
        keys = sample_keys(key, num_samples)
        y, rms, evaluations = jax.vmap(lambda key: run(program, dtype, key=key))(keys)
        _, _, times = problem.times(self.time_grid, self.steps)
        return Samples(y, Info(times, jnp.sqrt(jnp.mean(rms**2, axis=0)), evaluations))


def require_noiseless(sampler: AbstractSampler, problem: Problem) -> None:
    """For samplers that hold the observed values exactly."""
    if problem.observations.noisy:
        raise ValueError(
            f"expected observations without noise for {type(sampler).__name__}, which holds their "
            "values exactly; Langevin, MomentMatching and TwistedSMC take noise"
        )


def require_flat(sampler: AbstractSampler, problem: Problem) -> None:
    """For samplers that are right in flat space only."""
    if not problem.noising.manifold.flat:
        raise ValueError(
            f"expected values in flat space for {type(sampler).__name__}, got values in "
            f"{problem.noising.manifold}; use Amortised, Langevin, RePaint or MomentMatching"
        )
