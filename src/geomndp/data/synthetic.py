"""Random functions on the line to learn from: Gaussian processes, sawtooths, mixtures."""

import abc
import math

import equinox as eqx
import jax
import jax.numpy as jnp
import jax.random as jr

from geomndp import _validation
from geomndp._types import Inputs, Outputs, PRNGKeyArray
from geomndp.gp import GP


class SyntheticProcess(eqx.Module):
    """A law of functions with one output, and what is known of it exactly.

    Attributes:
        gp: The Gaussian process, None unless the law is Gaussian.
        mean: Mean of one value.
        variance: Variance of one value, noise included.
        noise: Variance of the independent noise on every value.
    """

    gp: eqx.AbstractVar[GP | None]
    mean: eqx.AbstractVar[float]
    variance: eqx.AbstractVar[float]
    noise: eqx.AbstractVar[float]

    @abc.abstractmethod
    def sample(self, x: Inputs, *, key: PRNGKeyArray) -> Outputs:
        """Draw one function.

        Args:
            x: Inputs, shape (n, 1).
            key: Random key.

        Returns:
            Noisy values, shape (n, 1).
        """


class Gaussian(SyntheticProcess):
    """Zero-mean Gaussian process with a stationary kernel.

    Attributes:
        gp: The process.
        power: Marginal variance of its kernel.
    """

    gp: GP
    power: float = eqx.field(static=True)
    mean = 0.0

    def __init__(self, gp: GP, power: float = 1.0):
        """Take a process and the marginal variance of its kernel.

        Args:
            gp: A Gaussian process without a mean function.
            power: Variance of its kernel at one point.

        Raises:
            ValueError: If the process has a mean function, or the variance is not positive.
        """
        _validation.positive(power=power)
        if gp.mean is not None:
            raise ValueError("expected a Gaussian process without a mean function")
        if isinstance(gp.noise, tuple):
            raise ValueError(f"expected one noise variance for all outputs, got {gp.noise}")
        self.gp, self.power = gp, power

    @property
    def noise(self) -> float:
        assert not isinstance(self.gp.noise, tuple)
        return self.gp.noise

    @property
    def variance(self) -> float:
        return self.power + self.noise

    def sample(self, x, *, key):
        """Draw by Cholesky."""
        return self.gp.sample(x, key=key)


class Sawtooth(SyntheticProcess):
    r"""Truncated Fourier series of a sawtooth wave (Bruinsma et al. 2020).

    $A/2 - (A/\pi) \sum_{k=1}^{T} (-1)^k \sin(2 \pi k f (x - s)) / k$ with $f \sim U[3, 5]$,
    $s \sim U[-5, 5]$.

    Attributes:
        terms: Fewest and most terms T, uniform between them.
        amplitude: Height A.
        centred: Whether the constant A/2 is left out.
        noise: Variance of the independent noise.
    """

    terms: tuple[int, int] = eqx.field(static=True)
    amplitude: float = eqx.field(static=True)
    centred: bool = eqx.field(static=True)
    noise: float = eqx.field(static=True)
    gp = None

    def __init__(
        self,
        terms: tuple[int, int],
        amplitude: float = 1.0,
        centred: bool = True,
        noise: float = 0.0,
    ):
        """Choose terms, amplitude and noise.

        Args:
            terms: Fewest and most terms.
            amplitude: Height A.
            centred: Whether to leave out the constant A/2.
            noise: Noise variance.

        Raises:
            ValueError: If there is no term, the amplitude is not positive or the noise negative.
        """
        _validation.at_least(1, terms=terms[0])
        _validation.at_least(terms[0], terms=terms[1])
        _validation.positive(amplitude=amplitude)
        _validation.not_negative(noise=noise)
        self.terms, self.amplitude, self.centred, self.noise = terms, amplitude, centred, noise

    @property
    def mean(self) -> float:
        return 0.0 if self.centred else 0.5 * self.amplitude

    @property
    def variance(self) -> float:
        """A^2 / (2 pi^2) E[sum_k 1 / k^2] + noise: each sine has mean square 1/2."""
        first, last = self.terms
        sums = [sum(k**-2 for k in range(1, end + 1)) for end in range(first, last + 1)]
        return self.amplitude**2 / (2 * math.pi**2) * sum(sums) / len(sums) + self.noise

    def sample(self, x, *, key):
        """Draw frequency, shift, number of terms and noise."""
        f_key, s_key, terms_key, noise_key = jr.split(key, 4)
        f = jr.uniform(f_key, (), x.dtype, 3.0, 5.0)
        s = jr.uniform(s_key, (), x.dtype, -5.0, 5.0)
        first, last = self.terms
        terms = jr.randint(terms_key, (), first, last + 1, jnp.int32)
        # (-1)^k sin(2 pi k r) = sin(2 pi k (r + 1/2)); whole cycles go first, while they are exact.
        cycles = f * (x - s) + 0.5
        cycles = cycles - jnp.round(cycles)
        k = jnp.arange(1, last + 1, dtype=jnp.int32)
        weights = jnp.where(k <= terms, 1.0, 0.0).astype(x.dtype) / k.astype(x.dtype)
        sines = jnp.sin(2 * math.pi * cycles * k.astype(x.dtype)[None, :])
        wave = -self.amplitude / math.pi * jnp.sum(sines * weights[None, :], axis=1, keepdims=True)
        noise = math.sqrt(self.noise) * jr.normal(noise_key, x.shape, x.dtype)
        return self.mean + wave + noise


