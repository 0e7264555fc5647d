"""Refusals in words: what was expected, what came, before any computation."""

from __future__ import annotations

import jax
import numpy as np


def concrete(value) -> bool:
    """Whether the value can be looked at now (JAX is not tracing it)."""
    return not isinstance(value, jax.core.Tracer)


def positive(**values) -> None:
    """Refuse a parameter that is not positive and finite."""
    for name, value in values.items():
        if concrete(value) and not (np.all(np.isfinite(value)) and np.all(np.asarray(value) > 0)):
            raise ValueError(f"expected {name} > 0, got {value}")


def not_negative(**values) -> None:
    """Refuse a parameter that is negative or not finite."""
    for name, value in values.items():
        if concrete(value) and not (np.all(np.isfinite(value)) and np.all(np.asarray(value) >= 0)):
            raise ValueError(f"expected {name} >= 0, got {value}")


def one_of(name: str, value, allowed) -> None:
    """Refuse a choice that does not exist, and list those that do."""
    if value not in allowed:
        known = ", ".join(repr(choice) for choice in allowed)
        raise ValueError(f"expected {name} to be one of {known}, got {value!r}")


def at_least(minimum: int, **values) -> None:
    """Refuse a count that is not a whole number of at least `minimum`."""
    for name, value in values.items():
        if not isinstance(value, (int, np.integer)) or value < minimum:
            raise ValueError(f"expected {name} to be a whole number >= {minimum}, got {value!r}")


def finite_rows(name: str, value) -> None:
    """Refuse NaN and infinity, naming the rows."""
    if not concrete(value):
        return
    array = np.asarray(value)
    bad = np.flatnonzero(~np.isfinite(array).all(axis=tuple(range(1, array.ndim))))
    if bad.size:
        rows = ", ".join(map(str, bad[:8])) + (", ..." if bad.size > 8 else "")
        raise ValueError(f"expected finite {name}, got NaN or infinity in rows {rows}")


def function(x, y=None, *, dim: int, mask=None, name: str = "") -> None:
    """Refuse inputs and outputs whose rank or size do not fit one function with `dim` outputs."""
    x_name, y_name = f"x{name}", f"y{name}"
    if np.ndim(x) != 2:
        raise ValueError(f"expected {x_name} of shape (n, d), got shape {np.shape(x)}")
    finite = mask is None
    if finite:
        finite_rows(x_name, x)
    if y is not None:
        if np.ndim(y) != 2 or np.shape(y) != (len(x), dim):
            expected = f"({len(x)}, {dim})"
            raise ValueError(f"expected {y_name} of shape {expected}, got shape {np.shape(y)}")
        if finite:
            finite_rows(y_name, y)
    if mask is not None and np.shape(mask) != (len(x),):
        raise ValueError(f"expected mask of shape ({len(x)},), got shape {np.shape(mask)}")
