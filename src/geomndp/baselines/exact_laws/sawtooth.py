r"""Exact law of noisy sawtooths: quadrature over frequency, phase and number of terms.

Given frequency f, phase $\theta$ (cycles at the mean input, half a cycle added) and T terms, values
are independent normal around $m - \sum_{k \le T} c_k \sin 2 \pi k (\theta + f d_i)$ with
$c_k = A / \pi k$ and $d_i$ the distance to the mean input. The sum of squared residuals is a
trigonometric polynomial of the phase: with $E_m = \sum_i e^{2 \pi i m f d_i}$ and
$Y_k = \sum_i (y_i - m) e^{2 \pi i k f d_i}$,

$$\sum_i (y_i - m)^2 + \Re \sum_m e^{2 \pi i m \theta} \left(-2 i c_m Y_m
  + \frac12 \Big(\sum_{|k - l| = m} - \sum_{k + l = m}\Big) c_k c_l E_m\right),$$

so that all phases and terms of one frequency cost one matrix product. The midpoint rule is exact
up to $e^{-2 \pi^2 / h^2}$ for a peak whose standard deviation is 1 / h spacings.
"""

from __future__ import annotations

import math
from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
import jax.random as jr
import numpy as np

from geomndp import _validation
from geomndp._types import Array, Float, Inputs, Mask, Outputs, Scalar
from geomndp.data import Sawtooth
from geomndp.predictive import AbstractPredictive, AbstractProcess, LogProb, exact_log_prob

FREQUENCIES = (3.0, 5.0)
SHIFT = 5.0
"""Shifts are uniform on [-5, 5], as frequencies are on [3, 5] (`data.Sawtooth`)."""
FEWEST_PHASES = 256
COARSEST = 1.5
"""Most times the spacing of frequencies: at 1.5 standard deviations a density is 2% off then."""
AT_ONCE = 16
"""Frequencies side by side."""


