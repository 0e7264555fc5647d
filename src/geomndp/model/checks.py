"""What comes in is made into arrays or refused; what comes out is finite or an error."""

import dataclasses
from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from geomndp import _validation
from geomndp._arrays import put
from geomndp._types import Array, Mask
from geomndp.data import Normaliser
from geomndp.geometry import AbstractManifold, Sphere
from geomndp.likelihood import LogProb
from geomndp.model.far_inputs import to_model_units
from geomndp.nets import AbstractNet
from geomndp.noising import AbstractNoising
from geomndp.samplers import AbstractSampler, Observations, Samples
from geomndp.score import AbstractScore, NetworkScore
from geomndp.tables import Variables


def as_float(name: str, value: Any, dtype: Any = None) -> Array:
    """Array of floats in the dtype that came, numbers of other kinds in JAX's default.

    A `dtype` comes before both.
    """
    if value is None:
        raise ValueError(f"expected numbers for {name}, got none")
    if not isinstance(value, jax.Array):
        _validation.no_masked(**{name: value})
        value = _validation.as_array(name, value)
        if value.dtype.kind not in "fiu":
            raise ValueError(f"expected numbers for {name}, got {value.dtype}")
        full = value.dtype.kind == "f" and value.dtype.itemsize >= 4
        usual = value.dtype if full else jnp.result_type(float)
        return put(value, usual if dtype is None else dtype)
    array = value
    if array.dtype in (jnp.float16, jnp.bfloat16):  # no precision to compute a solve in
        array = array.astype(jnp.result_type(float))
    if jnp.issubdtype(array.dtype, jnp.floating):
        return array if dtype is None else array.astype(dtype)
    if not jnp.issubdtype(array.dtype, jnp.integer):
        raise ValueError(f"expected real numbers for {name}, got {array.dtype}")
    return array.astype(jnp.result_type(float) if dtype is None else dtype)


def rescaled(change: Callable, given: Any, array: Array) -> Array:
    """The `array` of `given` after a `change` of units.

    What is not JAX's is changed in float64 and rounded after: hours since 1900 keep their minutes.
    """
    if isinstance(given, jax.Array):
        return in_units(change, array)
    return put(change(np.asarray(given, dtype=np.float64)), array.dtype)


def in_units(change: Callable, array: Array) -> Array:
    """The `array` after a `change` of units; by NumPy where it can be, which compiles nothing."""
    if not _validation.concrete(array):
        return change(array)
    return put(change(np.asarray(array)))


def check_columns(score: AbstractScore, x: Array) -> None:
    """Refuse inputs of other dimension than those of a network."""
    net = score.net if isinstance(score, NetworkScore) else None
    if isinstance(net, AbstractNet) and x.shape[1] != net.input_dim:
        raise ValueError(f"expected x of {net.input_dim} columns, got {x.shape[1]}")


def check_like(x: Array, known: Array) -> None:
    """Refuse inputs of other columns or dtype than those of the observations."""
    if x.dtype != known.dtype or x.shape[1] != known.shape[1]:
        expected = f"{known.shape[1]} columns of {known.dtype}"
        raise ValueError(
            f"expected x like the context's, {expected}, got {x.shape[1]} of {x.dtype}"
        )


def check_request(num_samples: Any, sampler: Any, key: Any) -> None:
    """Refuse what is no number of samples, no sampler or no key."""
    _validation.at_least(1, num_samples=num_samples)
    if not isinstance(sampler, AbstractSampler):
        raise ValueError(f"expected a sampler such as Amortised(50), got {sampler!r}")
    if key is None:
        raise ValueError("expected a key such as jax.random.key(0), got none")


