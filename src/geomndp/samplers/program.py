"""Samplers as programs: explicit state, explicit noise, one loop.

Every step is a deterministic function of (state, white noise). Running a program draws that noise;
`geomndp.law` pushes a Gaussian law through the same functions instead.

The noise of a step depends on the key, the number of the step and the labels of the points alone: a
run can be split into stretches of steps. Row i is drawn from the key folded with the label of its
point. Context and target points have labels of their own, 2 i and 2 i + 1, so that padding one side
leaves the draws of the other alone.
"""

from collections.abc import Callable
from typing import Any, NamedTuple

import equinox as eqx
import jax
import jax.numpy as jnp
import jax.random as jr

from geomndp._types import Array, Float, Int, Mask, Outputs, PRNGKeyArray, Scalar
from geomndp.linalg import outputs_per_entry, zero_masked

Labels = Int[Array, " n"]


class PointNoise(eqx.Module):
    """Request for white noise with one row per point, shape (n, dim) or (copies, n, dim).

    Attributes:
        labels: Numbers (n,) by which the rows are drawn.
        dim: Number of outputs.
        copies: Number of independent copies, None for one without a further axis.
    """

    labels: Labels
    dim: int = eqx.field(static=True)
    copies: int | None = eqx.field(default=None, static=True)

    @property
    def shape(self) -> tuple[int, ...]:
        """Shape of the noise."""
        rows = (len(self.labels), self.dim)
        return rows if self.copies is None else (self.copies, *rows)


Spec = tuple[int, ...] | PointNoise
"""Noise of one step: rows of labelled points, or a plain shape whose rows are labelled 0, 1, ..."""
Shapes = tuple[Spec, ...]
Noise = tuple[Array, ...]


def shape_of(spec: Spec) -> tuple[int, ...]:
    """Shape of requested noise."""
    return spec.shape if isinstance(spec, PointNoise) else spec


def each_key(key: PRNGKeyArray, labels: Labels) -> Array:
    """One key per label, which does not depend on the other labels.

    Args:
        key: Random key.
        labels: Whole numbers (n,).

    Returns:
        Keys (n,).
    """
    return jax.vmap(lambda label: jr.fold_in(key, label))(labels)


def sample_keys(key: PRNGKeyArray, count: int, first=0) -> Array:
    """Keys of samples, each a function of the sample's number alone.

    Args:
        key: Random key of the request.
        count: Number of keys.
        first: Number of the first sample.

    Returns:
        Keys (count,) of the samples `first`, ..., `first` + `count` - 1.
    """
    return each_key(key, first + jnp.arange(count, dtype=jnp.int32))


def normals(shapes: Shapes, dtype, *, key: PRNGKeyArray) -> Noise:
    """White noise of several shapes.

    Args:
        shapes: Requests, rows of labelled points or plain shapes.
        dtype: Floating-point type.
        key: Random key.

    Returns:
        One array per request.
    """
    keys = each_key(key, jnp.arange(max(len(shapes), 1), dtype=jnp.int32))
    return tuple(_normal(spec, dtype, key=k) for k, spec in zip(keys, shapes, strict=False))


def _normal(spec: Spec, dtype, *, key: PRNGKeyArray) -> Array:
    if isinstance(spec, PointNoise):
        if spec.copies is None:
            return _rows(spec.labels, (spec.dim,), dtype, key=key)
        keys = each_key(key, jnp.arange(spec.copies, dtype=jnp.int32))
        return jax.vmap(lambda key: _rows(spec.labels, (spec.dim,), dtype, key=key))(keys)
    if not spec:
        return jr.normal(key, dtype=dtype)
    return _rows(jnp.arange(spec[0], dtype=jnp.int32), spec[1:], dtype, key=key)


def _rows(labels: Labels, shape: tuple[int, ...], dtype, *, key: PRNGKeyArray) -> Array:
    return jax.vmap(lambda key: jr.normal(key, shape, dtype=dtype))(each_key(key, labels))


State = Any


class Phase(NamedTuple):
    """A step that is repeated with fresh noise.

    Attributes:
        step: (state, inputs, noise) -> state.
        noise: Shapes of the white noise of every repetition.
        repeats: Number of repetitions.
    """

    step: Callable[[State, Any, Noise], State]
    noise: Shapes
    repeats: int = 1


