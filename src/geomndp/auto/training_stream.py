"""Training batches of a user's own functions."""

from __future__ import annotations

import jax.numpy as jnp
import numpy as np

from geomndp._types import Batch
from geomndp.auto.world import noise_in_model_units
from geomndp.data import (
    AbstractGenerator,
    ContextSampler,
    FixedInputsGenerator,
    Normaliser,
    ResampledGenerator,
)
from geomndp.tables import Functions

MAX_POINTS = 256  # points of a function in a batch


def training_stream(
    functions: Functions,
    units: Normaliser,
    batch_size: int,
    graph: bool,
    *,
    context_share: float = 0.5,
) -> AbstractGenerator:
    """Functions in the model's units, whole and in part, with contexts of all patterns.

    Args:
        functions: Functions in the data's units.
        units: The model's units.
        batch_size: Functions per batch.
        graph: Whether the network works on a graph of neighbours: it is computed once where all
            functions are observed at the same locations.
        context_share: Share of the functions of a batch that have a context.

    Returns:
        Generator of training batches.
    """
    # In NumPy's float64, rounded after: hours since 1900 keep their minutes.
    scaled = units.forward_x(functions.x), units.forward_y(functions.y), functions.mask
    x, y, mask = (jnp.asarray(v, jnp.result_type(float)) for v in scaled)
    n = mask.shape[1]
    variances = noise_in_model_units(functions, units)
    noise = None if variances is None else jnp.asarray(variances, y.dtype)
    batch = Batch(x, y, mask, jnp.zeros_like(mask), noise)
    contexts = ContextSampler(share=context_share, few=int(np.clip(n // 5, 4, 50)))
    same = functions.mask.all() and np.all(functions.x == functions.x[:1])
    if graph and same and n > 1 and noise is None:
        return FixedInputsGenerator(
            x=batch.x[0], y=batch.y, batch_size=batch_size, contexts=contexts
        )
    ahead = 0.25 if functions.variables.num_inputs == 1 else 0.0
    # The cost of attention grows with the square of the points; a graph needs them all.
    most = MAX_POINTS if n > MAX_POINTS and not graph else None
    options = {
        "contexts": contexts,
        "thinned_share": 0.5,
        "forecast_share": ahead,
        "max_points": most,
    }
    return ResampledGenerator(functions=batch, batch_size=batch_size, **options)
