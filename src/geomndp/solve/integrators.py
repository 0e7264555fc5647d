"""Solvers of dy/dt = f(t, y) over a fixed grid, as one scan; y may be any pytree of arrays.

On a manifold the field is extended to all of R^p as f(t, retract(y)), and every step ends with
`retract`: the flow of that field stays on the manifold, so a method keeps its order (Hairer, Lubich
and Wanner 2006, IV.4).
"""

import abc
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import equinox as eqx
import jax
import jax.numpy as jnp

from geomndp._types import Array, Float, Mask, Scalar
from geomndp.linalg import zero_masked

if TYPE_CHECKING:  # to pyright an AbstractVar is a field, the first of every subclass
    from typing import ClassVar as AbstractVar
else:
    from equinox import AbstractVar

State = Any
VectorField = Callable[[Array, State], State]
Onto = Callable[[State], State]
Norm = Callable[[State], Scalar]


def masked_rms(mask: Mask) -> Norm:
    """Root mean square over a state's coordinates, those of points only where they are real.

    Values at points are matrices (point, output); other arrays count whole.
    """

    def norm(state: State) -> Scalar:
        total = count = jnp.zeros((), dtype=mask.dtype)
        for leaf in jax.tree.leaves(state):
            square = zero_masked(leaf**2, mask) if leaf.ndim == 2 else leaf**2
            size = leaf.shape[1] * jnp.sum(jnp.sign(mask)) if leaf.ndim == 2 else leaf.size
            total, count = total + jnp.sum(square), count + size
        return jnp.sqrt(total / jnp.maximum(count, 1))

    return norm


def _axpy(y: State, *terms: tuple[Any, State]) -> State:
    """y + sum of coefficient times tree."""
    for coefficient, tree in terms:
        y = jax.tree.map(lambda a, b, c=coefficient: a + c * b, y, tree)
    return y


class AbstractSolver(eqx.Module):
    """Integrator over a grid of times, in either direction."""

    @abc.abstractmethod
    def integrate(
        self,
        field: VectorField,
        times: Float[Array, " m"],
        y: State,
        retract: Onto | None = None,
        norm: Norm | None = None,
    ) -> tuple[State, Array]:
        """Value at the last time, and how often the field was evaluated.

        `retract` brings a state back to its manifold. `norm` is that of errors, by default the root
        mean square over all coordinates.
        """


class AbstractFixedStepSolver(AbstractSolver):
    """One-step method with a fixed cost a step."""

    evaluations: AbstractVar[int]

    @abc.abstractmethod
    def step(self, field: VectorField, t0: Array, t1: Array, y: State) -> State:
        """Advance from t0 to t1."""

    def integrate(self, field, times, y, retract=None, norm=None):
        def body(y, interval):
            return on_manifold(self.step, retract)(field, interval[0], interval[1], y), None

        y, _ = jax.lax.scan(body, y, (times[:-1], times[1:]))
        return y, jnp.asarray(self.evaluations * (len(times) - 1))


def on_manifold(step: Callable, retract: Onto | None) -> Callable:
    """The same step for a field that is known on a manifold only."""
    if retract is None:
        return step
    return lambda field, t0, t1, y: retract(step(lambda t, y: field(t, retract(y)), t0, t1, y))


class Euler(AbstractFixedStepSolver):
    """Order 1."""

    evaluations = 1

    def step(self, field, t0, t1, y):
        return _axpy(y, (t1 - t0, field(t0, y)))


class Heun(AbstractFixedStepSolver):
    """Order 2, the explicit trapezium."""

    evaluations = 2

    def step(self, field, t0, t1, y):
        h = t1 - t0
        k1 = field(t0, y)
        k2 = field(t1, _axpy(y, (h, k1)))
        return _axpy(y, (h / 2, k1), (h / 2, k2))


class RK4(AbstractFixedStepSolver):
    """Order 4, the classical method."""

    evaluations = 4

    def step(self, field, t0, t1, y):
        h = t1 - t0
        middle = t0 + h / 2
        k1 = field(t0, y)
        k2 = field(middle, _axpy(y, (h / 2, k1)))
        k3 = field(middle, _axpy(y, (h / 2, k2)))
        k4 = field(t1, _axpy(y, (h, k3)))
        return _axpy(y, (h / 6, k1), (h / 3, k2), (h / 3, k3), (h / 6, k4))


class Adaptive(AbstractSolver):
    """Tsit5 with a PID step controller, by diffrax; only the grid's two ends are used."""

    rtol: float = 1e-5
    atol: float = 1e-6
    max_steps: int = eqx.field(default=4096, static=True)

    def integrate(self, field, times, y, retract=None, norm=None):
        import diffrax

        retract = (lambda y: y) if retract is None else retract
        options: dict[str, Any] = {} if norm is None else {"norm": norm}
        solution = diffrax.diffeqsolve(
            diffrax.ODETerm(lambda t, y, _: field(jnp.asarray(t), retract(y))),
            diffrax.Tsit5(),
            times[0],
            times[-1],
            None,
            y,
            stepsize_controller=diffrax.PIDController(rtol=self.rtol, atol=self.atol, **options),
            max_steps=self.max_steps,
        )
        y = retract(jax.tree.map(lambda leaf: leaf[-1], solution.ys))
        return y, 6 * solution.stats[
            "num_steps"
        ] + 1  # the first of seven stages is the last before
