"""Solvers of dy/dt = f(t, y) over a time grid, as one scan; y may be any pytree of arrays.

On a manifold the vector field is extended to all of R^p as f(t, retract(y)), and every step ends
with `retract`: the flow of that field stays on the manifold, so a method keeps its order (Hairer,
Lubich and Wanner 2006, IV.4).
"""

import abc
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import equinox as eqx
import jax
import jax.numpy as jnp

from geomndp._types import Array, Float, Mask, Scalar
from geomndp.linalg import outputs_per_entry, zero_masked

if TYPE_CHECKING:  # to pyright an AbstractVar is a field, the first of every subclass
    from typing import ClassVar as AbstractVar
else:
    from equinox import AbstractVar

SolverState = Any
StateField = Callable[[Array, SolverState], SolverState]
Retraction = Callable[[SolverState], SolverState]
Norm = Callable[[SolverState], Scalar]


def masked_rms(mask: Mask) -> Norm:
    """Root mean square over a state's coordinates, without those of masked points.

    Args:
        mask: 1 for a real value, 0 for padding, shape (n,) or (n, g).

    Returns:
        Norm of a state. Its matrices are values (point, output); other arrays count in full.
    """

    def norm(state: SolverState) -> Scalar:
        total = count = jnp.zeros((), dtype=mask.dtype)
        for leaf in jax.tree.leaves(state):
            square, size = leaf**2, leaf.size
            if leaf.ndim == 2:
                square = zero_masked(square, mask)
                size = outputs_per_entry(mask, leaf.shape[1]) * jnp.sum(jnp.sign(mask))
            total, count = total + jnp.sum(square), count + size
        return jnp.sqrt(total / jnp.maximum(count, 1))

    return norm


def _axpy(y: SolverState, *terms: tuple[Any, SolverState]) -> SolverState:
    """y + sum of coefficient times tree."""
    for coefficient, tree in terms:
        y = jax.tree.map(lambda a, b, c=coefficient: a + c * b, y, tree)
    return y


class AbstractSolver(eqx.Module):
    """Integrator over a time grid, in either direction."""

    @abc.abstractmethod
    def integrate(
        self,
        field: StateField,
        times: Float[Array, " m"],
        y: SolverState,
        retract: Retraction | None = None,
        norm: Norm | None = None,
    ) -> tuple[SolverState, Array]:
        """Solve dy/dt = field(t, y) from the first time to the last.

        Args:
            field: Vector field (t, y) -> dy/dt.
            times: Time grid (m,), increasing or decreasing.
            y: State at the first time, any pytree of arrays.
            retract: Map of a state back to its manifold; None in flat space.
            norm: Norm of errors, by default the root mean square over all coordinates.

        Returns:
            State at the last time, and the number of evaluations of the field.
        """


class AbstractFixedStepSolver(AbstractSolver):
    """One-step method with a fixed cost, `evaluations`, per step."""

    evaluations: AbstractVar[int]

    @abc.abstractmethod
    def step(self, field: StateField, t0: Array, t1: Array, y: SolverState) -> SolverState:
        """Advance a state.

        Args:
            field: Vector field (t, y) -> dy/dt.
            t0: Time of the state.
            t1: Time of the result.
            y: State, any pytree of arrays.

        Returns:
            State at t1.
        """

    def integrate(self, field, times, y, retract=None, norm=None):
        def body(y, interval):
            return on_manifold(self.step, retract)(field, interval[0], interval[1], y), None

        y, _ = jax.lax.scan(body, y, (times[:-1], times[1:]))
        return y, jnp.asarray(self.evaluations * (len(times) - 1))


def on_manifold(step: Callable, retract: Retraction | None) -> Callable:
    """Step for a vector field that is defined on a manifold only.

    Args:
        step: Step (field, t0, t1, y) -> y of a method for flat space.
        retract: Map of a state back to its manifold; None in flat space.

    Returns:
        The same step, which evaluates the field on the manifold and ends on it.
    """
    if retract is None:
        return step
    return lambda field, t0, t1, y: retract(step(lambda t, y: field(t, retract(y)), t0, t1, y))


class Euler(AbstractFixedStepSolver):
    """Euler's method, order 1."""

    evaluations = 1

    def step(self, field, t0, t1, y):
        return _axpy(y, (t1 - t0, field(t0, y)))


class Heun(AbstractFixedStepSolver):
    """Heun's method (explicit trapezium), order 2."""

    evaluations = 2

    def step(self, field, t0, t1, y):
        h = t1 - t0
        k1 = field(t0, y)
        k2 = field(t1, _axpy(y, (h, k1)))
        return _axpy(y, (h / 2, k1), (h / 2, k2))


class RK4(AbstractFixedStepSolver):
    """The classical Runge-Kutta method, order 4."""

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
    """Tsit5 with a PID step controller, by diffrax; only the ends of the time grid are used.

    Attributes:
        rtol: Relative tolerance of a step.
        atol: Absolute tolerance of a step.
        max_steps: Largest number of steps, after which the solve fails.
    """

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
        # Seven stages, the first of which is the last of the step before.
        return y, 6 * solution.stats["num_steps"] + 1
