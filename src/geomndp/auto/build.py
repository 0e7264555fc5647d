"""From a user's own data set to everything that `fit` needs."""

from __future__ import annotations

from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np

from geomndp import _validation
from geomndp._types import Batch
from geomndp.auto.data_statistics import density, normaliser
from geomndp.auto.defaults import (
    PEAKS,
    SYMMETRIES,
    check_order,
    kinds_of,
    loss_for,
    network,
    noising_and_score,
)
from geomndp.auto.summary import choices
from geomndp.data import (
    AbstractGenerator,
    ContextSampler,
    FixedInputsGenerator,
    Normaliser,
    ResampledGenerator,
)
from geomndp.model import Model, TrainingPlan
from geomndp.model.inputs import Seed, as_key
from geomndp.tables import CODOMAINS, Functions, read_functions

MOST = 256  # points of a function in a batch


def build(
    dataset: Any,
    symmetry: str = "translation",
    codomain: str = "real",
    *,
    function: Any = None,
    inputs: Any = None,
    outputs: Any = None,
    kinds: Any = None,
    batch_size: int = 64,
    key: Seed | None = None,
    **options: Any,
) -> TrainingPlan:
    """Choose network, noising, scaling and training for a Dataset of many functions.

    The dimension(s) `function` (by default the one of that name, or those that none of the named
    inputs has) count functions, all other dimensions their points. Inputs are all coordinates of
    the points, outputs all data variables, unless named; on the sphere they are the latitude and
    longitude in degrees. NaN pads functions that have fewer points. A DataFrame has a column
    `function` and named inputs.

    `symmetry` is "translation" of all inputs (for tracks on the sphere, of time, with rotations
    about the Earth's axis), "E(2)" or "E(3)" (motions of the inputs, which outputs of the `kinds`
    scalar, vector, ... follow, components in the order of the inputs), or "none". Options go to
    the network. `print` the result to see what was chosen, `gn.fit(result, steps=..., key=...)` to
    train.
    """
    _validation.one_of("symmetry", symmetry, SYMMETRIES)
    _validation.one_of("codomain", codomain, CODOMAINS)
    functions = read_functions(
        dataset,
        function=function,
        inputs=inputs,
        outputs=outputs,
        codomain=codomain,
        elapsed=symmetry != "none",
    )
    rigid = kinds_of(functions, symmetry, kinds)
    check_order(rigid, inputs, functions)
    units = normaliser(functions, rigid)
    spaced = density(np.asarray(units.forward_x(functions.x)), functions.mask)
    seed = as_key(0 if key is None else key)
    net = network(functions, symmetry, rigid, spaced, options, key=seed)
    noising, score = noising_and_score(net, codomain)
    model = Model(noising, score, normaliser=units, variables=functions.variables)
    data = _stream(functions, units, batch_size, rigid is not None)
    peak = PEAKS.get(type(net), 1e-3)
    weights = sum(leaf.size for leaf in jax.tree.leaves(eqx.filter(net, eqx.is_array)))
    words = choices(functions, model, net, data, symmetry, weights, peak)
    return TrainingPlan(model, data, loss_for(codomain), peak, words)


def _stream(
    functions: Functions, units: Normaliser, batch_size: int, graph: bool
) -> AbstractGenerator:
    """Functions in the model's units, whole and in part, with contexts of all kinds.

    Networks on a `graph` compute it once where all functions are known at the same places.
    """
    # In NumPy's float64, rounded after: hours since 1900 keep their minutes.
    scaled = units.forward_x(functions.x), units.forward_y(functions.y), functions.mask
    x, y, mask = (jnp.asarray(v, jnp.result_type(float)) for v in scaled)
    n = mask.shape[1]
    batch = Batch(x, y, mask, jnp.zeros_like(mask))
    contexts = ContextSampler(few=int(np.clip(n // 5, 4, 50)))
    same = functions.mask.all() and np.all(functions.x == functions.x[:1])
    if graph and same and n > 1:
        return FixedInputsGenerator(
            x=batch.x[0], y=batch.y, batch_size=batch_size, contexts=contexts
        )
    ahead = 0.25 if x.shape[2] == 1 else 0.0
    # The cost of attention grows with the square of the points; a graph needs them all.
    most = MOST if n > MOST and not graph else None
    ways = {"contexts": contexts, "thinned_share": 0.5, "forecast_share": ahead, "max_points": most}
    return ResampledGenerator(functions=batch, batch_size=batch_size, **ways)