def as_observations(
    x: Any, y: Any, noise: Any, mask: Mask | None, manifold: AbstractManifold
) -> Observations:
    """Check observations; `noise` is one variance or one per point."""
    x, y = as_float("x", x), as_float("y", y)
    _validation.function(x, y, dim=manifold.ambient_dim, mask=mask, name=" of the context")
    _validation.not_negative(noise=noise)
    if np.ndim(noise) > 1 or (np.ndim(noise) == 1 and np.shape(noise) != (len(x),)):
        raise ValueError(
            f"expected noise to be one variance or {len(x)}, got shape {np.shape(noise)}"
        )
    mask = None if mask is None else mask.astype(x.dtype)
    if not _validation.concrete(noise):  # it may be zero, or not
        variances = jnp.broadcast_to(jnp.asarray(noise, x.dtype), (len(x),))
        return Observations(x, y, variances, True, mask)
    variances = put(np.broadcast_to(np.asarray(noise), (len(x),)), x.dtype)
    noisy = bool(np.any(np.asarray(noise) > 0)) and len(x) > 0
    return Observations(x, y, variances, noisy, mask)


def in_model_units(
    model: Any, observations: Observations, x: Any, y: Any, centre: tuple[float, ...]
) -> Observations:
    """Observations, given as x and y in the data's units, in those of the model less a centre."""
    inputs = to_model_units(model, x, observations.x.dtype, centre, observations.mask)
    inputs = inputs if isinstance(inputs, jax.Array) else put(inputs)
    normaliser: Normaliser | None = model.normaliser
    if normaliser is None:
        return dataclasses.replace(observations, x=inputs)
    noise = observations.noise
    return dataclasses.replace(
        observations,
        x=inputs,
        y=rescaled(normaliser.forward_y, y, observations.y),
        noise=in_units(normaliser.forward_noise, noise) if observations.noisy else noise,
    )


def check_names(variables: Variables | None, noising: AbstractNoising) -> None:
    """Refuse names that do not fit the values of a model."""
    if variables is None:
        return
    manifold = noising.manifold
    codomain = "sphere" if manifold == Sphere(2) else "real"
    if variables.codomain != codomain or (codomain == "real" and not manifold.flat):
        kind = type(manifold).__name__
        raise ValueError(f"expected names of values on {kind}, got codomain {variables.codomain!r}")
    if variables.dim != noising.dim:
        names = ", ".join(map(repr, variables.output_names))
        raise ValueError(f"expected {noising.dim} outputs, got {len(variables.outputs)}: {names}")


def check_scales(normaliser: Normaliser | None, manifold: AbstractManifold) -> None:
    """Refuse to stretch what is curved."""
    if not isinstance(normaliser, Normaliser | None):
        raise ValueError(f"expected a Normaliser or none, got {_validation.brief(normaliser)}")
    if not manifold.flat and normaliser is not None:
        if any(normaliser.y_shift) or any(scale != 1 for scale in normaliser.y_scale):
            raise ValueError("expected a normaliser that leaves y on its manifold")


def names_of(model, y=None) -> Variables:
    """Names under which a model's inputs and outputs stand in tables; these hold y too."""
    if y is not None:
        raise ValueError("expected inputs and outputs in one table, got a second argument")
    if model.variables is None:
        raise ValueError(
            "expected arrays, got a table; to read tables name the model's inputs and outputs: "
            "model.with_variables(inputs=..., outputs=...)"
        )
    return model.variables


def finite_samples(samples: Samples) -> Array:
    """Values of the samples; a NaN or infinity is an error that says when it came."""
    if not _validation.concrete(samples.y) or np.all(np.isfinite(np.asarray(samples.y))):
        return samples.y
    bad = np.flatnonzero(~np.isfinite(np.asarray(samples.info.rms)))
    if bad.size:
        step, time = int(bad[0]), float(samples.info.times[bad[0]])
        where = f"at step {step + 1} of {len(samples.info.rms)} (time {time:.3g})"
    else:
        where = "at the end"
    raise FloatingPointError(f"the sampled values became NaN or infinite {where}")


def finite_log_prob(result: LogProb) -> LogProb:
    """The result; a NaN or infinity is an error."""
    if _validation.concrete(result.value) and not bool(jnp.isfinite(result.value)):
        raise FloatingPointError(
            f"the log-density became {float(result.value)} along the flow from t_min to 1; "
            "the values may lie far outside what the model knows, or the steps may be too few"
        )
    return result
