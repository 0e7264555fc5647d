"""Density of a large field by the chain rule over patches."""

from __future__ import annotations

from contextlib import nullcontext
from typing import Any

import jax
import jax.numpy as jnp
import jax.random as jr
import numpy as np

from geomndp import _validation
from geomndp._validation import as_key
from geomndp.model.inputs import as_rows, names_of
from geomndp.model.output_units import result_dtype
from geomndp.model.patch_laws import AbstractPosteriorLaw
from geomndp.model.patchwise import end_rows, is_exact, patch_law, read_layout, refuse_traced
from geomndp.model.units import read_raw_rows
from geomndp.patches.context import context_of
from geomndp.predictive import LogProb
from geomndp.tables import is_table


def patchwise_log_prob(
    posterior: Any, x: Any, y: Any, key: Any, patches: Any, mask: Any = None, **options: Any
) -> LogProb:
    r"""Log-density of a field by the chain rule over patches.

    $\log q(y) = \sum_b \log p(y_b \mid \text{observations and earlier patches within the halo})$:
    a normalised density, that of `sample(..., patches=...)`. It depends on the patches and their
    order, and differs from the model's own by what lies beyond the halos, and by how far the
    model's conditional laws belong to one joint law.

    Args:
        posterior: The law of a model or process.
        x: Inputs, shape (n, d) or (n,), or a table that holds y too.
        y: Values, shape (n, p) or (n,), in the data's units.
        key: Random key of probes; None for exact divergences.
        patches: Scheme.
        mask: Must be None.
        **options: Of learnt laws `flow`, `route` and `max_memory`.

    Returns:
        Nats; solver errors add up, probe errors add in squares.

    Raises:
        ValueError: If a value is missing or the law cannot be drawn by patches.
    """
    if mask is not None:
        raise ValueError("expected no mask beside patches, got one: leave masked rows out of x")
    refuse_traced((y, key))
    raw, layout = read_layout(posterior, x, patches)
    values = _values(posterior, x, y, len(raw))
    law = patch_law(posterior, end_rows(raw), jr.key(0), 1, {})
    if not isinstance(law, AbstractPosteriorLaw):
        raise ValueError("expected one law for a density by patches, got a mixture")
    key, parts = as_key(key), []
    for patch in layout.patches:
        context = context_of(layout, patch, law.observed)
        groups = zip(context.drawn.patches, context.drawn.rows, strict=True)
        seen = [layout.rows(layout.patches[i])[rows] for i, rows in groups]
        earlier = np.concatenate([np.zeros(0, int), *seen])[context.chosen]
        own = layout.rows(patch)[layout.targets(patch)]
        if len(own):
            drawn, targets = ((raw[rows], values[rows]) for rows in (earlier, own))
            own_key = None if key is None else jr.fold_in(key, patch.index)
            parts.append(law.log_prob_info(context.observed, drawn, targets, own_key, **options))
    return _total(parts, result_dtype(x))


def _values(posterior: Any, x: Any, y: Any, count: int) -> np.ndarray:
    """Values (n, p) in the data's units, in the order of the rows of x."""
    dim = posterior.model.manifold.ambient_dim
    if is_table(x):
        names_of(posterior.model, y)
        with jax.enable_x64(True) if is_exact(posterior) else nullcontext():
            y = read_raw_rows(posterior, x)[1]
    values = np.ma.filled(np.ma.asarray(as_rows(y, dim)).astype(np.float64), np.nan)
    _validation.shape("y", values, (count, dim))
    _validation.finite_rows("y", values)
    return values


def _total(parts: list[LogProb], dtype: Any) -> LogProb:
    value, solver, probe, evaluations = (
        np.asarray([float(part[i]) for part in parts]) for i in range(4)
    )
    return LogProb(
        jnp.asarray(value.sum(), dtype),
        jnp.asarray(solver.sum(), dtype),
        jnp.asarray(np.sqrt(np.sum(probe**2)), dtype),
        jnp.asarray(int(evaluations.sum()), jnp.int32),
    )
