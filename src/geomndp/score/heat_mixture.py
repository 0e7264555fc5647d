r"""The exact score of a manifold: a finite mixture of heat kernels.

Component j puts every point x_i, independently, at a draw of the heat kernel of time $\tau_j$
around a centre $c_j(x_i)$. Noising adds times, so at times $s_i = B(t_i)$ the law is
$\sum_j w_j \prod_i p_{\tau_j + s_i}(y_i | c_j(x_i))$: a mixture still, whatever the times, and so
is its law given some of the points, which are correlated through the weights.
"""

from __future__ import annotations

from collections.abc import Callable

import equinox as eqx
import jax
import jax.numpy as jnp
import jax.random as jr
import numpy as np

from geomndp import _validation
from geomndp._types import Array, Float, Inputs, Outputs, PRNGKeyArray, Scalar
from geomndp.geometry import heat_kernel
from geomndp.linalg import per_point, zero_masked
from geomndp.score.base import AbstractScore

Centres = Callable[[Inputs], Float[Array, "j n p"]]


class HeatMixtureScore(AbstractScore):
    """Score of data from a mixture of heat kernels.

    Args:
        centres: Centres of the j components, a function of x (n, d) -> (j, n, p).
        spreads: Heat-kernel times of the components.
        weights: Their probabilities; equal by default.

    Raises:
        ValueError: Unless there are components, with positive weights that sum to 1.
    """

    centres: Centres
    spreads: tuple[float, ...] = eqx.field(static=True)
    weights: tuple[float, ...] = eqx.field(static=True)
    conditional = True
    pads = True

    def __init__(self, centres: Centres, spreads, weights=None):
        spreads = tuple(float(spread) for spread in spreads)
        if not spreads:
            raise ValueError("expected at least one component, got none")
        _validation.positive(spreads=spreads)
        weights = [1 / len(spreads)] * len(spreads) if weights is None else weights
        weights = tuple(float(weight) for weight in weights)
        if len(weights) != len(spreads) or min(weights) <= 0 or not np.isclose(sum(weights), 1):
            expected = f"{len(spreads)} positive weights that sum to 1"
            raise ValueError(f"expected {expected}, got {weights}")
        self.centres, self.spreads, self.weights = centres, spreads, weights

    def _components(self, noising, t, x, y, mask):
        """Centres, total times and values of all components, each with the component first."""
        _validation.shapes(x, y, dim=noising.dim, mask=mask)
        centres, y = self.centres(zero_masked(x, mask)), zero_masked(y, mask)
        _validation.shape("centres", centres, (len(self.spreads), *y.shape))
        s = noising.schedule.integral(per_point(t, len(x)))
        spreads = jnp.asarray(self.spreads, dtype=y.dtype)
        return spreads[:, None] + s[None, :], centres, jnp.broadcast_to(y[None], centres.shape)

    def _log_joint(self, noising, t, x, y, mask) -> Float[Array, " j"]:
        logs = heat_kernel(noising.manifold).log_prob(*self._components(noising, t, x, y, mask))
        logs = logs if mask is None else jnp.where(mask[None] > 0, logs, 0.0)
        return jnp.sum(logs, axis=1) + jnp.log(jnp.asarray(self.weights, dtype=y.dtype))

    def responsibilities(self, noising, t, x, y, mask=None) -> Float[Array, " j"]:
        """Probability of every component given the noised values; arguments as in a call."""
        return jax.nn.softmax(self._log_joint(noising, t, x, y, mask))

    def __call__(self, noising, t, x, y, mask=None):
        w = self.responsibilities(noising, t, x, y, mask)
        scores = heat_kernel(noising.manifold).score(*self._components(noising, t, x, y, mask))
        sigma = noising.sigma(per_point(t, len(x)))[:, None]
        return zero_masked(sigma * jnp.sum(w[:, None, None] * scores, axis=0), mask)

    def log_prob(self, noising, t, x, y, mask=None) -> Scalar:
        """Log-density of the noised law with respect to volume, in nats."""
        return jax.scipy.special.logsumexp(self._log_joint(noising, t, x, y, mask))

    def sample(self, noising, x: Inputs, *, key: PRNGKeyArray) -> Outputs:
        """Draw clean values (n, p).

        Args:
            noising: Forward process, for its manifold.
            x: Inputs (n, d).
            key: Random key.
        """
        pick_key, noise_key = jr.split(key)
        j = jr.categorical(pick_key, jnp.log(jnp.asarray(self.weights, dtype=x.dtype)))
        spread = jnp.broadcast_to(jnp.asarray(self.spreads, dtype=x.dtype)[j], (len(x),))
        return heat_kernel(noising.manifold).sample(spread, self.centres(x)[j], key=noise_key)