class Mixture(SyntheticProcess):
    """One of several processes, each as likely as the others, drawn anew for every function.

    Attributes:
        gaussians: Gaussian components.
        others: All other components.
    """

    gaussians: tuple[Gaussian, ...]
    others: tuple[SyntheticProcess, ...]
    gp = None

    def __init__(self, *components: SyntheticProcess):
        """Put Gaussian components first: they have one Cholesky factorisation in common.

        Args:
            *components: Processes, at least one of them Gaussian.

        Raises:
            ValueError: If none is Gaussian.
        """
        self.gaussians = tuple(c for c in components if isinstance(c, Gaussian))
        self.others = tuple(c for c in components if not isinstance(c, Gaussian))
        if not self.gaussians:
            raise ValueError("expected at least one Gaussian component, got none")

    @property
    def components(self) -> tuple[SyntheticProcess, ...]:
        """All components, Gaussian ones first."""
        return self.gaussians + self.others

    @property
    def mean(self) -> float:
        return sum(c.mean for c in self.components) / len(self.components)

    @property
    def variance(self) -> float:
        """Law of total variance."""
        second = sum(c.variance + c.mean**2 for c in self.components) / len(self.components)
        return second - self.mean**2

    @property
    def noise(self) -> float:
        """Smallest of the components'."""
        return min(c.noise for c in self.components)

    def sample(self, x, *, key):
        """Draw the component, then the function."""
        pick_key, sample_key = jr.split(key)
        pick = jr.randint(pick_key, (), 0, len(self.components), jnp.int32)
        return self.sample_component(pick, x, key=sample_key)

    def sample_component(self, pick, x: Inputs, *, key: PRNGKeyArray) -> Outputs:
        """Draw a function of one component; only the covariances of all are ever computed.

        Args:
            pick: Index of the component, a traced integer.
            x: Inputs, shape (n, 1).
            key: Random key.

        Returns:
            Noisy values, shape (n, 1).
        """
        gaussian_key, *other_keys = jr.split(key, 1 + len(self.others))
        chosen = jnp.minimum(pick, len(self.gaussians) - 1)
        grams = [c.gp.gram(x) for c in self.gaussians]
        gram = jax.tree.map(lambda *leaves: jax.lax.select_n(chosen, *leaves), *grams)
        y = gram.cholesky_mv(jr.normal(gaussian_key, x.shape, x.dtype))
        for i, (process, other_key) in enumerate(zip(self.others, other_keys, strict=True)):
            y = jnp.where(pick == len(self.gaussians) + i, process.sample(x, key=other_key), y)
        return y
