"""What may happen, and what is a finding."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from typing import Any

import jax
import numpy as np

DONE, REFUSED = "done", "refused"
LONGEST = 600  # characters of a sentence
SENTENCE = re.compile(
    r"(task \w+: )?expected |argument should be a str|"
    r"the (sampled values|log-densit.*|marginals) became"
)


class Finding(Exception):
    """Something that must not happen."""


def judge_call(call: Callable[[], Any]) -> str:
    """Run a call of the library: finite numbers, or a refusal in one sentence."""
    try:
        result = call()
    except (ValueError, TypeError, FloatingPointError, MemoryError, OSError) as error:
        text = str(error)
        if not SENTENCE.match(text) or len(text) > LONGEST or "\n" in text:
            raise Finding(f"{type(error).__name__} without a sentence: {text[:300]}") from error
        return REFUSED
    except Exception as error:
        raise Finding(f"{type(error).__name__}: {str(error)[:300]}") from error
    for path, array in numbers(result):
        if not np.isfinite(array).all():
            raise Finding(f"NaN or infinity returned without an error in result{path}")
    return DONE


def numbers(result: Any, path: str = "") -> Iterator[tuple[str, np.ndarray]]:
    """Arrays of floats in a result, with where they are."""
    form = type(result).__name__
    if form in ("DataFrame", "Dataset"):
        names = result.columns if form == "DataFrame" else result.variables
        parts = {str(name): result[name].to_numpy() for name in names}
    elif isinstance(result, (np.ndarray, jax.Array, float)) or form == "DataArray":
        array = np.asarray(result) if not _is_key(result) else np.zeros(0)
        if array.dtype.kind in "fc":
            yield path, array
        return
    elif isinstance(result, dict):
        parts = result
    elif hasattr(result, "_asdict"):
        parts = result._asdict()
    elif isinstance(result, (list, tuple)):
        parts = dict(enumerate(result))
    else:
        return
    for name, part in parts.items():
        yield from numbers(part, f"{path}.{name}")


def _is_key(value: Any) -> bool:
    return isinstance(value, jax.Array) and jax.dtypes.issubdtype(value.dtype, jax.dtypes.prng_key)


def judge_line(code: int, out: str, error: str) -> str:
    """Exit code and streams of the command line: one sentence, or what was asked for."""
    if code not in (0, 1, 2, 130):
        raise Finding(f"exit code {code}: {error[-300:]}")
    if "Traceback" in error or "Exception ignored" in error:
        raise Finding(f"a traceback: {error[-500:]}")
    said = [line for line in error.splitlines() if line.startswith("geomndp: ")]
    said = [line for line in said if not line.startswith(("geomndp: warning", "geomndp: note"))]
    if code and len(said) != 1:
        raise Finding(f"{len(said)} sentences with exit code {code}: {error[:500]!r}")
    if code and ("an unexpected" in said[0] or len(said[0]) > LONGEST):
        raise Finding(said[0][:500])
    if not code and re.search(r"(^|[,: \[])(nan|-?inf|NaN|-?Infinity)\b", out):
        raise Finding("NaN or infinity printed without an error")
    return DONE if code == 0 else REFUSED
