"""Checks of arguments, before any computation: ValueError("expected ..., got ...")."""

from __future__ import annotations

import sys
from typing import Any

import numpy as np


def concrete(value) -> bool:
    """Whether a value is concrete: JAX is not tracing it."""
    jax = sys.modules.get("jax")  # not imported only to find that nothing was traced
    return jax is None or not isinstance(value, jax.core.Tracer)


def positive(**values) -> None:
    """Raise ValueError unless all values are positive and finite."""
    for name, value in values.items():
        if concrete(value) and not (is_finite(value) and np.all(np.asarray(value) > 0)):
            raise ValueError(f"expected {name} > 0, got {brief(value)}")


def one_positive(**values) -> None:
    """Raise ValueError unless every value is one number, traced or not, positive and finite."""
    for name, value in values.items():
        if np.ndim(value) != 0:
            raise ValueError(f"expected one {name}, got {np.size(value)}: {brief(value)}")
    positive(**values)


def not_negative(**values) -> None:
    """Raise ValueError unless all values are finite and not negative."""
    for name, value in values.items():
        if concrete(value) and not (is_finite(value) and np.all(np.asarray(value) >= 0)):
            raise ValueError(f"expected {name} >= 0, got {brief(value)}")


def share(**values) -> None:
    """Raise ValueError unless every value lies between 0 and 1."""
    for name, value in values.items():
        if not (is_number(value) and 0 <= value <= 1):
            raise ValueError(f"expected 0 <= {name} <= 1, got {brief(value)}")


def is_finite(value) -> bool:
    """Whether a value or an array has finite real numbers only."""
    try:
        array = np.asarray(value)
        if array.dtype.kind == "V":  # NumPy has no bfloat16
            array = array.astype(float)
        return array.dtype.kind in "fiu" and bool(np.all(np.isfinite(array)))
    except (TypeError, ValueError):
        return False


def as_array(name: str, value) -> np.ndarray:
    """NumPy array of a value, in the machine's byte order; floats longer than JAX's are float64."""
    try:
        array = np.asarray(value)
    except ValueError:
        raise ValueError(f"expected rows of one length for {name}, got {brief(value)}") from None
    if array.dtype == np.longdouble:
        return array.astype(float)
    return array if array.dtype.isnative else array.astype(array.dtype.newbyteorder("="))


def as_float(name: str, value: Any, dtype: Any = None) -> Any:
    """Array of floats in the dtype that came, numbers of other kinds in JAX's default.

    A `dtype` comes before both. No solve is computed in half precision.
    """
    import jax

    if value is None:
        raise ValueError(f"expected numbers for {name}, got none")
    default = jax.numpy.result_type(float)
    if not isinstance(value, jax.Array):
        no_masked(**{name: value})
        value = as_array(name, value)
        if value.dtype.kind not in "fiu":
            raise ValueError(f"expected numbers for {name}, got {value.dtype}")
        full = value.dtype.kind == "f" and value.dtype.itemsize >= 4
        usual = value.dtype if full else default
        return jax.device_put(np.asarray(value, usual if dtype is None else dtype))
    if not jax.numpy.issubdtype(value.dtype, np.number) or value.dtype.kind == "c":
        raise ValueError(f"expected real numbers for {name}, got {value.dtype}")
    full = value.dtype in (np.float32, np.float64)
    usual = value.dtype if full else default
    return value.astype(usual if dtype is None else dtype)


def is_number(value) -> bool:
    """Whether a value is one finite real number."""
    return is_finite(value) and np.ndim(value) == 0


def brief(value) -> str:
    """Representation of a value for a message, on one line and cut short."""
    text = " ".join(repr(value).split())
    return text if len(text) <= 100 else text[:100] + "..."


def one_of(name: str, value, allowed) -> None:
    """Raise ValueError unless the value is one of those allowed, which the message lists."""
    if value not in allowed:
        known = ", ".join(repr(choice) for choice in allowed)
        raise ValueError(f"expected {name} to be one of {known}, got {value!r}")


def at_least(minimum: int, **values) -> None:
    """Raise ValueError unless all values are whole numbers of at least `minimum`."""
    for name, value in values.items():
        whole = isinstance(value, (int, np.integer)) and not isinstance(value, bool)
        if not whole or value < minimum:
            raise ValueError(f"expected {name} to be a whole number >= {minimum}, got {value!r}")


def missing(value, rank: int = 1) -> np.ndarray | None:
    """Masked entries of a NumPy masked array, over its first `rank` axes; None for other arrays."""
    if not isinstance(value, np.ma.MaskedArray):
        return None
    mask = np.ma.getmaskarray(value)
    return np.asarray(mask.any(axis=tuple(range(rank, mask.ndim))))


def no_masked(**values) -> None:
    """Raise ValueError where a masked array has masked entries."""
    for name, value in values.items():
        gone = missing(value)
        if gone is not None and np.any(gone):
            raise ValueError(f"expected {name} without masked entries, got them{_rows(gone)}")


