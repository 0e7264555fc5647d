"""Sawtooth with sharp edges: the noise-free random function of the neural-process library."""

import equinox as eqx
import jax.numpy as jnp
import jax.random as jr

from geomndp import _validation
from geomndp.data.synthetic import SyntheticProcess


class SharpSawtooth(SyntheticProcess):
    r"""Fractional part of a line, $y = (d f x - u) \bmod 1$ (Bruinsma et al. 2023).

    $f \sim U[f_0, f_1]$, direction $d = \pm 1$ with equal probability, $u \sim U[0, 1]$: what
    `SawtoothGenerator` of the repository wesselb/neuralprocesses draws in one dimension, where the
    phase $u$ is its offset times the frequency. A value is uniform on [0, 1].

    Attributes:
        frequencies: Lowest and highest frequency, cycles per unit of the input.
    """

    frequencies: tuple[float, float] = eqx.field(static=True)
    gp = None
    mean = 0.5
    variance = 1 / 12
    noise = 0.0

    def __init__(self, frequencies: tuple[float, float] = (2.0, 4.0)):
        """Choose the range of frequencies.

        Args:
            frequencies: Lowest and highest frequency, cycles per unit of the input.

        Raises:
            ValueError: If they are not positive, or not in this order.
        """
        low, high = frequencies
        _validation.positive(frequencies=low)
        if not low < high:
            raise ValueError(f"expected frequencies low < high, got {frequencies}")
        self.frequencies = frequencies

    def sample(self, x, *, key):
        """Draw frequency, direction and phase."""
        f_key, direction_key, phase_key = jr.split(key, 3)
        f = jr.uniform(f_key, (), x.dtype, *self.frequencies)
        upwards = jr.bernoulli(direction_key)
        phase = jr.uniform(phase_key, (), x.dtype)
        cycles = jnp.where(upwards, f * x, -f * x) - phase
        return cycles - jnp.floor(cycles)
