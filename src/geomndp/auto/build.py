"""From a user's own data set to everything that `fit` needs."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np

from geomndp import _validation
from geomndp._deprecated import renamed_arguments
from geomndp._types import Batch, PRNGKeyArray
from geomndp._validation import as_key
from geomndp.auto.data_statistics import density, normaliser
from geomndp.auto.defaults import (
    PEAKS,
    SYMMETRIES,
    check_order,
    field_type_of,
    network,
    noising_and_score,
)
from geomndp.auto.plan import TrainingPlan
from geomndp.auto.summary import choices, estimate
from geomndp.auto.world import noise_in_model_units, periods_of
from geomndp.data import (
    AbstractGenerator,
    ContextSampler,
    FixedInputsGenerator,
    Normaliser,
    ResampledGenerator,
)
from geomndp.equivariance import FieldType
from geomndp.model import Model
from geomndp.model.inputs import Seed
from geomndp.nets import AbstractNet
from geomndp.tables import CODOMAINS, Functions, read_functions, read_groups
from geomndp.train import default_loss

MAX_POINTS = 256  # points of a function in a batch


@renamed_arguments(kinds="representations")
def build(
    dataset: Any,
    symmetry: str = "translation",
    codomain: str = "real",
    *,
    function: Any = None,
    inputs: Any = None,
    outputs: Any = None,
    representations: Any = None,
    covariates: Any = (),
    periodic: Mapping[str, Any] | None = None,
    noise: Any = None,
    groups: Any = None,
    ordered: bool = False,
    drop_missing: bool = False,
    batch_size: int = 64,
    key: Seed | None = None,
    **options: Any,
) -> TrainingPlan:
    """Choose network, noising, scaling and training for a table of many functions.

    Args:
        dataset: A Dataset, whose dimension(s) `function` count functions and all other dimensions
            their points; or a DataFrame with a column `function`. NaN pads functions that have
            fewer points; in some outputs of a point it means that these are missing.
        symmetry: "translation" of all inputs (for tracks on the sphere, of time, with rotations
            about the Earth's axis), "E(2)" or "E(3)" (rigid transforms of the inputs, under which
            outputs transform by their `representations`), or "none".
        codomain: "real", or "sphere" for a latitude and a longitude in degrees.
        function: Name(s) of the dimension(s) that count functions, or of a DataFrame's column; by
            default "function", or the dimensions that none of the named inputs has.
        inputs: Names of the inputs, by default all coordinates of the points; needed for a
            DataFrame.
        outputs: Names of the outputs, by default all data variables; on the sphere the latitude and
            the longitude.
        representations: "scalar", "vector", ... of the outputs under E(2) or E(3), components in
            the order of the inputs.
        covariates: Names of columns of numbers that are known at every point (elevation, land, day
            of the year), also where the model is asked later. They are features of their point,
            which no symmetry moves, and the last columns of x where x is an array.
        periodic: Periods of inputs or covariates by name, in their units, such as {"day": 365}: x
            and x + period are the same point. Numbers only, no datetimes.
        noise: Known variance of the values' noise, in the square of their units: a number, the name
            of a column, or either by output. The model is then that of the clean functions.
        groups: Name of a column or variable with one label per function, or the labels: functions
            of one label (scans of a person) are held out for validation together.
        ordered: Whether functions follow each other in time, in the order of their labels: then
            the last ones are held out.
        drop_missing: Whether points of which some outputs are missing are left out; otherwise the
            model learns from what is there, and every output is observed apart from the others.
        batch_size: Functions per training step.
        key: Random key or seed of the network's parameters.
        **options: Options of the network, such as `width`, instead of the chosen ones.

    Returns:
        A plan: `print` it to see what was chosen, `gn.fit(plan, key=...)` fits it.

    Raises:
        ValueError: If the table, the symmetry and the options do not fit together.

    Example:
        `plan = gn.build(days, symmetry="translation", function="day")`
    """
    _validation.one_of("symmetry", symmetry, SYMMETRIES)
    _validation.one_of("codomain", codomain, CODOMAINS)
    labels = None
    if groups is not None:
        dataset, labels = read_groups(dataset, groups, function)
    functions = read_functions(
        dataset,
        function=function,
        inputs=inputs,
        outputs=outputs,
        codomain=codomain,
        elapsed=symmetry != "none",
        drop_missing=drop_missing,
        covariates=covariates,
        noise=noise,
        numbers=tuple(periodic or ()),
    )
    rigid = field_type_of(functions, symmetry, representations)
    check_order(rigid, inputs, functions)
    periods = periods_of(functions.variables, periodic, rigid is not None)
    seed = as_key(0 if key is None else key)
    model, net = untrained_model(functions, symmetry, rigid, periods, options, key=seed)
    units: Any = model.normaliser
    data = training_stream(functions, units, batch_size, rigid is not None)
    peak = PEAKS.get(type(net), 1e-3)
    weights = sum(leaf.size for leaf in jax.tree.leaves(eqx.filter(net, eqx.is_array)))
    words = choices(functions, model, net, data, symmetry, weights, peak)
    if labels is not None and len(labels) != len(functions.x):
        raise ValueError(f"expected {len(functions.x)} groups, one per function, got {len(labels)}")
    loss = default_loss(codomain)
    line = estimate(net, data, len(functions.x), labels is not None, ordered)
    if functions.noise is not None:
        line = "needs steps=...: noisy values cannot compare models of the clean functions"
    words += (("fit", line),)
    return TrainingPlan(model, data, loss, peak, words, functions, labels, ordered, not options)


def untrained_model(
    functions: Functions,
    symmetry: str,
    rigid: FieldType | None,
    periods: tuple[float, ...],
    options: dict[str, Any],
    *,
    key: PRNGKeyArray,
) -> tuple[Model, AbstractNet]:
    """A model for functions, in units of its own, sized by the data.

    Args:
        functions: Functions in the data's units.
        symmetry: Symmetry of the network.
        rigid: What the outputs are under motions of space, None without these.
        periods: Period of every input in the data's units, zero where it has none; `()` for none.
        options: Options of the network instead of the chosen ones.
        key: Random key of the parameters.

    Returns:
        The model and its network.
    """
    units = normaliser(functions, rigid, periods)
    d, model_periods = functions.variables.num_inputs, units.model_periods
    locations = np.asarray(units.forward_x(functions.x))[:, :, :d]
    spaced = density(locations, functions.rows, periods=model_periods[:d])
    net = network(functions, symmetry, rigid, spaced, options, model_periods, key=key)
    noising, score = noising_and_score(net, functions.variables.codomain)
    return Model(noising, score, normaliser=units, variables=functions.variables), net


def training_stream(
    functions: Functions, units: Normaliser, batch_size: int, graph: bool
) -> AbstractGenerator:
    """Functions in the model's units, whole and in part, with contexts of all patterns.

    Args:
        functions: Functions in the data's units.
        units: The model's units.
        batch_size: Functions per batch.
        graph: Whether the network works on a graph of neighbours: it is computed once where all
            functions are observed at the same locations.

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
    contexts = ContextSampler(few=int(np.clip(n // 5, 4, 50)))
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