def _rows(wrong: np.ndarray) -> str:
    """Indices of the true rows, for a message."""
    bad = np.flatnonzero(wrong)
    listed = ", ".join(map(str, bad[:8])) + (", ..." if bad.size > 8 else "")
    return f" in rows {listed}" if wrong.ndim else ""


def finite_rows(name: str, value, mask=None) -> None:
    """Raise ValueError with the rows of NaN and infinity; masked rows may hold anything."""
    if not (concrete(value) and concrete(mask)):
        return
    array = np.asarray(value)
    wrong = ~np.isfinite(array).all(axis=tuple(range(1, array.ndim)))
    bad = np.asarray(wrong if mask is None else wrong & (np.asarray(mask) > 0))
    if bad.any():
        raise ValueError(f"expected finite {name}, got NaN or infinity{_rows(bad)}")


def shape(name: str, value, expected: tuple[int, ...]) -> None:
    """Raise ValueError unless an array has the expected shape."""
    if np.shape(value) != expected:
        raise ValueError(f"expected {name} of shape {expected}, got shape {np.shape(value)}")


def shapes(x, y=None, *, dim: int, mask=None, name: str = "") -> None:
    """Raise ValueError unless x is (n, d), y is (n, `dim`) and the mask is (n,) or (n, g)."""
    no_masked(**{f"x{name}": x, f"y{name}": y, "mask": mask})
    if np.ndim(x) != 2:
        raise ValueError(f"expected x{name} of shape (n, d), got shape {np.shape(x)}")
    if y is not None:
        shape(f"y{name}", y, (len(x), dim))
    if mask is not None and np.ndim(mask) == 2:
        check_groups(mask, len(x), dim)
    elif mask is not None:
        shape("mask", mask, (len(x),))


def check_groups(mask, n: int, dim: int) -> None:
    """Raise ValueError unless a mask (n, g) splits `dim` outputs into g groups of one size."""
    rows, groups = np.shape(mask)
    if rows != n or not groups or dim % groups:
        raise ValueError(f"expected mask of shape {(n,)} or {(n, dim)}, got shape {(rows, groups)}")


def function(x, y=None, *, dim: int, mask=None, name: str = "") -> None:
    """Raise ValueError as `shapes` does, and where x or y is not finite."""
    shapes(x, y, dim=dim, mask=mask, name=name)
    if mask is not None and np.ndim(mask) == 2 and concrete(mask):
        y = _without_masked(y, np.asarray(mask) > 0)
        mask = np.asarray(mask).any(axis=1)
    finite_rows(f"x{name}", x, mask)
    if y is not None:
        finite_rows(f"y{name}", y, mask)


def float_function(x, y=None, *, dim: int, mask=None) -> tuple[Any, Any, Any]:
    """Arrays of floats of x and y, and of the mask, checked as by `function`; y may be None."""
    x, y = as_float("x", x), None if y is None else as_float("y", y)
    if isinstance(mask, (list, tuple)):
        mask = as_float("mask", 1.0 * as_array("mask", mask))
    function(x, y, dim=dim, mask=mask)
    return x, y, mask


def _without_masked(y, real: np.ndarray):
    """Values (n, p) with zeros where the group of an output is masked, (n, g)."""
    if y is None or not concrete(y):
        return y
    return np.where(np.repeat(real, np.shape(y)[1] // real.shape[1], axis=1), np.asarray(y), 0.0)


def as_key(key: Any) -> Any:
    """The key itself, or the one that a seed makes."""
    import jax

    if isinstance(key, (int, np.integer)) and not isinstance(key, bool):
        check_seed(int(key))
        return jax.random.key(int(key))
    if key is not None and not isinstance(key, jax.Array):
        raise ValueError(f"expected a key such as jax.random.key(0), or a seed, got {key!r}")
    if key is not None and not _is_single(key):
        raise ValueError(f"expected one key, got an array of {key.dtype} of shape {key.shape}")
    return key


def check_seed(seed: int) -> None:
    """Raise ValueError for a seed of which JAX would cut off digits, without a word."""
    if not 0 <= seed < 2**32:
        raise ValueError(f"expected a seed from 0 to 2**32 - 1, got {seed}")


def _is_single(key: Any) -> bool:
    """Whether this is one key, of the new kind or of the old."""
    import jax

    if jax.numpy.issubdtype(key.dtype, jax.dtypes.prng_key):
        return key.shape == ()
    return (
        key.dtype == jax.numpy.uint32 and key.shape == jax.random.key_data(jax.random.key(0)).shape
    )


def is_table(value: Any) -> bool:
    """Whether a value is an object of pandas or xarray.

    Args:
        value: Anything.
    """
    modules = {cls.__module__.partition(".")[0] for cls in type(value).__mro__}
    return not modules.isdisjoint(("pandas", "xarray"))