class Program(NamedTuple):
    """Start, then for every row of `inputs` all phases in turn, then the result.

    Attributes:
        init: State before the first step, from noise of the shapes `init_noise`.
        phases: Steps for each row of `inputs`, in turn.
        inputs: Arrays with one row per outer step, usually the diffusion times.
        finish: Result (n, p) of a state.
        evaluations: Cost of one sample in score evaluations, a vector-Jacobian product counting as
            two; a function of the state after the last step where it depends on the run.
        last: Phases that follow the last outer step, with the last row of `inputs`.
        mask: That of the result, None where every row is real.
        affine: Whether every step is affine in state and noise if the score is (as that of a
            Gaussian process is): `geomndp.law` then knows the law of the result.
    """

    init: Callable[[Noise], State]
    init_noise: Shapes
    phases: tuple[Phase, ...]
    inputs: Any
    finish: Callable[[State], Outputs]
    evaluations: int | Callable[[State], Int[Array, ""]]
    last: tuple[Phase, ...] = ()
    mask: Mask | None = None
    affine: bool = True

    @property
    def steps(self) -> int:
        """Number of outer steps."""
        return len(jax.tree.leaves(self.inputs)[0])


def begin(program: Program, dtype, *, key: PRNGKeyArray) -> State:
    """State before the first step, with noise drawn by the key."""
    return program.init(normals(program.init_noise, dtype, key=jr.fold_in(key, 0)))


def outer_step(program: Program, state: State, i, dtype, *, key: PRNGKeyArray):
    """One outer step.

    Args:
        program: Steps of a sampler.
        state: State before it.
        i: Number of the step.
        dtype: Floating-point type of the noise.
        key: Random key of the sample.

    Returns:
        State after it, and the root mean square of its result.
    """
    inputs = jax.tree.map(lambda rows: rows[i], program.inputs)
    state = _through(program.phases, state, inputs, dtype, key=jr.fold_in(key, i + 1))
    return state, root_mean_square(program.finish(state), program.mask)


def end(
    program: Program, state: State, dtype, *, key: PRNGKeyArray
) -> tuple[Outputs, Int[Array, ""]]:
    """Result of the state after the last outer step, and the score evaluations of the run."""
    if program.last:
        inputs = jax.tree.map(lambda rows: rows[-1], program.inputs)
        last_key = jr.fold_in(key, program.steps + 1)
        state = _through(program.last, state, inputs, dtype, key=last_key)
    cost = program.evaluations
    return program.finish(state), jnp.asarray(cost(state) if callable(cost) else cost, jnp.int32)


def run(
    program: Program, dtype, *, key: PRNGKeyArray
) -> tuple[Outputs, Float[Array, " steps"], Int[Array, ""]]:
    """Draw one sample.

    Args:
        program: Steps of a sampler.
        dtype: Floating-point type of the noise.
        key: Random key.

    Returns:
        Values (n, p), their root mean square after every outer step, and score evaluations.
    """
    state, rms = jax.lax.scan(
        lambda state, i: outer_step(program, state, i, dtype, key=key),
        begin(program, dtype, key=key),
        jnp.arange(program.steps, dtype=jnp.int32),
    )
    y, evaluations = end(program, state, dtype, key=key)
    return y, rms, evaluations


def root_mean_square(y: Array, mask: Mask | None) -> Scalar:
    """Root mean square over the real points of the last two axes (point, output)."""
    if mask is None:
        return jnp.sqrt(jnp.mean(y**2))
    rows = y.reshape(-1, *y.shape[-2:])
    squares = jax.vmap(lambda y: zero_masked(y**2, mask))(rows)
    outputs = outputs_per_entry(mask, y.shape[-1])
    return jnp.sqrt(jnp.sum(squares) / (len(rows) * outputs * jnp.sum(mask)))


def _through(phases: tuple[Phase, ...], state, inputs, dtype, *, key: PRNGKeyArray) -> State:
    for first, phase in enumerate(phases):

        def inner(state, number, phase=phase):
            noise = normals(phase.noise, dtype, key=jr.fold_in(key, number))
            return phase.step(state, inputs, noise), None

        numbers = first + len(phases) * jnp.arange(phase.repeats, dtype=jnp.int32)
        state, _ = jax.lax.scan(inner, state, numbers)
    return state