class SawtoothLaw(AbstractProcess):
    """Law of sawtooths with noise, by quadrature.

    Args:
        wave: The random functions; their noise variance is positive.
        spacing: Distance of quadrature points, in standard deviations of the phase given all rows.
        spread: Standard deviation of the inputs, by which a frequency is better known than a phase.

    Raises:
        ValueError: If the functions have no noise.
    """

    wave: Sawtooth
    spacing: float = eqx.field(default=1.5, static=True)
    spread: float = eqx.field(default=1.25, static=True)

    def __check_init__(self):
        _validation.positive(noise=self.wave.noise, spacing=self.spacing, spread=self.spread)

    def condition(
        self, x: Inputs, y: Outputs, noise: Any = 0.0, mask: Mask | None = None
    ) -> SawtoothPredictive:
        """Law of new values given observed ones.

        Args:
            x: Context inputs, shape (n, 1); n = 0 gives the prior.
            y: Observed values, shape (n, 1).
            noise: Must be 0.
            mask: 1 for real rows, 0 for padding, shape (n,).

        Returns:
            The law of further noisy values.

        Raises:
            ValueError: If there is further noise.
        """
        if _validation.concrete(noise) and np.any(np.asarray(noise) != 0):
            raise ValueError(f"expected observations without further noise, got noise {noise}")
        mask = jnp.ones(len(x), x.dtype) if mask is None else mask
        return SawtoothPredictive(self, x, y, mask)

    def log_evidence(self, x: Inputs, y: Outputs, mask: Mask) -> Scalar:
        """Log-density of noisy values.

        Args:
            x: Inputs, shape (n, 1).
            y: Values, shape (n, 1).
            mask: 1 for real rows, 0 for padding, shape (n,).

        Returns:
            Nats over the unmasked rows; NaN where the inputs range wider than the `spread` allows.

        Raises:
            ValueError: If they do, and are no tracers.
        """
        share = self._coarseness(x, mask)
        if _validation.concrete(share) and share > COARSEST:
            enough = f"{self.spread * float(share):.3g}"
            raise ValueError(f"expected spread >= {enough} for these inputs, got {self.spread:g}")
        parts = self._by_frequency(x, y, mask)
        value = jax.scipy.special.logsumexp(parts) - math.log(parts.size)
        return jnp.where(share > COARSEST, jnp.nan, value)

    def _coarseness(self, x: Inputs, mask: Mask) -> Scalar:
        """Distance of frequencies in units of `spacing` standard deviations given the real rows."""
        count = jnp.sum(mask)
        centre = jnp.sum(mask * x[:, 0]) / jnp.maximum(count, 1.0)
        squares = jnp.sum(mask * (x[:, 0] - centre) ** 2)  # count times the variance of the inputs
        return self._peak() * jnp.sqrt(squares) / (self.spread * self._phases(len(x)))

    def _by_frequency(self, x, y, mask) -> Float[Array, "frequencies terms"]:
        """Log-density given frequency and number of terms, phases averaged."""
        frequencies = self._frequencies(len(x), x.dtype)

        def one(f):
            return jax.scipy.special.logsumexp(self._log_joint(f, x, y, mask), axis=1)

        return jax.lax.map(one, frequencies, batch_size=AT_ONCE)

    def _peak(self) -> float:
        """Phases that one row needs: the derivative of T terms has mean square 2 A^2 T."""
        slope = self.wave.amplitude * math.sqrt(2 * self.wave.terms[1])
        return slope / (math.sqrt(self.wave.noise) * self.spacing)

    def _phases(self, rows: int) -> int:
        """Number of phases."""
        return max(FEWEST_PHASES, math.ceil(self._peak() * math.sqrt(max(rows, 1))))

    def _frequencies(self, rows: int, dtype) -> Float[Array, " frequencies"]:
        """Midpoints of equal intervals."""
        low, high = FREQUENCIES
        count = math.ceil((high - low) * self.spread * self._phases(rows))
        return jnp.asarray(low + (high - low) * (np.arange(count) + 0.5) / count, dtype)

    def _log_joint(
        self, f: Scalar, x: Inputs, y: Outputs, mask: Mask
    ) -> Float[Array, "terms phases"]:
        """Log-density of values given f, and of every phase, for every number of terms."""
        wave, phases = self.wave, self._phases(len(x))
        centre = jnp.sum(mask * x[:, 0]) / jnp.maximum(jnp.sum(mask), 1.0)
        residuals = mask * (y[:, 0] - wave.mean)
        linear, square = (jnp.asarray(v, x.dtype) for v in _coefficients(wave))
        m = jnp.arange(2 * wave.terms[1] + 1, dtype=jnp.int32).astype(x.dtype)
        cycles = f * (x[:, 0] - centre)
        angles = 2 * math.pi * m[:, None] * (cycles - jnp.round(cycles))[None, :]
        cos, sin = jnp.cos(angles), jnp.sin(angles)  # whole cycles are left out
        e_re, e_im, y_re, y_im = cos @ mask, sin @ mask, cos @ residuals, sin @ residuals
        re = square * e_re[None, :] + linear * y_im[None, :]
        im = square * e_im[None, :] - linear * y_re[None, :]
        theta = (jnp.arange(phases, dtype=jnp.int32).astype(x.dtype) + 0.5) / phases
        turns = 2 * math.pi * m[:, None] * theta[None, :]
        squares = jnp.sum(residuals**2) + re @ jnp.cos(turns) - im @ jnp.sin(turns)
        nats = -0.5 * squares / wave.noise
        nats = nats - 0.5 * jnp.sum(mask) * math.log(2 * math.pi * wave.noise)
        return nats + self._log_phase_weights(f, centre, theta)[None, :]

    def _log_phase_weights(self, f: Scalar, centre: Scalar, theta: Array) -> Array:
        """Log-probabilities of phases: how many shifts of [-5, 5] have each."""
        offset = f * centre + 0.5 - theta
        count = jnp.floor(offset + SHIFT * f) - jnp.ceil(offset - SHIFT * f) + 1
        return jnp.log(count / jnp.sum(count))

    def draw(self, law: SawtoothPredictive, x: Inputs, *, key, num_samples: int) -> Array:
        """Values (s, n, 1) of functions drawn from the points of the quadrature."""
        pick_key, phase_key, noise_key = jr.split(key, 3)
        given = law.x, law.y, law.mask
        parts = self._by_frequency(*given)
        picks = jr.categorical(pick_key, parts.reshape(-1), shape=(num_samples,)).astype(jnp.int32)
        frequencies = self._frequencies(len(law.x), x.dtype)
        centre = jnp.sum(law.mask * law.x[:, 0]) / jnp.maximum(jnp.sum(law.mask), 1.0)

        def one(pick, key):
            f, number = frequencies[pick // parts.shape[1]], pick % parts.shape[1]
            row = self._log_joint(f, *given)[number]
            phase = (jr.categorical(key, row).astype(x.dtype) + 0.5) / len(row)
            return self._curve(f, phase, number, x[:, 0] - centre)

        curves = jax.vmap(one)(picks, jr.split(phase_key, num_samples))[:, :, None]
        return curves + math.sqrt(self.wave.noise) * jr.normal(noise_key, curves.shape, x.dtype)

    def _curve(self, f: Scalar, phase: Scalar, number: Array, distance: Array) -> Array:
        """Function values without noise."""
        k = jnp.arange(1, self.wave.terms[1] + 1, dtype=jnp.int32)
        kept = jnp.where(k <= self.wave.terms[0] + number, 1.0, 0.0).astype(distance.dtype)
        k = k.astype(distance.dtype)
        sines = jnp.sin(2 * math.pi * k[None, :] * (phase + f * distance)[:, None])
        return self.wave.mean - self.wave.amplitude / math.pi * (sines @ (kept / k))


def _coefficients(wave: Sawtooth) -> tuple[np.ndarray, np.ndarray]:
    """Weights of Y and of E by number of terms and order, each (terms, orders)."""
    first, last = wave.terms
    linear, square = np.zeros((2, last - first + 1, 2 * last + 1))
    for row, terms in enumerate(range(first, last + 1)):
        c = np.zeros(2 * last + 1)
        c[1 : terms + 1] = wave.amplitude / (math.pi * np.arange(1, terms + 1))
        apart = np.correlate(c, c, "full")[2 * last :]  # k - l = 0, 1, ...; |k - l| > 0 is twice
        apart[0] *= 0.5
        linear[row], square[row] = 2 * c, apart - 0.5 * np.convolve(c, c)[: 2 * last + 1]
    return linear, square


class SawtoothPredictive(AbstractPredictive):
    """Law of noisy values given observed ones.

    Attributes:
        law: The prior.
        x: Context inputs, shape (n, 1).
        y: Observed values, shape (n, 1).
        mask: 1 for real rows, 0 for padding, shape (n,).
    """

    law: SawtoothLaw
    x: Inputs
    y: Outputs
    mask: Mask

    def sample(self, x, *, key, num_samples):
        """Draw (num_samples, n, 1) functions with noise."""
        return self.law.draw(self, x, key=key, num_samples=num_samples)

    def log_prob_info(self, x, y, *, key=None, mask=None) -> LogProb:
        """Joint log-density of values: that of all less that of the observed ones."""
        mask = jnp.ones(len(x), x.dtype) if mask is None else mask
        pairs = ((self.x, x), (self.y, y), (self.mask, mask))
        joint = self.law.log_evidence(*(jnp.concatenate(pair) for pair in pairs))
        if len(self.x) == 0:
            return exact_log_prob(joint)
        return exact_log_prob(joint - self.law.log_evidence(self.x, self.y, self.mask))
