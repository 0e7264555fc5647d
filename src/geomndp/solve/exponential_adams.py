r"""Exponential Adams-Bashforth steps of the reversed noising: up to fourth order, one evaluation.

With $z = (y - m) / a$ and the noise-to-signal ratio $\rho = \sigma^2 / a^2$, a step from t to s is

$$z_s = (\rho_s / \rho_t)^{k/2} z_t + \int \hat z_0(\rho)\, d\mu + r\, \xi,$$

where $\hat z_0$ is the estimate of the clean values and $\mu$ has the mass
$1 - (\rho_s / \rho_t)^{k/2}$: k = 1 and r = 0 for the probability flow, k = 2 and
$r^2 = \rho_s (1 - \rho_s / \rho_t)$ for the reverse SDE. The estimate is interpolated by the
polynomial through its last values, as in DEIS (Zhang and Chen 2023) and DPM-Solver++ (Lu et al.
2022). Their variable is $\log \rho$; here it is $\log(\rho + f)$: below the smallest variance f in
the data the estimate no longer changes, and a long last step must not extrapolate a change.
"""

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np

from geomndp import _validation
from geomndp._types import Array, Float, Scalar
from geomndp.noising import AbstractNoising
from geomndp.solve.reverse_steps import AbstractReverseStep, ReverseState, geodesic_step

MOST = 20.0
"""Integral of a schedule up to which the steps are for: at 30 they lose to those of the SDE."""
NODES, WEIGHTS = (array / 2 for array in np.polynomial.legendre.leggauss(12))


class ExponentialAdams(AbstractReverseStep):
    """Multistep method of an order up to 4 at one evaluation per step; the first steps are noisy.

    Where the noise is far above the data, steps are those of the reverse SDE, which forgets that
    the limiting law is not quite the law at time one; then those of the probability flow,
    which are more accurate. For flat outputs; made for `LogSnrTimeGrid` with the same floor.

    Attributes:
        order: Number of estimates that are interpolated, 1 to 4.
        floor: Smallest variance in the data over the limiting one, positive.
        stochastic_above: Steps that begin at a noise-to-signal ratio above this share of the one at
            time one are those of the reverse SDE: 1 for the flow throughout, 0 for the SDE.
    """

    order: int = eqx.field(default=4, static=True)
    floor: float = 1e-5
    stochastic_above: float = eqx.field(default=0.05, static=True)
    evaluations = 1

    def __check_init__(self):
        _validation.at_least(1, order=self.order)
        if self.order > 4:
            raise ValueError(f"expected an order of at most 4, got {self.order}")
        _validation.positive(floor=self.floor)
        if not 0 <= self.stochastic_above <= 1:
            got = self.stochastic_above
            raise ValueError(f"expected stochastic_above from 0 to 1, got {got}")

    @property
    def num_before(self) -> int:
        return self.order - 1

    def check(self, noising):
        if not noising.flat:
            raise ValueError("expected flat outputs for ExponentialAdams, got those of a manifold")
        if not moderate(noising):
            raise ValueError(
                f"expected a schedule of an integral of at most {MOST} for ExponentialAdams, got "
                f"{float(total_integral(noising)):.3g}: use Amortised"
            )

    def memory(self, y):
        return jnp.broadcast_to(y, (self.num_before, *y.shape))

    def __call__(self, dynamics, before, t, s, state, xi):
        noising, y = dynamics.noising, state.y
        self.check(noising)
        u = dynamics.u(t, y)
        clean = dynamics.clean(t, y, u)
        ratios = jnp.stack([noise_to_signal(noising, w) for w in (s, t, *before)])
        largest = noise_to_signal(noising, jnp.ones_like(t))
        # Rounding must not make the first step of a flow stochastic.
        stochastic = (self.stochastic_above < 1) & (ratios[1] > self.stochastic_above * largest)
        power = jnp.where(stochastic, 2.0, 1.0).astype(ratios.dtype)
        kept = (ratios[0] / ratios[1]) ** (power / 2)
        weights = interpolation_weights(ratios, kept, power, self.floor)
        a_s, a_t = noising.alpha(s), noising.alpha(t)
        change = jnp.tensordot(weights[1:], state.clean - clean[None], axes=1)
        v = (1 - a_s / a_t) * dynamics.mean_reversion(y) + a_s * change
        v = v + a_s / a_t * (1 - kept) * noising.sigma(t) * u
        fresh = jnp.where(stochastic, noising.sigma(s) * jnp.sqrt(1 - kept), 0.0)
        memory = jnp.concatenate([clean[None], state.clean])[: self.num_before]
        return ReverseState(geodesic_step(dynamics, y, v + fresh * xi), memory)


def moderate(noising: AbstractNoising) -> bool:
    """Whether the noise-to-signal ratio of a flat process stays where these steps are accurate."""
    total = total_integral(noising)
    return not _validation.concrete(total) or float(total) <= MOST


def total_integral(noising: AbstractNoising) -> Scalar:
    """Integral of a schedule up to time one, a number inside JAX's transformations too."""
    with jax.ensure_compile_time_eval():
        return noising.schedule.integral(jnp.ones(()))


def noise_to_signal(noising: AbstractNoising, t: Scalar) -> Scalar:
    r"""$\sigma_t^2 / a_t^2$."""
    return (noising.sigma(t) / noising.alpha(t)) ** 2


def interpolation_weights(
    ratios: Float[Array, " k"], kept: Scalar, power: Scalar, floor: float
) -> Float[Array, " m"]:
    r"""Weights of the last estimates in $\int \hat z_0\, d\mu$, by Gauss-Legendre quadrature.

    With $q = (\rho_s / \rho)^{k/2}$ the mass $d\mu$ is dq on [kept, 1].

    Args:
        ratios: Noise-to-signal ratio at the end of the step, at its start, and at earlier starts,
            which repeat the one before them where there is no earlier step.
        kept: Factor of the present value, (ratios[0] / ratios[1]) ** (power / 2).
        power: k, 1 for the probability flow and 2 for the reverse SDE.
        floor: Constant f of the variable log(rho + f).

    Returns:
        Weights, zero where there is no earlier step; together 1 - kept.
    """
    mass = kept + (1 - kept) * (0.5 + jnp.asarray(NODES, ratios.dtype))
    w = jnp.log(ratios[0] * mass ** (-2 / power) + floor)
    nodes = jnp.log(ratios[1:] + floor)
    count = len(nodes)
    known = jnp.concatenate([jnp.ones(1, bool), jnp.cumprod(nodes[1:] > nodes[:-1]) > 0])
    weights = []
    for j in range(count):
        basis = jnp.ones_like(w)
        for i in (i for i in range(count) if i != j):
            both = known[i] & known[j]
            gap = jnp.where(both, nodes[j] - nodes[i], 1.0)
            basis = basis * jnp.where(both, (w - nodes[i]) / gap, 1.0)
        total = (1 - kept) * jnp.sum(jnp.asarray(WEIGHTS, w.dtype) * basis)
        weights.append(jnp.where(known[j], total, 0.0))
    return jnp.stack(weights)
