r"""The exact score of a manifold: a finite mixture of heat kernels.

Component j puts every point x_i, independently, at a draw of the heat kernel of time $\tau_j$
around a centre $c_j(x_i)$. Noising adds times, so at times $s_i = B(t_i)$ the law is
$\sum_j w_j \prod_i p_{\tau_j + s_i}(y_i | c_j(x_i))$: a mixture still, whatever the times, and so
is its law given some of the points, which are correlated through the weights.
"""

from __future__ import annotations

from collections.abc import Callable

import equinox as eqx
import jax.numpy as jnp
import jax.random as jr

from geomndp import _validation
from geomndp._types import Array, Float, Inputs, Outputs, PRNGKeyArray
from geomndp.geometry import heat_kernel
from geomndp.linalg import per_point, zero_masked
from geomndp.score.exact import AbstractMixtureScore, as_weights

Centres = Callable[[Inputs], Float[Array, "j n p"]]


class HeatMixtureScore(AbstractMixtureScore):
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
        self.centres, self.spreads = centres, spreads
        self.weights = as_weights(weights, len(spreads))

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

    def __call__(self, noising, t, x, y, mask=None):
        w = self.responsibilities(noising, t, x, y, mask)
        scores = heat_kernel(noising.manifold).score(*self._components(noising, t, x, y, mask))
        sigma = noising.sigma(per_point(t, len(x)))[:, None]
        return zero_masked(sigma * jnp.sum(w[:, None, None] * scores, axis=0), mask)

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
